import type { Address, Hex } from 'viem'
import type { Payment } from './payment.js'

/** What was paid for, whatever the scheme. Amounts in 6-decimal units. */
export type AnsweredPayment = Pick<
  Payment,
  'network' | 'asset' | 'payTo' | 'amount' | 'resourceUrl'
> & { payer: Address }

/** The same of an `exact` payment. */
export function toAnsweredPayment(payment: Payment): AnsweredPayment {
  const { network, asset, payTo, amount, authorization, resourceUrl } = payment
  const payer = authorization.from
  return { network, asset, payTo, amount, payer, ...(resourceUrl && { resourceUrl }) }
}

/** What was answered about a payment, for those who count answers and list what was paid for. */
export interface PaymentAnswer {
  kind: 'verify' | 'settle'
  /** Unix milliseconds. */
  at: number
  latencyMs: number
  payment: AnsweredPayment
  state: 'valid' | 'invalid' | 'settled' | 'failed' | 'pending'
  /** Wire code of a refusal. */
  reason: string | null
  transaction: Hex | null
  /** The row behind a settle; the same for every answer about one payment. */
  settlementId: string | null
  /** This payment's share of the gas, 18-decimal units; `null` where it is not known. */
  gasCost: bigint | null
}
