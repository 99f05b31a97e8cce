import pg from 'pg'
import { MigrationError, StoreUnavailableError } from '../errors.js'
import { migrationsAfter } from '../migration-files.js'
import { connectionTo, toStoreError } from './database.js'

/** The number of the lock on migrations, the same in every process and version. */
const MIGRATION_LOCK = 5_042_402

const CONNECT_TIMEOUT_MS = 5_000

/**
 * Brings the schema up to date, one process at a time; the others wait and find it done. Rejects with `MigrationError`,
 * or with `StoreUnavailableError` when the database cannot be reached.
 */
export async function migrate(url: string): Promise<void> {
  const client = new pg.Client({
    ...connectionTo(url),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'arcus migration',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    // The lock belongs to a transaction: behind a pooler a session may outlive this connection, and keep what it locked.
    while (await inTurn(client, () => applyNext(client))) {}
  } catch (error) {
    throw toStoreError(error)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Runs in a transaction during which no other process migrates. */
async function inTurn<Result>(client: pg.Client, work: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN')
  try {
    // A role may have limits that suit payments. Writing a large journal anew takes minutes, and so does the wait for it.
    await client.query('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0')
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Applies the first migration that is missing. Resolves with whether there was one. */
async function applyNext(client: pg.Client): Promise<boolean> {
  await client.query(
    'CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, file TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())',
  )
  const found = await client.query(
    'SELECT coalesce(max(version), 0) AS version FROM schema_migrations',
  )
  const [next] = migrationsAfter('postgres', Number(found.rows[0].version))
  if (next === undefined) return false
  const { version, file, sql } = next
  try {
    await client.query(sql)
  } catch (error) {
    const cause = toStoreError(error)
    if (cause instanceof StoreUnavailableError) throw cause
    const reason = error instanceof Error ? error.message : String(error)
    throw new MigrationError(`migration ${file} could not be applied: ${reason}`, { cause: error })
  }
  const noted = 'INSERT INTO schema_migrations (version, file) VALUES ($1, $2)'
  await client.query(noted, [version, file])
  return true
}
