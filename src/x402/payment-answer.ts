import type { Address, Hex } from 'viem'
import type { Payment } from './payment.js'

/** What was paid for, whatever the scheme. Amounts in 6-decimal units. */
export type AnsweredPayment = Pick<
  Payment,
  'network' | 'asset' | 'payTo' | 'amount' | 'resourceUrl'
> & {
  payer: Address
  /** What was signed, with its signature: the same whenever this payment is presented as it was before. */
  proof?: string
}

/** The same of an `exact` payment. */
export function toAnsweredPayment(payment: Payment): AnsweredPayment {
  const { network, asset, payTo, amount, authorization, signature, resourceUrl } = payment
  const payer = authorization.from
  const proof = `${authorization.nonce}${signature}`
  return { network, asset, payTo, amount, payer, proof, ...(resourceUrl && { resourceUrl }) }
}

/** What was answered about a payment, for those who count answers and list what was paid for. */
export interface PaymentAnswer {
  kind: 'verify' | 'settle'
  /** Unix milliseconds. */
  at: number
  latencyMs: number
  payment: AnsweredPayment
  /** `failed` is any final no of settle: whether the payment was ever sound is for those who count to know. */
  state: 'valid' | 'invalid' | 'settled' | 'failed' | 'pending'
  /** Wire code of a refusal. */
  reason: string | null
  transaction: Hex | null
  /** The row behind a settle; the same for every answer about one payment. */
  settlementId: string | null
  /** This payment's share of the gas, 18-decimal units; `null` where it is not known. */
  gasCost: bigint | null
}
