import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { migrationsAfter } from '../migration-files.js'

export type SqliteDatabase = Sqlite.Database

/** The longest wait of a start or a read while another process holds the file. Writes wait in the group commit. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Opens the file in WAL mode and brings the schema up to date. Writes go through `createGroupCommit`, which waits for the
 * disk; a checkpoint waits for it by itself (`synchronous=NORMAL`). `:memory:` gives a database that ends with the process,
 * for tests.
 */
export function openDatabase(path: string): SqliteDatabase {
  if (path !== ':memory:') {
    makeFolder(dirname(path))
    makePrivate(path)
  }
  const database = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  database.pragma('foreign_keys = ON')
  database.pragma('temp_store = MEMORY')
  migrate(database)
  // A write, because the log must exist before the group commit opens it.
  database.pragma(`user_version = ${database.pragma('user_version', { simple: true })}`)
  return database
}

/** Makes the file, if there is none, for its owner alone: it holds signatures and sessions. The log next to it follows. */
function makePrivate(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    // SQLite explains what is wrong with the path.
  }
}

/** Makes folders one by one: where none can be made, as below `/proc`, Node's own recursion never ends. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path)
}

/** KiB of pages that a reader keeps: the inner pages of a million rows, so that finding a row reads the disk once. */
const READER_CACHE_KIB = 32 * 1024

/** Opens a second connection to a file that is in use, for a thread that only reads. */
export function openReader(path: string): SqliteDatabase {
  const database = new Sqlite(path, { readonly: true, timeout: BUSY_TIMEOUT_MS })
  database.pragma(`cache_size = -${READER_CACHE_KIB}`)
  return database
}

function migrate(database: SqliteDatabase): void {
  const present = Number(database.pragma('user_version', { simple: true }))
  for (const { version, sql } of migrationsAfter('sqlite', present)) {
    database.transaction(() => {
      database.exec(sql)
      database.pragma(`user_version = ${version}`)
    })()
  }
}
