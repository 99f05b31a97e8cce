import type { PaymentAnswer } from '../x402/payment-answer.js'
import { reasons } from '../x402/reasons.js'
import type { Answered, VerifyAnswer } from './answers.js'
import type { SettleResult } from './settler.js'

/** An answer of verify for those who count; `undefined` for a body that could not be read. */
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

/** The same of settle. `startedAt` is `performance.now()` at the request. */
export function reportSettle(result: SettleResult, startedAt: number): PaymentAnswer | undefined {
  const { body, payment, settlementId = null, gasCost = null } = result
  if (payment === undefined) return undefined
  const isPending = body.errorReason === reasons.settlementPending.code
  return {
    kind: 'settle',
    at: Date.now(),
    latencyMs: performance.now() - startedAt,
    payment,
    state: body.success ? 'settled' : isPending ? 'pending' : 'failed',
    reason: body.errorReason ?? null,
    transaction: body.transaction === '' ? null : body.transaction,
    settlementId,
    gasCost,
  }
}
