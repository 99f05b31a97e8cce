import { LRUCache } from 'lru-cache'
import type { Database, Queries } from '../../../sql/postgres/database.js'
import { type BudgetStore, chargedAccounts, SUBSIDISED, WASTED } from '../budgets.js'
import type { GasCharge } from '../settlement-journal.js'
import { columnsOf, inGroups } from './groups.js'

/** The payer of the row that sums the whole day. */
const EVERYBODY = ''
/** Sums that are remembered for questions which an older answer serves. */
const MAX_REMEMBERED = 10_000

interface SumKey {
  network: string
  day: string
  payer: string
}

export function createBudgetStore(database: Database): BudgetStore {
  const remembered = new LRUCache<string, { sum: bigint; readAt: number }>({ max: MAX_REMEMBERED })
  const read = inGroups((keys: readonly SumKey[]) => readSums(database, keys))

  async function burntBy(network: string, day: string, payer: string, maxAgeMs = 0) {
    const name = `${network}/${day}/${payer}`
    const known = remembered.get(name)
    if (known !== undefined && performance.now() - known.readAt < maxAgeMs) return known.sum
    const readAt = performance.now()
    const sum = await read({ network, day, payer })
    remembered.set(name, { sum, readAt })
    return sum
  }

  return {
    spentOn: (network, day, maxAgeMs) => burntBy(network, day, EVERYBODY, maxAgeMs),
    burntBy,
  }
}

async function readSums(database: Database, keys: readonly SumKey[]): Promise<bigint[]> {
  const rows = await database.rows<{ place: number; amount: string }>(
    `SELECT a.place, g.amount
     FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (network, day, payer, place)
       JOIN gas_spending g ON g.network = a.network AND g.day = a.day AND g.payer = a.payer`,
    columnsOf(keys.map(({ network, day, payer }) => [network, day, payer])),
  )
  const found = new Map(rows.map(({ place, amount }) => [place - 1, BigInt(amount)]))
  return keys.map((_, i) => found.get(i) ?? 0n)
}

/** Returns what a charge of gas adds to the sums of a day, by payer. Sums that do not change are left out. */
export async function gasSums(
  sql: Queries,
  gasCharge: GasCharge | undefined,
): Promise<ReadonlyMap<string, bigint>> {
  if (gasCharge === undefined) return new Map()
  const { total, wasted, subsidised = 0n, burnt, reserved } = gasCharge
  const sums = new Map([
    [EVERYBODY, total],
    [SUBSIDISED, subsidised],
  ])
  if (wasted !== undefined) sums.set(WASTED[wasted.kind], wasted.amount)
  for (const { payer, amount } of burnt) sums.set(payer, (sums.get(payer) ?? 0n) + amount)
  if (reserved !== undefined) {
    // The budgets of an attempt do not change until its slot closes.
    const rows = await sql.rows<{ bearer: string; is_strict: number }>(
      'SELECT bearer, is_strict FROM gas_risks WHERE hash = $1',
      [reserved.hash],
    )
    const budgets = rows.map((row) => ({ name: row.bearer, isStrict: row.is_strict === 1 }))
    for (const payer of chargedAccounts(budgets, burnt)) sums.set(payer, reserved.amount)
  }
  return new Map([...sums].filter(([, amount]) => amount > 0n))
}
