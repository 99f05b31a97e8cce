import type { BudgetStore } from '../budgets.js'
import type { GasSpending } from '../settlement-journal.js'
import type { Database } from './database.js'

/** The row that sums the whole day. */
const EVERYBODY = ''

/** Sums kept beside the table, for every verify asks; past this many they are read anew. */
const MAX_REMEMBERED = 10_000

/** What was read lately from each database; whoever books forgets what it changes. */
const rememberedOf = new WeakMap<Database, Map<string, bigint>>()

export function createBudgetStore(database: Database): BudgetStore {
  const read = prepareRead(database)
  const remembered = rememberedSums(database)
  const recall = (network: string, day: string, payer: string) => {
    const key = `${network}/${day}/${payer}`
    let sum = remembered.get(key)
    if (sum === undefined) {
      sum = read(network, day, payer)
      if (remembered.size >= MAX_REMEMBERED) remembered.clear()
      remembered.set(key, sum)
    }
    return sum
  }
  return {
    spentOn: async (network, day) => recall(network, day, EVERYBODY),
    burntBy: async (network, day, payer) => recall(network, day, payer),
  }
}

function rememberedSums(database: Database): Map<string, bigint> {
  const remembered = rememberedOf.get(database) ?? new Map<string, bigint>()
  rememberedOf.set(database, remembered)
  return remembered
}

/** Books gas inside a transaction that is already open. */
export function createGasBooking(database: Database): (spending: GasSpending, day: string) => void {
  const read = prepareRead(database)
  const remembered = rememberedSums(database)
  const write = database.prepare(
    `INSERT INTO gas_spending (network, day, payer, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT (network, day, payer) DO UPDATE SET amount = excluded.amount`,
  )
  const add = (network: string, day: string, payer: string, amount: bigint) => {
    if (amount === 0n) return
    // Rolled back or not, the next reader looks at the row.
    remembered.delete(`${network}/${day}/${payer}`)
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
