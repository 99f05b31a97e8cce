import {
  answerersOf,
  type BudgetStore,
  dayOf,
  type GasBearer,
  RESERVED_MS,
  requireBudget,
  SUBSIDISED,
  WASTED,
} from '../budgets.js'
import type { Attempt, GasSpending } from '../settlement-journal.js'
import type { Database, Queries } from './database.js'

/** The payer of the row that sums the whole day. */
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

/** Books gas inside a transaction. Rows are locked in order, so that two bookings wait for each other without a deadlock. */
export async function bookGas(
  sql: Queries,
  { network, total, wasted = 0n, subsidised = 0n, burnt, reserved }: GasSpending,
  day: string,
): Promise<void> {
  const sums = new Map([
    [EVERYBODY, total],
    [WASTED, wasted],
    [SUBSIDISED, subsidised],
  ])
  for (const { payer, amount } of burnt) sums.set(payer, (sums.get(payer) ?? 0n) + amount)
  if (reserved !== undefined) {
    const rows = await sql.rows<{ bearer: string; is_strict: number }>(
      'SELECT bearer, is_strict FROM gas_risks WHERE hash = $1',
      [reserved.hash],
    )
    const bearers = rows.map((row) => ({ name: row.bearer, isStrict: row.is_strict === 1 }))
    for (const payer of answerersOf(bearers, burnt)) sums.set(payer, reserved.amount)
  }
  const entries = [...sums].filter(([, amount]) => amount > 0n).sort(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) return
  await sql.run(
    `INSERT INTO gas_spending (network, day, payer, amount)
     SELECT $1, $2, payer, amount FROM unnest($3::text[], $4::numeric[]) AS s (payer, amount)
     ON CONFLICT (network, day, payer) DO UPDATE SET amount = gas_spending.amount + excluded.amount`,
    [network, day, entries.map(([payer]) => payer), entries.map(([, amount]) => amount.toString())],
  )
}

/**
 * Reserves what an attempt may burn, inside a transaction. Processes that reserve for the same bearer take turns, so that
 * together they stay within its budget. Throws `GasBudgetError`.
 */
export async function reserveGas(
  sql: Queries,
  attempt: Attempt,
  bearers: readonly GasBearer[],
): Promise<void> {
  if (bearers.length === 0) return
  const { hash, network, relayer, relayerNonce, createdAt } = attempt
  const risks = bearers.filter(({ amount }) => amount > 0n)
  for (const name of risks.map((it) => it.name).sort()) {
    await sql.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`${network}/${name}`])
  }
  // One statement, so that a slot that closes meanwhile counts either as reserved or as booked.
  const rows = await sql.rows<{ name: string; burnt: string; reserved: string }>(
    `SELECT b.name,
       coalesce((SELECT amount FROM gas_spending g WHERE g.network = $2 AND g.day = $3 AND g.payer = b.name), 0) AS burnt,
       coalesce((SELECT sum(most) FROM (
         SELECT max(r.amount) AS most FROM gas_risks r JOIN attempts a ON a.hash = r.hash
         WHERE r.bearer = b.name AND a.network = $2 AND a.is_open = 1 AND a.created_at > $4
           AND NOT (a.relayer = $5 AND a.relayer_nonce = $6)
         GROUP BY a.relayer, a.relayer_nonce) AS slots), 0) AS reserved
     FROM unnest($1::text[]) AS b (name)`,
    [
      bearers.map(({ name }) => name),
      network,
      dayOf(createdAt),
      createdAt - RESERVED_MS,
      relayer,
      relayerNonce,
    ],
  )
  for (const bearer of bearers) {
    const row = rows.find(({ name }) => name === bearer.name)
    requireBudget(bearer, BigInt(row?.burnt ?? 0), BigInt(row?.reserved ?? 0))
  }
  if (risks.length === 0) return
  await sql.run(
    `INSERT INTO gas_risks (hash, bearer, amount, is_strict)
     SELECT $1, * FROM unnest($2::text[], $3::numeric[], $4::bigint[]) ON CONFLICT DO NOTHING`,
    [
      hash,
      risks.map(({ name }) => name),
      risks.map(({ amount }) => amount.toString()),
      risks.map(({ isStrict }) => (isStrict ? 1 : 0)),
    ],
  )
}
