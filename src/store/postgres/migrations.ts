import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { MigrationError } from '../errors.js'
import { toStoreError } from './database.js'

const folder = new URL('../../../migrations/postgres/', import.meta.url)
/** The number of the lock on migrations, the same in every process and version. */
const MIGRATION_LOCK = 5_042_402

const CONNECT_TIMEOUT_MS = 5_000

/**
 * Brings the schema up to date, one process at a time; the others wait and find it done. Rejects with `MigrationError`,
 * or with `StoreUnavailableError` when the database cannot be reached.
 */
export async function migrate(url: string): Promise<void> {
  const files = migrationFiles()
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'arcus migration',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, file TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())',
    )
    const found = await client.query(
      'SELECT coalesce(max(version), 0) AS version FROM schema_migrations',
    )
    const present = Number(found.rows[0].version)
    if (present > files.length) {
      throw new MigrationError(
        `the database has schema version ${present}, this version of Arcus knows ${files.length}: start the newer version`,
      )
    }
    for (const [i, file] of files.entries()) {
      if (i >= present) await apply(client, i + 1, file)
    }
  } catch (error) {
    throw toStoreError(error)
  } finally {
    // This ends the session, and with it the lock.
    await client.end().catch(() => {})
  }
}

/** Returns the schema version that this version of Arcus knows. */
export function schemaVersion(): number {
  return migrationFiles().length
}

function migrationFiles(): string[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}-[a-z-]+\.sql$/.test(file))
    .sort()
}

async function apply(client: pg.Client, version: number, file: string): Promise<void> {
  const sql = readFileSync(new URL(file, folder), 'utf8')
  await client.query('BEGIN')
  try {
    await client.query(sql)
    await client.query('INSERT INTO schema_migrations (version, file) VALUES ($1, $2)', [
      version,
      file,
    ])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    const reason = error instanceof Error ? error.message : String(error)
    throw new MigrationError(`migration ${file} could not be applied: ${reason}`, { cause: error })
  }
}
