import type { Address } from 'viem'
import type { NewActivity } from '../activity.js'
import { addCapped, type CountedActivity, capped } from './activity-sums.js'
import { get, type Insertion, insertAll, type Sql, type Steps } from './sql.js'

/** A payer and the address they paid at. */
interface Pair {
  payTo: Address
  payer: Address
}

/** The sum that a payer paid at an address, less refunds. */
interface Buyer extends Pair {
  /** The merchant of the latest payment, as are the endpoint and the price. */
  merchantId: string | null
  endpointId: number | null
  isSelf: boolean
  /** Payments that were not given back in full. */
  count: number
  /** Atomic units. */
  amount: bigint
  price: bigint
}

const table = 'activity_buyers'
/** A price below zero belongs to no sale: then what stands of the latest sale stays. */
const ofLatestSale = ['merchant_id', 'endpoint_id', 'is_self', 'price'].map(
  (name) =>
    `${name} = CASE WHEN excluded.price < 0 THEN ${table}.${name} ELSE excluded.${name} END`,
)
const insertion: Insertion = {
  table,
  order: ['pay_to', 'payer'],
  rest: `ON CONFLICT (pay_to, payer) DO UPDATE SET count = ${table}.count + excluded.count,
    ${addCapped(table, 'amount')}, ${ofLatestSale.join(', ')}`,
}
const NO_SALE = -1n

/** Returns the rows as they count, each after those before it: as refunds where they give back what was paid. */
export function* markRefunds(
  rows: readonly NewActivity[],
  { forUpdate }: Pick<Sql, 'forUpdate'>,
): Steps<CountedActivity[]> {
  const pairs = new Map(rows.flatMap((row) => refundedPair(row) ?? []).map((it) => [keyOf(it), it]))
  if (pairs.size === 0) return [...rows]
  const buyers = new Map<string, Buyer>()
  // In one order, and locked until the commit, so that two processes do not give back the same money twice.
  for (const key of [...pairs.keys()].sort()) {
    const buyer = yield* findBuyer(pairs.get(key) as Pair, forUpdate)
    if (buyer !== undefined) buyers.set(key, buyer)
  }
  return rows.map((row) => {
    const pair = refundedPair(row)
    const counted = pair === undefined ? row : asRefund(row, buyers.get(keyOf(pair)))
    const own = changedPair(counted)
    const key = own && keyOf(own)
    // Only buyers of these refunds matter here; the rest would be added up for nothing.
    if (key !== undefined && pairs.has(key)) buyers.set(key, buyerAfter(counted, buyers.get(key)))
    return counted
  })
}

/** Adds what was kept to the buyers it is about: as sums, so that two processes may do so at once. */
export function* addToBuyers(rows: readonly CountedActivity[]): Steps<void> {
  const changes = new Map<string, Buyer>()
  for (const row of rows) {
    const pair = changedPair(row)
    if (pair === undefined) continue
    const key = keyOf(pair)
    const isSale = row.refund === undefined
    const before = changes.get(key) ?? (isSale ? undefined : beforeSales(row, pair))
    changes.set(key, buyerAfter(row, before))
  }
  yield* insertAll(
    insertion,
    Array.from(changes.values(), ({ payTo, merchantId, endpointId, isSelf, ...same }) => ({
      ...same,
      pay_to: payTo,
      merchant_id: merchantId,
      endpoint_id: endpointId,
      is_self: Number(isSelf),
    })),
  )
}

const keyOf = ({ payTo, payer }: Pair) => `${payTo}/${payer}`

/** Returns the buyer who may be given money back by this payment; `undefined` where it is a sale or nothing. */
function refundedPair(row: NewActivity): Pair | undefined {
  const { state, givesBackOf, payTo, isOtherMoney } = row
  if (state !== 'settled' || givesBackOf == null || isOtherMoney === true) return undefined
  return { payTo: givesBackOf, payer: payTo }
}

/** Returns the buyer whom a counted row changes. What was paid in another money is not given back in this one. */
function changedPair(row: CountedActivity): Pair | undefined {
  const { refund, givesBackOf, payTo, payer, state, isOtherMoney } = row
  if (isOtherMoney === true) return undefined
  if (refund !== undefined && givesBackOf != null) return { payTo: givesBackOf, payer: payTo }
  return state === 'settled' ? { payTo, payer } : undefined
}

/**
 * Tells a refund from a sale: money to somebody who paid before goes back, up to what they paid. One of their payments is
 * undone when the money is the price of the latest, and all of them when nothing is left.
 */
function asRefund(row: NewActivity, buyer: Buyer | undefined): CountedActivity {
  if (buyer === undefined || buyer.amount <= 0n) return row
  const paid = capped(row.amount)
  const amount = paid < buyer.amount ? paid : buyer.amount
  const isOne = amount >= buyer.price && buyer.count > 1
  const payments = amount === buyer.amount ? buyer.count : Number(isOne)
  const { merchantId, endpointId, isSelf } = buyer
  const refund = { amount, payments }
  return { ...row, state: 'refunded', merchantId, endpointId, isSelf, refund }
}

/** Returns a buyer to whom only refunds are added: the sales are in the table. */
function beforeSales({ merchantId, endpointId, isSelf }: CountedActivity, pair: Pair): Buyer {
  return { ...pair, merchantId, endpointId, isSelf, count: 0, amount: 0n, price: NO_SALE }
}

/** Returns the buyer after a sale to them, or after a refund. */
function buyerAfter(row: CountedActivity, buyer: Buyer | undefined): Buyer {
  const { refund, payTo, payer, merchantId, endpointId, isSelf } = row
  if (buyer !== undefined && refund !== undefined) {
    const { count, amount } = buyer
    return { ...buyer, count: count - refund.payments, amount: amount - refund.amount }
  }
  const price = capped(row.amount)
  const amount = capped((buyer?.amount ?? 0n) + price)
  const count = (buyer?.count ?? 0) + 1
  return { payTo, payer, merchantId, endpointId, isSelf, count, amount, price }
}

type BuyerRow = Omit<Buyer, 'isSelf' | 'amount' | 'price'> & {
  isSelf: number
  amount: string
  price: string
}

function* findBuyer({ payTo, payer }: Pair, forUpdate: string): Steps<Buyer | undefined> {
  // Sums are read as text: they go past what a double holds.
  const row = yield* get<BuyerRow>(
    `SELECT pay_to AS "payTo", payer, merchant_id AS "merchantId", endpoint_id AS "endpointId", is_self AS "isSelf",
       count, CAST(amount AS TEXT) AS amount, CAST(price AS TEXT) AS price
     FROM activity_buyers WHERE pay_to = $1 AND payer = $2 ${forUpdate}`,
    [payTo, payer],
  )
  if (row === undefined) return undefined
  const { isSelf, amount, price } = row
  return { ...row, isSelf: isSelf === 1, amount: BigInt(amount), price: BigInt(price) }
}
