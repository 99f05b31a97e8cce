import { randomUUID } from 'node:crypto'
import { createSessionStore } from '../../directory/store/postgres/sessions.js'
import { createDirectoryStores } from '../../directory/store/stores.js'
import { createFacilitatorStores } from '../../facilitator/journal/postgres/stores.js'
import type { Half } from '../../sql/leases.js'
import { openDatabase } from '../../sql/postgres/database.js'
import { createLeaseStore } from '../../sql/postgres/leases.js'
import { migrate } from '../../sql/postgres/migrate.js'
import { createRequestCountStore } from '../../sql/postgres/request-counts.js'
import { createSql } from '../../sql/postgres/sql.js'
import { createProcessStores, type Stores } from './stores.js'

interface PostgresOptions {
  url: string
  /** Number of connections, without the one that renews leases. */
  poolSize: number
  /** The half that opens it; the facilitator unless given. */
  half?: Half
  /** The longest wait of a call while the database cannot be reached, milliseconds; 4,000 by default. */
  patienceMs?: number
  /** Receives the errors of connections that broke while nobody used them. */
  onIdleError?: (error: unknown) => void
}

/** Opens stores over a database that other processes use too. Rejects with `MigrationError` or `StoreUnavailableError`. */
export async function openPostgresStores(options: PostgresOptions): Promise<Stores> {
  const { url, half = 'facilitator', onIdleError = () => {} } = options
  await migrate(url)
  const database = openDatabase({ ...options, onIdleError })
  const sql = createSql(database)
  // A new name at each start: this process takes over the jobs of its predecessor like those of any other process.
  const worker = randomUUID()
  const leases = createLeaseStore({ url, owner: worker, half, onIdleError })
  return {
    ...createFacilitatorStores(database, sql, worker),
    ...createDirectoryStores(sql, createSessionStore(database)),
    ...createProcessStores(sql),
    leases,
    requestCounts: createRequestCountStore(database),
    threadSource: url,
    async sizeBytes() {
      const text = 'SELECT pg_database_size(current_database())::float8 AS bytes'
      const [found] = await database.rows<{ bytes: number }>(text)
      return found?.bytes ?? 0
    },
    startUpkeep: () => ({ stop: async () => {} }),
    async close() {
      await leases.close()
      await database.close()
    },
  }
}
