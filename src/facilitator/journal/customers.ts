import type { Address } from 'viem'
import type { SqlReader } from '../../sql/sql.js'

/** A payer who paid a recipient more than the gas of it. The first and the last day of each pair are kept. */
export interface Customer {
  payTo: string
  payer: string
}

/** The pairs that are looked at for one recipient. */
const MAX_PAIRS = 200

/** Reads who paid whom, which the settlement journal writes in its commits. */
export function createCustomerStore(sql: SqlReader) {
  return {
    /** Returns payers of a recipient before this day, each with others that they paid before it as well. */
    async othersPaid(network: string, payTo: Address, day: string) {
      return sql.all<{ payer: Address; other: Address }>(
        `SELECT c.payer, o.pay_to AS other
         FROM customers c JOIN customers o
           ON o.network = c.network AND o.payer = c.payer AND o.pay_to <> c.pay_to AND o.day < $3
         WHERE c.network = $1 AND c.pay_to = $2 AND c.day < $3 LIMIT ${MAX_PAIRS}`,
        [network, payTo, day],
      )
    },
  }
}

export type CustomerStore = ReturnType<typeof createCustomerStore>
