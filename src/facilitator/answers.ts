import type { Address, Hex } from 'viem'
import type { AnsweredPayment } from '../x402/payment-answer.js'
import { type ReasonKey, type Rejection, reasons } from '../x402/reasons.js'

/** VerifyResponse of x402 v2. */
export interface VerifyAnswer {
  isValid: boolean
  invalidReason?: string
  invalidMessage?: string
  payer?: Address
  /** State of the channel, for `batch-settlement`. */
  extra?: Record<string, unknown>
}

/** SettleResponse of x402 v2; `transaction` is empty when nothing was broadcast. */
export interface SettleAnswer {
  success: boolean
  errorReason?: string
  errorMessage?: string
  payer?: Address
  transaction: Hex | ''
  network: string
  /** What moved on chain, for `batch-settlement`; 6-decimal units. */
  amount?: string
  extra?: Record<string, unknown>
}

/** An answer and the HTTP status it goes with. */
export interface Answered<Body> {
  status: number
  body: Body
  /** What it is about, where the request could be read. */
  payment?: AnsweredPayment | undefined
}

/**
 * Verify's answer while no wallet could bring the payment on chain: nothing is wrong with the payment, so it is counted
 * nowhere.
 */
export function verifyUnavailable(payer?: Address): Answered<VerifyAnswer> {
  const message =
    'No relayer of this facilitator can pay for gas at present, so the payment could not be settled; try again later.'
  return verifyRejection({ reason: 'unexpectedVerifyError', message }, payer)
}

export function verifyRejection(rejection: Rejection, payer?: Address): Answered<VerifyAnswer> {
  const { code, status } = reasons[rejection.reason]
  const body = { isValid: false, invalidReason: code, invalidMessage: rejection.message }
  return { status, body: payer === undefined ? body : { ...body, payer } }
}

export function settleRejection(
  rejection: Rejection,
  told: { network: string; payer?: Address | undefined; transaction?: Hex | null | undefined },
): Answered<SettleAnswer> {
  const { code, status } = reasons[rejection.reason]
  const body = {
    success: false,
    errorReason: code,
    errorMessage: rejection.message,
    transaction: told.transaction ?? ('' as const),
    network: told.network,
  }
  return { status, body: told.payer === undefined ? body : { ...body, payer: told.payer } }
}

export function isReasonKey(text: string | null): text is ReasonKey {
  return text !== null && Object.hasOwn(reasons, text)
}
