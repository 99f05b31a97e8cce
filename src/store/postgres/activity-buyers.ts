import type { NewActivity } from '../activity.js'
import {
  asRefund,
  type Buyer,
  type BuyerRow,
  isSale,
  refundedBy,
  toBuyer,
} from '../rows/activity-buyers.js'
import { type CountedActivity, capped, MAX_SUM } from '../rows/activity-tally.js'
import type { Queries } from './database.js'

type Pair = Pick<Buyer, 'payTo' | 'payer'>
type Text<Row> = { [Key in keyof Row]: Row[Key] extends bigint | null ? string | null : Row[Key] }

const keyOf = ({ payTo, payer }: Pair) => `${payTo}/${payer}`

/** The rows as they count, each after those before it: as refunds where they give back what was paid. */
export async function judgeRefunds(
  sql: Queries,
  rows: readonly NewActivity[],
): Promise<CountedActivity[]> {
  const refunded = rows.flatMap((row) => refundedBy(row) ?? [])
  if (refunded.length === 0) return [...rows]
  const buyers = await readBuyers(sql, [...refunded, ...rows.filter(isSale)])
  return rows.map((row) => {
    const pair = refundedBy(row)
    const counted = pair === undefined ? row : asRefund(row, buyers.get(keyOf(pair)))
    const own = pairOf(counted)
    if (own !== undefined) buyers.set(keyOf(own), buyerAfter(counted, buyers.get(keyOf(own))))
    return counted
  })
}

/** Adds what was kept to the buyers it is of: sums, so that two processes may do so at once. */
export async function noteBuyers(sql: Queries, rows: readonly CountedActivity[]): Promise<void> {
  const changes = new Map<string, Buyer>()
  for (const row of rows) {
    const pair = pairOf(row)
    if (pair === undefined) continue
    const change = changes.get(keyOf(pair))
    if (row.refund === undefined) changes.set(keyOf(pair), buyerAfter(row, change))
    else {
      const none: Buyer = { ...row, ...pair, count: 0, amount: 0n, price: -1n }
      changes.set(keyOf(pair), buyerAfter(row, change ?? none))
    }
  }
  const all = [...changes.values()]
  if (all.length === 0) return
  // A price below zero is that of no sale: the latest stays.
  await sql.run(
    `INSERT INTO activity_buyers AS b (pay_to, payer, merchant_id, endpoint_id, is_self, count, amount, price)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
       $8::bigint[]) AS t (pay_to, payer, merchant_id, endpoint_id, is_self, count, amount, price)
     ORDER BY pay_to, payer
     ON CONFLICT (pay_to, payer) DO UPDATE SET count = b.count + excluded.count,
       amount = least(${MAX_SUM}, b.amount::numeric + excluded.amount)::bigint,
       merchant_id = CASE WHEN excluded.price < 0 THEN b.merchant_id ELSE excluded.merchant_id END,
       endpoint_id = CASE WHEN excluded.price < 0 THEN b.endpoint_id ELSE excluded.endpoint_id END,
       is_self = CASE WHEN excluded.price < 0 THEN b.is_self ELSE excluded.is_self END,
       price = CASE WHEN excluded.price < 0 THEN b.price ELSE excluded.price END`,
    [
      all.map(({ payTo }) => payTo),
      all.map(({ payer }) => payer),
      all.map(({ merchantId }) => merchantId),
      all.map(({ endpointId }) => endpointId),
      all.map(({ isSelf }) => Number(isSelf)),
      all.map(({ count }) => count),
      all.map(({ amount }) => amount.toString()),
      all.map(({ price }) => price.toString()),
    ],
  )
}

/** The buyer after a sale to them, or after a refund. */
function buyerAfter(row: CountedActivity, buyer: Buyer | undefined): Buyer {
  const { refund } = row
  if (buyer !== undefined && refund !== undefined) {
    const { count, amount } = buyer
    return { ...buyer, count: count - refund.payments, amount: amount - refund.amount }
  }
  const { payTo, payer, merchantId, endpointId, isSelf } = row
  const price = capped(row.amount)
  const amount = capped((buyer?.amount ?? 0n) + price)
  const count = (buyer?.count ?? 0) + 1
  return { payTo, payer, merchantId, endpointId, isSelf, count, amount, price }
}

/** Whose account a counted row changes. */
function pairOf(row: CountedActivity): Pair | undefined {
  const { refund, givesBackOf, payTo } = row
  if (refund !== undefined && givesBackOf != null) return { payTo: givesBackOf, payer: payTo }
  return isSale(row) ? row : undefined
}

/** Locked until the commit, in one order, so that what was paid is given back once. */
async function readBuyers(sql: Queries, pairs: readonly Pair[]): Promise<Map<string, Buyer>> {
  const rows = await sql.rows<Text<BuyerRow>>(
    `SELECT pay_to, payer, merchant_id, endpoint_id::text, is_self::text, count::text, amount::text, price::text
     FROM activity_buyers WHERE (pay_to, payer) IN (SELECT * FROM unnest($1::text[], $2::text[]))
     ORDER BY pay_to, payer FOR UPDATE`,
    [pairs.map(({ payTo }) => payTo), pairs.map(({ payer }) => payer)],
  )
  const buyers = rows.map((row) =>
    toBuyer({
      pay_to: row.pay_to,
      payer: row.payer,
      merchant_id: row.merchant_id,
      endpoint_id: row.endpoint_id === null ? null : BigInt(row.endpoint_id),
      is_self: BigInt(row.is_self ?? 0),
      count: BigInt(row.count ?? 0),
      amount: BigInt(row.amount ?? 0),
      price: BigInt(row.price ?? 0),
    }),
  )
  return new Map(buyers.map((buyer) => [keyOf(buyer), buyer]))
}
