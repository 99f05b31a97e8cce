import type { DatabaseInspection } from '../stores.js'
import { createBudgetStore } from './budgets.js'
import { type Database, openDatabase } from './database.js'
import { schemaVersion } from './migrations.js'

/** The facts that one query reads. */
interface Facts {
  isReadOnly: boolean
  hasSchema: boolean
  sizeBytes: number
}

/** Reads whether the server takes writes and which schema it has. Never rejects. */
export async function inspectPostgres(url: string): Promise<DatabaseInspection> {
  const wantedVersion = schemaVersion()
  const database = openDatabase({ url, poolSize: 1, patienceMs: 0 })
  const close = () => database.close()
  try {
    const { isReadOnly, hasSchema, sizeBytes } = await readFacts(database)
    const version = hasSchema ? await readVersion(database) : 0
    const found = { version, wantedVersion, sizeBytes, close }
    if (isReadOnly) return { ...found, state: 'unusable', problem: 'the server takes no writes' }
    if (!hasSchema) return { ...found, state: 'absent' }
    const isKnown = version === wantedVersion
    return {
      ...found,
      state: 'writable',
      ...(isKnown ? { budgets: createBudgetStore(database) } : {}),
    }
  } catch (error) {
    const problem = (error as Error).message
    return { state: 'unusable', version: 0, wantedVersion, problem, close }
  }
}

async function readFacts(database: Database): Promise<Facts> {
  const [facts] = await database.rows<Facts>(
    `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
       to_regclass('schema_migrations') IS NOT NULL AS "hasSchema",
       pg_database_size(current_database()) AS "sizeBytes"`,
  )
  return facts as Facts
}

async function readVersion(database: Database): Promise<number> {
  const [found] = await database.rows<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM schema_migrations',
  )
  return found?.version ?? 0
}
