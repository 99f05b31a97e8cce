import { createBudgetStore } from '../../facilitator/journal/budgets.js'
import type { Half } from '../../sql/leases.js'
import { schemaVersion } from '../../sql/migration-files.js'
import { openDatabase, type PostgresDatabase } from '../../sql/postgres/database.js'
import { createSqlReader } from '../../sql/postgres/sql.js'
import type { DatabaseInspection } from './inspection.js'

/** The facts that one query reads. */
interface Facts {
  isReadOnly: boolean
  hasSchema: boolean
  sizeBytes: number
  version: string
  versionNumber: number
  isDurable: boolean
  maxConnections: number
  isEncrypted: boolean
  idleInTransactionMs: number
  statementMs: number
  now: number
}

/** Reads whether the server takes writes, which schema it has and how it is set. Never rejects. */
export async function inspectPostgres(url: string): Promise<DatabaseInspection> {
  const wantedVersion = schemaVersion('postgres')
  let close = async () => {}
  try {
    const database = openDatabase({ url, poolSize: 1, patienceMs: 0 })
    close = () => database.close()
    const { facts, clockAhead } = await readFacts(database)
    const { isReadOnly, hasSchema, sizeBytes } = facts
    const version = hasSchema ? await readVersion(database) : 0
    const live = hasSchema ? await countLive(database) : { facilitator: 0, directory: 0 }
    const server = { ...toServer(facts), live, isPooled: database.isPooled(), clockAhead }
    const found = { version, wantedVersion, sizeBytes, server, close }
    if (isReadOnly) return { ...found, state: 'unusable', problem: 'the server takes no writes' }
    if (!hasSchema) return { ...found, state: 'absent' }
    const isKnown = version === wantedVersion
    return {
      ...found,
      state: 'writable',
      ...(isKnown ? { budgets: createBudgetStore(createSqlReader(database)) } : {}),
    }
  } catch (error) {
    const problem = (error as Error).message
    return { state: 'unusable', version: 0, wantedVersion, problem, close }
  }
}

/** Reads in a transaction, because without transactions nothing else would work. */
async function readFacts(database: PostgresDatabase) {
  return database.inTransaction(async (sql) => {
    const askedAt = Date.now()
    const [row] = await sql.rows<Facts>(
      `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
         to_regclass('schema_migrations') IS NOT NULL AS "hasSchema",
         pg_database_size(current_database()) AS "sizeBytes",
         split_part(current_setting('server_version'), ' ', 1) AS version,
         current_setting('server_version_num')::int AS "versionNumber",
         current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on' AS "isDurable",
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           AS "maxConnections",
         coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted",
         (SELECT reset_val::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')
           AS "idleInTransactionMs",
         (SELECT reset_val::int FROM pg_settings WHERE name = 'statement_timeout') AS "statementMs",
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`,
    )
    const facts = row as Facts
    const clockAhead = { least: askedAt - facts.now, most: Date.now() + 1 - facts.now }
    return { facts, clockAhead }
  })
}

function toServer(facts: Facts) {
  const { version, isDurable, maxConnections, isEncrypted, idleInTransactionMs, statementMs } =
    facts
  const majorVersion = Math.floor(facts.versionNumber / 10_000)
  const timeouts = { idleInTransactionMs, statementMs }
  return { version, majorVersion, isDurable, maxConnections, isEncrypted, timeouts }
}

async function countLive(database: PostgresDatabase): Promise<Record<Half, number>> {
  const rows = await database.rows<{ half: Half; count: number }>(
    'SELECT half, count(*) AS count FROM replicas WHERE alive_until > clock_timestamp() GROUP BY half',
  )
  const count = (half: Half) => rows.find((row) => row.half === half)?.count ?? 0
  return { facilitator: count('facilitator'), directory: count('directory') }
}

async function readVersion(database: PostgresDatabase): Promise<number> {
  const [found] = await database.rows<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM schema_migrations',
  )
  return found?.version ?? 0
}
