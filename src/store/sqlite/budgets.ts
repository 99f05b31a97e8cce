import type { BudgetStore } from '../budgets.js'
import type { GasSpending } from '../settlement-journal.js'
import type { Database } from './database.js'

/** The row that sums the whole day. */
const EVERYBODY = ''

export function createBudgetStore(database: Database): BudgetStore {
  const read = prepareRead(database)
  return {
    spentOn: async (network, day) => read(network, day, EVERYBODY),
    burntBy: async (network, day, payer) => read(network, day, payer),
  }
}

/** Books gas inside a transaction that is already open. */
export function createGasBooking(database: Database): (spending: GasSpending, day: string) => void {
  const read = prepareRead(database)
  const write = database.prepare(
    `INSERT INTO gas_spending (network, day, payer, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT (network, day, payer) DO UPDATE SET amount = excluded.amount`,
  )
  const add = (network: string, day: string, payer: string, amount: bigint) => {
    if (amount === 0n) return
    write.run(network, day, payer, (read(network, day, payer) + amount).toString())
  }
  return ({ network, total, burnt }, day) => {
    add(network, day, EVERYBODY, total)
    for (const { payer, amount } of burnt) add(network, day, payer, amount)
  }
}

function prepareRead(database: Database) {
  const find = database.prepare(
    'SELECT amount FROM gas_spending WHERE network = ? AND day = ? AND payer = ?',
  )
  return (network: string, day: string, payer: string): bigint =>
    BigInt((find.get(network, day, payer) as { amount: string } | undefined)?.amount ?? 0)
}
