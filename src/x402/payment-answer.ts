import type { Hex } from 'viem'
import type { Payment } from './payment.js'

/** What was answered about a payment, for those who count answers and list what was paid for. */
export interface PaymentAnswer {
  kind: 'verify' | 'settle'
  /** Unix milliseconds. */
  at: number
  latencyMs: number
  payment: Payment
  state: 'valid' | 'invalid' | 'settled' | 'failed' | 'pending'
  /** Wire code of a refusal. */
  reason: string | null
  transaction: Hex | null
  /** The row behind a settle; the same for every answer about one payment. */
  settlementId: string | null
  /** This payment's share of the gas, 18-decimal units; `null` where it is not known. */
  gasCost: bigint | null
}
