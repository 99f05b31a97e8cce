import type { NewActivity } from '../activity.js'
import { asRefund, type BuyerRow, isSale, refundedBy, toBuyer } from '../rows/activity-buyers.js'
import { type CountedActivity, capped, MAX_SUM } from '../rows/activity-tally.js'
import type { Database } from './database.js'

/** Keeps what each payer paid at each address, inside a transaction that is already open. */
export interface BuyerBook {
  /** The row as it counts: as a refund where it gives back what was paid. */
  judge(row: NewActivity): CountedActivity
  /** Once the row is kept. */
  note(row: CountedActivity): void
}

export function createBuyerBook(database: Database): BuyerBook {
  const find = database
    .prepare('SELECT * FROM activity_buyers WHERE pay_to = ? AND payer = ?')
    .safeIntegers()
  const addSale = database.prepare(
    `INSERT INTO activity_buyers VALUES (?, ?, ?, ?, ?, 1, ?, ?)
     ON CONFLICT DO UPDATE SET merchant_id = excluded.merchant_id, endpoint_id = excluded.endpoint_id,
       is_self = excluded.is_self, count = count + 1, amount = MIN(${MAX_SUM}, amount + excluded.amount),
       price = excluded.price`,
  )
  const takeBack = database.prepare(
    'UPDATE activity_buyers SET count = count - ?, amount = amount - ? WHERE pay_to = ? AND payer = ?',
  )

  return {
    judge(row) {
      const pair = refundedBy(row)
      if (pair === undefined) return row
      const found = find.get(pair.payTo, pair.payer) as BuyerRow | undefined
      return asRefund(row, found && toBuyer(found))
    },
    note(row) {
      const { payTo, payer, merchantId, endpointId, isSelf, refund } = row
      if (refund !== undefined) {
        takeBack.run(refund.payments, refund.amount, row.givesBackOf, payTo)
      } else if (isSale(row)) {
        const price = capped(row.amount)
        addSale.run(payTo, payer, merchantId, endpointId, Number(isSelf), price, price)
      }
    },
  }
}
