import { reasons } from '@arcus/protocol/x402/reasons'
import type { SettleResult } from '../answers.js'
import type { Job } from '../journal/settlement-journal.js'

/** The extension that says what became of a payment, in the form that other facilitators use. */
const SETTLEMENT_STATUS = 'settlement-status'

/** What became of a payment, in the words of the extension. */
export const settlementStatuses = {
  queued: 'pending',
  submitted: 'pending',
  confirmed: 'completed',
  failed: 'failed',
} as const satisfies Record<Job['state'], string>

const infoSchema = { type: 'object', required: ['status', 'paymentId', 'statusUrl'] } as const

/**
 * Adds the extension to an answer of settle that is a success or pending. `statusUrl` leads to the answer with the same
 * `status`. A charge of nothing and a payment without a row have no status to follow.
 */
export function withSettlementStatus(
  result: SettleResult,
  statusUrl: (paymentId: string) => string,
): SettleResult {
  const { body, settlementId: paymentId } = result
  const isPending = body.errorReason === reasons.settlementPending.code
  if (paymentId === undefined || !(body.success || isPending)) return result
  const status = body.success ? 'completed' : 'pending'
  const info = { status, paymentId, statusUrl: statusUrl(paymentId) }
  // Others have the members in the extension itself; x402 has them in `info`, without which mppx refuses the whole answer.
  const extension = { ...info, info, schema: infoSchema }
  const extensions = { ...body.extensions, [SETTLEMENT_STATUS]: extension }
  return { ...result, body: { ...body, extensions } }
}
