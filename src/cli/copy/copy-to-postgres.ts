import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { CopyError } from '../../sql/errors.js'
import { connectionTo, toStoreError } from '../../sql/postgres/database.js'
import { migrate } from '../../sql/postgres/migrate.js'
import { openDatabase, type SqliteDatabase } from '../../sql/sqlite/database.js'
import { backUp } from './snapshot.js'

/** Every table that both engines have, parents before children. Tables that only replicas need begin empty. */
const copiedTables = [
  'jobs',
  'attempts',
  'attempt_jobs',
  'gas_risks',
  'lanes',
  'idempotency_keys',
  'gas_spending',
  'customers',
  'blocks',
  'audit',
  'merchants',
  'endpoints',
  'probe_hours',
  'endpoint_prices',
  'paid_checks',
  'check_requests',
  'listing_writes',
  'catalog_changes',
  'published_merchants',
  'event_queue',
  'events',
  'hooks',
  'hook_nonces',
  'hook_replays',
  'activity',
  'activity_sums',
  'activity_latencies',
  'activity_payers',
  'endpoint_usage',
  'merchant_usage',
  'usage_refresh',
  'hosted_records',
  'outbox',
  'offer_outcomes',
]

/** The number of rows and a SHA-256 over all of them in order: equal on two engines when every value is. */
interface RowDigest {
  count: number
  sha256: string
}

type TextRow = readonly (string | null)[]

function createRowDigest(): { add(row: TextRow): void; finish(): RowDigest } {
  const hash = createHash('sha256')
  let count = 0
  return {
    add(row) {
      count++
      hash.update(JSON.stringify(row)).update('\n')
    },
    finish: () => ({ count, sha256: hash.digest('hex') }),
  }
}

interface CopyReport {
  tables: ({ name: string } & RowDigest)[]
  /** Whether the source was written to after its snapshot was taken: such writes are not in the copy. */
  hasChangedSince: boolean
}

const ROWS_AT_ONCE = 1_000
const CONNECT_TIMEOUT_MS = 5_000

/**
 * Copies a SQLite database, in use or not, into an empty PostgreSQL: one snapshot, in one transaction, kept only when count
 * and digest of every table agree. Rejects with `CopyError` or `StoreUnavailableError`; the target is then as it was.
 */
export async function copyToPostgres(path: string, url: string): Promise<CopyReport> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-copy-'))
  try {
    const snapshotPath = join(folder, 'snapshot.db')
    const watch = watchForChanges(path)
    await backUp(path, snapshotPath)
    await migrate(url)
    const source = openDatabase(snapshotPath)
    try {
      const tables = await copyAll(source, url)
      return { tables, hasChangedSince: watch.hasChanged() }
    } finally {
      source.close()
      watch.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function watchForChanges(path: string): { hasChanged(): boolean; close(): void } {
  let live: Sqlite.Database
  try {
    live = new Sqlite(path, { readonly: true, fileMustExist: true })
  } catch {
    throw new CopyError(`There is no database at ${path}.`)
  }
  const version = () => live.pragma('data_version', { simple: true })
  const before = version()
  return { hasChanged: () => version() !== before, close: () => live.close() }
}

async function copyAll(source: SqliteDatabase, url: string): Promise<CopyReport['tables']> {
  const client = new pg.Client({
    ...connectionTo(url),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'arcus copy',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN')
    await refuseUnknownTables(source)
    // No service may begin to use it meanwhile.
    await client.query(`LOCK TABLE ${copiedTables.join(', ')} IN ACCESS EXCLUSIVE MODE NOWAIT`)
    await refuseRows(client)
    const report: CopyReport['tables'] = []
    for (const name of copiedTables) report.push(await copyTable(source, client, name))
    await client.query('COMMIT')
    return report
  } catch (error) {
    if ((error as { code?: unknown }).code === '55P03') {
      throw new CopyError('The target is in use: stop the programs that are connected to it first.')
    }
    throw error instanceof CopyError ? error : toStoreError(error)
  } finally {
    // This ends an open transaction too.
    await client.end().catch(() => {})
  }
}

/** Refuses a source with a table that this copy does not know: its rows would be lost. */
async function refuseUnknownTables(source: SqliteDatabase): Promise<void> {
  const names = source
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .pluck()
    .all() as string[]
  const unknown = names.filter((name) => !copiedTables.includes(name))
  if (unknown.length > 0) {
    throw new CopyError(`The source has tables this version does not copy: ${unknown.join(', ')}.`)
  }
}

async function refuseRows(client: pg.Client): Promise<void> {
  const filled: string[] = []
  for (const name of copiedTables) {
    const { rows } = await client.query(`SELECT 1 FROM ${name} LIMIT 1`)
    if (rows.length > 0) filled.push(name)
  }
  if (filled.length === 0) return
  throw new CopyError(
    `The target is not empty (${filled.join(', ')}): nothing was copied. Name an empty database.`,
  )
}

async function copyTable(
  source: SqliteDatabase,
  client: pg.Client,
  name: string,
): Promise<{ name: string } & RowDigest> {
  const columns = await columnsOf(source, client, name)
  const key = columns.filter(({ place }) => place > 0).sort((a, b) => a.place - b.place)
  const list = columns.map((column) => `"${column.name}"`).join(', ')
  const order = key.map((column) => `"${column.name}"`).join(', ')
  const insert = `INSERT INTO ${name} (${list}) SELECT * FROM unnest(${columns
    .map(({ type }, i) => `$${i + 1}::${type}[]`)
    .join(', ')})`
  const digest = createRowDigest()
  const read = source.prepare(`SELECT ${list} FROM ${name} ORDER BY ${order}`).raw().safeIntegers()
  let page: TextRow[] = []
  const write = async () => {
    if (page.length === 0) return
    await client.query(
      insert,
      columns.map((_, i) => page.map((row) => row[i])),
    )
    page = []
  }
  for (const values of read.iterate() as IterableIterator<unknown[]>) {
    const row = values.map((value) => (value === null ? null : String(value)))
    digest.add(row)
    page.push(row)
    if (page.length === ROWS_AT_ONCE) await write()
  }
  await write()
  await carryNumbers(source, client, name)
  const [copied, written] = [digest.finish(), await digestTarget(client, name, list, order)]
  if (copied.count !== written.count || copied.sha256 !== written.sha256) {
    throw new CopyError(
      `Table ${name} did not arrive as it is (${copied.count} rows, ${written.count} arrived): nothing was kept.`,
    )
  }
  return { name, ...copied }
}

/** Returns the columns of the source with their types in the target, and their positions in the key, 0 for the others. */
async function columnsOf(source: SqliteDatabase, client: pg.Client, table: string) {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1`,
    [table],
  )
  const types = new Map(rows.map((row) => [row.name, row.type]))
  const columns = source
    .prepare('SELECT name, pk AS place FROM pragma_table_info(?)')
    .all(table) as { name: string; place: number }[]
  return columns.map((column) => {
    const type = types.get(column.name)
    if (type === undefined)
      throw new CopyError(`The target has no column ${column.name} in ${table}.`)
    return { ...column, type }
  })
}

/** Carries the counter over where the database numbers rows: a number is never given twice, even when its row is gone. */
async function carryNumbers(
  source: SqliteDatabase,
  client: pg.Client,
  table: string,
): Promise<void> {
  const last = source.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table)
  if (typeof last !== 'number' || last < 1) return
  await client.query(
    `SELECT setval(pg_get_serial_sequence($1, column_name), $2) FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'YES'`,
    [table, last],
  )
}

async function digestTarget(
  client: pg.Client,
  name: string,
  list: string,
  order: string,
): Promise<RowDigest> {
  const digest = createRowDigest()
  const texts = list.replaceAll(/"[^"]+"/g, '$&::text')
  // With an alias, so that the order is that of the columns and not of their texts.
  const ordered = order.replaceAll(/"[^"]+"/g, 't.$&')
  await client.query(`DECLARE copied CURSOR FOR SELECT ${texts} FROM ${name} t ORDER BY ${ordered}`)
  for (;;) {
    const { rows } = await client.query<(string | null)[]>({
      text: `FETCH ${ROWS_AT_ONCE} FROM copied`,
      rowMode: 'array',
    })
    for (const row of rows) digest.add(row)
    if (rows.length < ROWS_AT_ONCE) break
  }
  await client.query('CLOSE copied')
  return digest.finish()
}
