import { statSync } from 'node:fs'
import { createMemorySessions } from '../../directory/store/sessions.js'
import { createDirectoryStores } from '../../directory/store/stores.js'
import { createFacilitatorStores } from '../../facilitator/journal/sqlite/stores.js'
import { createSoleLeases } from '../../sql/leases.js'
import { startCheckpoints } from '../../sql/sqlite/checkpoints.js'
import { type Database, openDatabase } from '../../sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../sql/sqlite/group-commit.js'
import { createThreadedReader } from '../../sql/sqlite/reader.js'
import { createSql } from '../../sql/sqlite/sql.js'
import { createProcessStores, type Stores } from './stores.js'

/** The write-ahead log is missing until the first write. */
const quietly = { throwIfNoEntry: false } as const

/**
 * Opens stores over a file, or in memory (`:memory:`). `onFault` receives why the thread that reads ended. Throws
 * `MigrationError`.
 */
export function openSqliteStores(
  path: string,
  onFault?: (error: unknown) => void,
): Stores & { database: Database; commit: GroupCommit } {
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  const sql = createSql(database, commit)
  // A database in memory belongs to one connection.
  const reads = database.memory
    ? undefined
    : createThreadedReader(database.name, onFault && { onFault })
  return {
    ...createFacilitatorStores(database, commit, sql),
    ...createDirectoryStores(sql, createMemorySessions(), reads),
    ...createProcessStores(sql),
    database,
    commit,
    leases: createSoleLeases(),
    requestCounts: undefined,
    threadSource: database.memory ? undefined : database.name,
    async sizeBytes() {
      const pages = Number(database.pragma('page_count', { simple: true }))
      const log = database.memory ? undefined : statSync(`${database.name}-wal`, quietly)
      return pages * Number(database.pragma('page_size', { simple: true })) + (log?.size ?? 0)
    },
    startUpkeep: (onFault) => startCheckpoints({ database, commit, reads, onFault }),
    async close() {
      await reads?.stop()
      await commit.close()
      database.close()
    },
  }
}
