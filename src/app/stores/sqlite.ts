import { statSync } from 'node:fs'
import { createMemorySessions } from '../../directory/store/sessions.js'
import { createDirectoryStores } from '../../directory/store/stores.js'
import { createFacilitatorStores } from '../../facilitator/journal/sqlite/stores.js'
import { createSoleLeases } from '../../sql/leases.js'
import { startCheckpoints } from '../../sql/sqlite/checkpoints.js'
import { openDatabase, type SqliteDatabase } from '../../sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../sql/sqlite/group-commit.js'
import { createSql } from '../../sql/sqlite/sql.js'
import type { WriteTurns } from '../../sql/sqlite/write-turns.js'
import { createProcessStores, type Stores } from './stores.js'

/** The write-ahead log is missing until the first write. */
const quietly = { throwIfNoEntry: false } as const

/**
 * Opens stores over a file, or in memory (`:memory:`). `turns` is given where another thread of this process writes too.
 * Throws `MigrationError`.
 */
export function openSqliteStores(
  path: string,
  turns?: WriteTurns,
): Stores & { database: SqliteDatabase; commit: GroupCommit } {
  const database = openDatabase(path)
  const commit = createGroupCommit(database, { turns })
  const sql = createSql(database, commit)
  return {
    ...createFacilitatorStores(database, commit, sql),
    ...createDirectoryStores(sql, createMemorySessions()),
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
    startUpkeep: (onFault) => startCheckpoints({ database, commit, onFault }),
    async close() {
      await commit.close()
      database.close()
    },
  }
}
