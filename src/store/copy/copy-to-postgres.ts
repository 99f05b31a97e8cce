import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { CopyError } from '../errors.js'
import { connectionTo, toStoreError } from '../postgres/database.js'
import { migrate } from '../postgres/migrations.js'
import { type Database, openDatabase } from '../sqlite/database.js'
import { backUp } from './snapshot.js'

/** A table as it is copied: parents before children, rows in the order of their key. */
interface CopiedTable {
  name: string
  key: readonly string[]
  /** Whether its numbers are given out by the database. */
  isNumbered?: true
}

/** Every table that both engines have. Tables that only replicas need begin empty. */
const copiedTables: readonly CopiedTable[] = [
  { name: 'jobs', key: ['id'] },
  { name: 'attempts', key: ['hash'] },
  { name: 'attempt_jobs', key: ['hash', 'position'] },
  { name: 'gas_risks', key: ['hash', 'bearer'] },
  { name: 'lanes', key: ['network', 'relayer'] },
  { name: 'idempotency_keys', key: ['key'] },
  { name: 'gas_spending', key: ['network', 'day', 'payer'] },
  { name: 'blocks', key: ['role', 'address'] },
  { name: 'audit', key: ['id'], isNumbered: true },
  { name: 'merchants', key: ['id'] },
  { name: 'endpoints', key: ['id'], isNumbered: true },
  { name: 'probes', key: ['endpoint_id', 'checked_at'] },
  { name: 'probe_hours', key: ['endpoint_id', 'hour', 'verdict'] },
  { name: 'endpoint_prices', key: ['endpoint_id', 'source', 'at'] },
  { name: 'listing_writes', key: ['merchant_id', 'revision'] },
  { name: 'catalog_changes', key: ['sequence'], isNumbered: true },
  { name: 'event_queue', key: ['sequence'], isNumbered: true },
  { name: 'events', key: ['id'], isNumbered: true },
  { name: 'hooks', key: ['id'] },
  { name: 'hook_nonces', key: ['owner', 'nonce'] },
  { name: 'activity', key: ['id'], isNumbered: true },
  {
    name: 'activity_sums',
    key: ['span', 'merchant_id', 'bucket', 'endpoint_id', 'kind', 'state', 'reason', 'is_self'],
  },
  {
    name: 'activity_latencies',
    key: ['span', 'merchant_id', 'bucket', 'endpoint_id', 'kind', 'up_to_ms'],
  },
  { name: 'activity_payers', key: ['span', 'merchant_id', 'bucket', 'endpoint_id', 'payer'] },
  { name: 'activity_buyers', key: ['pay_to', 'payer'] },
  { name: 'endpoint_usage', key: ['endpoint_id'] },
  { name: 'merchant_usage', key: ['merchant_id'] },
  { name: 'usage_refresh', key: ['id'] },
  { name: 'service_hours', key: ['hour'] },
  { name: 'service_incidents', key: ['started_at'] },
  { name: 'ratings', key: ['number'], isNumbered: true },
  { name: 'rating_sums', key: ['network', 'pay_to', 'url', 'tool_name'] },
  { name: 'hosted_records', key: ['kind', 'id'] },
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

export interface CopyReport {
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

async function copyAll(source: Database, url: string): Promise<CopyReport['tables']> {
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
    await client.query(
      `LOCK TABLE ${copiedTables.map(({ name }) => name).join(', ')} IN ACCESS EXCLUSIVE MODE NOWAIT`,
    )
    await refuseRows(client)
    const report: CopyReport['tables'] = []
    for (const table of copiedTables) report.push(await copyTable(source, client, table))
    await client.query('COMMIT')
    return report
  } catch (error) {
    if ((error as { code?: unknown }).code === '55P03') {
      throw new CopyError('The target is in use: stop what is connected to it first.')
    }
    throw error instanceof CopyError ? error : toStoreError(error)
  } finally {
    // This ends an open transaction too.
    await client.end().catch(() => {})
  }
}

/** Refuses a source with a table that this copy does not know: its rows would be lost. */
async function refuseUnknownTables(source: Database): Promise<void> {
  const names = source
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .pluck()
    .all() as string[]
  const unknown = names.filter((name) => !copiedTables.some((table) => table.name === name))
  if (unknown.length > 0) {
    throw new CopyError(`The source has tables this version does not copy: ${unknown.join(', ')}.`)
  }
}

async function refuseRows(client: pg.Client): Promise<void> {
  const filled: string[] = []
  for (const { name } of copiedTables) {
    const { rows } = await client.query(`SELECT 1 FROM ${name} LIMIT 1`)
    if (rows.length > 0) filled.push(name)
  }
  if (filled.length === 0) return
  throw new CopyError(
    `The target is not empty (${filled.join(', ')}): nothing was copied. Name an empty database.`,
  )
}

async function copyTable(
  source: Database,
  client: pg.Client,
  table: CopiedTable,
): Promise<{ name: string } & RowDigest> {
  const { name } = table
  const columns = await columnsOf(source, client, table)
  const list = columns.map((column) => `"${column.name}"`).join(', ')
  const order = table.key.map((column) => `"${column}"`).join(', ')
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
  if (table.isNumbered === true) await carryNumbers(source, client, table)
  const [copied, written] = [digest.finish(), await digestTarget(client, name, list, order)]
  if (copied.count !== written.count || copied.sha256 !== written.sha256) {
    throw new CopyError(
      `Table ${name} did not arrive as it is (${copied.count} rows, ${written.count} arrived): nothing was kept.`,
    )
  }
  return { name, ...copied }
}

/** Returns the columns of the source with their types in the target. */
async function columnsOf(source: Database, client: pg.Client, { name }: CopiedTable) {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1`,
    [name],
  )
  const types = new Map(rows.map((row) => [row.name, row.type]))
  const names = source
    .prepare(`SELECT name FROM pragma_table_info(?)`)
    .pluck()
    .all(name) as string[]
  return names.map((column) => {
    const type = types.get(column)
    if (type === undefined) throw new CopyError(`The target has no column ${column} in ${name}.`)
    return { name: column, type }
  })
}

/** Carries the counter of numbers over, since a number is never given twice, even when its row is gone. */
async function carryNumbers(
  source: Database,
  client: pg.Client,
  { name, key }: CopiedTable,
): Promise<void> {
  const last = source.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(name)
  if (typeof last !== 'number' || last < 1) return
  await client.query('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [name, key[0], last])
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
    const { rows } = await client.query<TextRow>({
      text: `FETCH ${ROWS_AT_ONCE} FROM copied`,
      rowMode: 'array',
    } as unknown as string)
    for (const row of rows as unknown as TextRow[]) digest.add(row)
    if (rows.length < ROWS_AT_ONCE) break
  }
  await client.query('CLOSE copied')
  return digest.finish()
}
