import type { BudgetStore } from '../budgets.js'
import type { GasSpending } from '../settlement-journal.js'
import type { Database, Queries } from './database.js'

/** Stands for all payers of a day together. */
const EVERYBODY = ''

export function createBudgetStore(database: Database): BudgetStore {
  const read = async (network: string, day: string, payer: string) => {
    const [row] = await database.rows<{ amount: string }>(
      'SELECT amount FROM gas_spending WHERE network = $1 AND day = $2 AND payer = $3',
      [network, day, payer],
    )
    return BigInt(row?.amount ?? 0)
  }
  return {
    spentOn: (network, day) => read(network, day, EVERYBODY),
    burntBy: read,
  }
}

/** Books gas inside a transaction. Rows are taken in order, so that two bookings wait rather than block each other. */
export async function bookGas(
  sql: Queries,
  { network, total, burnt }: GasSpending,
  day: string,
): Promise<void> {
  const sums = new Map<string, bigint>([[EVERYBODY, total]])
  for (const { payer, amount } of burnt) sums.set(payer, (sums.get(payer) ?? 0n) + amount)
  const entries = [...sums].filter(([, amount]) => amount > 0n).sort(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) return
  await sql.run(
    `INSERT INTO gas_spending (network, day, payer, amount)
     SELECT $1, $2, payer, amount FROM unnest($3::text[], $4::numeric[]) AS s (payer, amount)
     ON CONFLICT (network, day, payer) DO UPDATE SET amount = gas_spending.amount + excluded.amount`,
    [network, day, entries.map(([payer]) => payer), entries.map(([, amount]) => amount.toString())],
  )
}
