import type { AnsweredPayment, PaymentAnswer } from '@arcus/protocol/x402/payment'
import { type ReasonKey, type Rejection, reasons } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import type { DeliveryRight } from './journal/deliveries.js'
import type { Job } from './journal/settlement-journal.js'

/** The VerifyResponse of x402 v2. */
export interface VerifyAnswer {
  isValid: boolean
  invalidReason?: string
  invalidMessage?: string
  payer?: Address
  /** The state of the channel, for `batch-settlement`. */
  extra?: Record<string, unknown>
}

/** The SettleResponse of x402 v2; `transaction` is empty when nothing was broadcast. */
export interface SettleAnswer {
  success: boolean
  errorReason?: string
  errorMessage?: string
  payer?: Address
  transaction: Hex | ''
  network: string
  /** The amount that moved on chain, for `batch-settlement`; 6-decimal units. */
  amount?: string
  extra?: Record<string, unknown>
  extensions?: Record<string, unknown>
}

/** An answer with its HTTP status. */
export interface Answered<Body> {
  status: number
  body: Body
  /** The payment it is about, if the request could be read. */
  payment?: AnsweredPayment | undefined
}

/** An answer of settle, with what must be done once it has been written. */
export interface SettleResult extends Answered<SettleAnswer> {
  /** The right to deliver this success: it must be completed or released. */
  delivery?: DeliveryRight
  /** The id of the row in the journal. */
  settlementId?: string
  /** The gas of a success, 18-decimal units. */
  gasCost?: bigint | null
}

/** Makes the answer of verify while no relayer can send. Nothing is wrong with the payment, so it is counted nowhere. */
export function verifyUnavailable(payer?: Address): Answered<VerifyAnswer> {
  const message =
    'No relayer of this facilitator can sign and pay for gas now, so the payment could not be settled; try again later.'
  return verifyRejection({ reason: 'unexpectedVerifyError', message }, payer)
}

export function verifyRejection(rejection: Rejection, payer?: Address): Answered<VerifyAnswer> {
  const { code, status } = reasons[rejection.reason]
  const body = { isValid: false, invalidReason: code, invalidMessage: rejection.message }
  return { status, body: payer === undefined ? body : { ...body, payer } }
}

export function settleRejection(
  rejection: Rejection,
  {
    network,
    payer,
    transaction,
  }: { network: string; payer?: Address | undefined; transaction?: Hex | null | undefined },
): Answered<SettleAnswer> {
  const { code, status } = reasons[rejection.reason]
  const body = {
    success: false,
    errorReason: code,
    errorMessage: rejection.message,
    transaction: transaction ?? ('' as const),
    network,
  }
  return { status, body: payer === undefined ? body : { ...body, payer } }
}

export function isReasonKey(text: string | null): text is ReasonKey {
  return text !== null && Object.hasOwn(reasons, text)
}

/** Describes an answer of verify for metrics and activity; `undefined` for a body that could not be read. */
export function reportVerify(
  { body, payment }: Answered<VerifyAnswer>,
  startedAt: number,
): PaymentAnswer | undefined {
  if (payment === undefined) return undefined
  return {
    kind: 'verify',
    at: Date.now(),
    latencyMs: performance.now() - startedAt,
    payment,
    state: body.isValid ? 'valid' : 'invalid',
    reason: body.invalidReason ?? null,
    transaction: null,
    settlementId: null,
    gasCost: null,
  }
}

/** Returns whether a success moved nothing. Anybody gets one, as often as they ask, so no figure counts it. */
export function isFree({ body, payment }: SettleResult): boolean {
  return body.success && payment?.amount === 0n
}

/** Returns whether an answer leaves the outcome of the payment open. */
export function isUndecided({ errorReason }: SettleAnswer): boolean {
  const { settlementPending, settlementUnknown } = reasons
  return errorReason === settlementPending.code || errorReason === settlementUnknown.code
}

/** Describes an answer of settle. `startedAt` is `performance.now()` at the request. */
export function reportSettle(result: SettleResult, startedAt: number): PaymentAnswer | undefined {
  const { body, payment, settlementId = null, gasCost = null } = result
  if (payment === undefined) return undefined
  const success = isFree(result) ? 'free' : 'settled'
  return {
    kind: 'settle',
    at: Date.now(),
    latencyMs: performance.now() - startedAt,
    payment,
    state: body.success ? success : isUndecided(body) ? 'pending' : 'failed',
    reason: body.errorReason ?? null,
    transaction: body.transaction === '' ? null : body.transaction,
    settlementId,
    gasCost,
  }
}

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
