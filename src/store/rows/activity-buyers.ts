import type { Address } from 'viem'
import type { NewActivity } from '../activity.js'
import { type CountedActivity, capped } from './activity-tally.js'

/** What somebody paid at an address, less what was given back. */
export interface Buyer {
  payTo: Address
  payer: Address
  /** Of the latest payment, as are the endpoint and the price. */
  merchantId: string | null
  endpointId: number | null
  isSelf: boolean
  /** Payments that stand. */
  count: number
  /** Atomic units. */
  amount: bigint
  price: bigint
}

/** Who may be given money back by this payment, as the buyer of an address; `undefined` where it is a sale or nothing. */
export function refundedBy(row: NewActivity): { payTo: Address; payer: Address } | undefined {
  const { state, givesBackOf, payTo } = row
  if (state !== 'settled' || givesBackOf == null) return undefined
  return { payTo: givesBackOf, payer: payTo }
}

/** Whether the row adds to what its payer paid. */
export function isSale({ state, refund }: CountedActivity): boolean {
  return state === 'settled' && refund === undefined
}

/**
 * Tells a refund from a sale: money to somebody who paid before goes back, up to what they paid. Of the payments it gives
 * back of one is undone when the money is the price of the latest, and all of them when nothing is left.
 */
export function asRefund(row: NewActivity, buyer: Buyer | undefined): CountedActivity {
  if (buyer === undefined || buyer.amount <= 0n) return row
  const paid = capped(row.amount)
  const amount = paid < buyer.amount ? paid : buyer.amount
  const isOne = amount >= buyer.price && buyer.count > 1
  const payments = amount === buyer.amount ? buyer.count : Number(isOne)
  const { merchantId, endpointId, isSelf } = buyer
  const refund = { amount, payments }
  return { ...row, state: 'refunded', merchantId, endpointId, isSelf, refund }
}

export interface BuyerRow {
  pay_to: Address
  payer: Address
  merchant_id: string | null
  endpoint_id: bigint | null
  is_self: bigint
  count: bigint
  amount: bigint
  price: bigint
}

export function toBuyer(row: BuyerRow): Buyer {
  return {
    payTo: row.pay_to,
    payer: row.payer,
    merchantId: row.merchant_id,
    endpointId: row.endpoint_id === null ? null : Number(row.endpoint_id),
    isSelf: row.is_self === 1n,
    count: Number(row.count),
    amount: row.amount,
    price: row.price,
  }
}
