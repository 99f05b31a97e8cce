import { type CountedActivity, MAX_SUM, type TallyEntry, tally } from '../rows/activity-tally.js'
import type { Queries } from './database.js'

const place = ['span::text', 'merchant_id::text', 'bucket::bigint', 'endpoint_id::bigint'] as const

/** Each table of sums: its key in order, with types, and whether it sums money. */
const tables = {
  activity_sums: [...place, 'kind::text', 'state::text', 'reason::text', 'is_self::bigint'],
  activity_latencies: [...place, 'kind::text', 'up_to_ms::bigint'],
  activity_payers: [...place, 'payer::text'],
} as const

const statements = {
  activity_sums: statement('activity_sums', ['amount', 'gas']),
  activity_latencies: statement('activity_latencies', []),
  activity_payers: statement('activity_payers', ['amount']),
}

/** Adds rows to the sums, inside a transaction; equal keys of one call are added up first. */
export async function addSums(sql: Queries, rows: readonly CountedActivity[]): Promise<void> {
  if (rows.length === 0) return
  const { sums, latencies, payers } = tally(rows)
  await add(sql, 'activity_sums', [...sums], ['amount', 'gas'])
  await add(sql, 'activity_latencies', [...latencies], [])
  await add(sql, 'activity_payers', [...payers], ['amount'])
}

type Money = 'amount' | 'gas'

async function add(
  sql: Queries,
  table: keyof typeof tables,
  entries: readonly TallyEntry[],
  money: readonly Money[],
): Promise<void> {
  if (entries.length === 0) return
  await sql.run(statements[table], [
    ...tables[table].map((_, i) => entries.map(({ key }) => key[i])),
    entries.map(({ count }) => count),
    ...money.map((name) => entries.map((entry) => entry[name].toString())),
  ])
}

/** Rows are taken in the order of their keys, so that two processes wait for rather than block each other. */
function statement(table: keyof typeof tables, money: readonly Money[]): string {
  const key = tables[table].map((column) => column.split('::') as [string, string])
  const names = key.map(([name]) => name).join(', ')
  const arrays = [...key.map(([, type]) => type), 'bigint', ...money.map(() => 'bigint')].map(
    (type, i) => `$${i + 1}::${type}[]`,
  )
  // Beyond 64 bits before it is stopped.
  const sums = money.map(
    (name) => `, ${name} = least(${MAX_SUM}, s.${name}::numeric + excluded.${name})::bigint`,
  )
  return `INSERT INTO ${table} AS s (${[names, 'count', ...money].join(', ')})
    SELECT * FROM unnest(${arrays.join(', ')}) AS t (${[names, 'count', ...money].join(', ')}) ORDER BY ${names}
    ON CONFLICT (${names}) DO UPDATE SET count = s.count + excluded.count${sums.join('')}`
}
