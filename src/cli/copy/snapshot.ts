import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { RESTORED_KEY } from '../../facilitator/journal/deliveries.js'
import { CopyError } from '../../sql/errors.js'
import { schemaVersion } from '../../sql/migration-files.js'
import { makeFolder } from '../../sql/sqlite/database.js'
import { DatabaseInUseError, lockForService } from '../../sql/sqlite/service-lock.js'

export interface Snapshot {
  bytes: number
  sha256: string
  payments: number
  merchants: number
}

const OWNER_ONLY = 0o600
/** Pages copied in one step: all of them, since the copy would begin anew after a write of a running service. */
const ALL_PAGES = 1_000_000_000

/**
 * Copies a SQLite database, in use or not, as it is at one moment, into a new file. The file appears only once it is
 * complete, checked and on disk. Rejects with `CopyError`.
 */
export async function backUp(path: string, target: string): Promise<Snapshot> {
  if (!existsSync(path)) throw new CopyError(`There is no database at ${path}.`)
  refuseExisting(target, 'a backup never writes over anything')
  makeFolder(dirname(target))
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  const database = new Sqlite(path, { readonly: true, fileMustExist: true })
  try {
    // The copy holds signatures, so only its owner may read it until the operator decides otherwise.
    closeSync(openSync(partial, 'w', OWNER_ONLY))
    await database.backup(partial, { progress: () => ALL_PAGES })
  } catch (error) {
    // On a full disk the rest of it would take the last space.
    removeDatabase(partial)
    throw error
  } finally {
    database.close()
  }
  return finish(partial, target)
}

/**
 * Puts a backup where a database was that is gone. A payment that was not yet answered with success when the backup
 * was made may have been since, so none of them is answered with success again. Rejects with `CopyError` where a database
 * exists, or when the file is not a complete database of Arcus. `actor` goes into the audit trail.
 */
export async function restore(backup: string, target: string, actor: string): Promise<Snapshot> {
  if (target === ':memory:') {
    throw new CopyError('sqlite::memory: ends with its process: name the file to restore to.')
  }
  if (!existsSync(backup)) throw new CopyError(`There is no backup at ${backup}.`)
  if (!statSync(backup).isFile()) throw new CopyError(`${backup} is not a file.`)
  if (existsSync(`${backup}-wal`)) {
    throw new CopyError(
      `${backup} is a database in use, or was cut off in use; back it up instead.`,
    )
  }
  for (const path of [target, `${target}-wal`, `${target}-journal`]) {
    refuseExisting(
      path,
      'stop the service and move the old database away first, with its -wal and -shm',
    )
  }
  // A service whose file was moved away still works on the moved file.
  const release = lockForRestore(target)
  try {
    const partial = `${target}.partial`
    copyFileSync(backup, partial)
    chmodSync(partial, OWNER_ONLY)
    return await finish(partial, target, (database) => {
      markAsDelivered(database)
      noteRestore(database, backup, actor)
    })
  } finally {
    release()
  }
}

function lockForRestore(target: string): () => void {
  try {
    return lockForService(target)
  } catch (error) {
    if (!(error instanceof DatabaseInUseError)) throw error
    throw new CopyError(`Stop the service first: ${error.message}.`, { cause: error })
  }
}

/** Marks every open payment as delivered. A payment that is signed anew later begins afresh. */
function markAsDelivered(database: Sqlite.Database): void {
  // A signed transaction may have landed since, even if no node had taken it by then.
  database.exec(
    `UPDATE jobs SET state = 'submitted', "transaction" = (
       SELECT max(hash) FROM attempt_jobs WHERE job_id = jobs.id)
     WHERE state = 'queued' AND id IN (SELECT job_id FROM attempt_jobs)`,
  )
  database
    .prepare('UPDATE jobs SET delivered_at = ?, delivered_key = ? WHERE delivered_at IS NULL')
    .run(Date.now(), RESTORED_KEY)
}

/** Notes the restore in the audit trail. */
function noteRestore(database: Sqlite.Database, backup: string, actor: string): void {
  database
    .prepare(
      "INSERT INTO audit (at, actor, action, subject, details) VALUES (?, ?, 'restore', ?, '')",
    )
    .run(Date.now(), actor, backup)
}

function refuseExisting(path: string, why: string): void {
  if (existsSync(path)) throw new CopyError(`${path} exists already: ${why}.`)
}

async function finish(
  partial: string,
  target: string,
  change: (database: Sqlite.Database) => void = () => {},
): Promise<Snapshot> {
  try {
    const counts = inspect(partial, change)
    syncFile(partial)
    const sha256 = await digestOf(partial)
    const { size: bytes } = statSync(partial)
    renameSync(partial, target)
    syncFile(dirname(target))
    return { bytes, sha256, ...counts }
  } catch (error) {
    removeDatabase(partial)
    throw error
  }
}

/** Removes a database with the files that SQLite keeps next to it. */
function removeDatabase(path: string): void {
  for (const rest of ['', '-wal', '-shm', '-journal']) rmSync(path + rest, { force: true })
}

/** Checks that the copy is complete, ours, and not of a newer version, and then changes it. */
function inspect(
  path: string,
  change: (database: Sqlite.Database) => void,
): Pick<Snapshot, 'payments' | 'merchants'> {
  let database: Sqlite.Database | undefined
  try {
    database = new Sqlite(path, { fileMustExist: true })
    // As one file, without a log next to it. The service turns the log on again.
    database.pragma('journal_mode = DELETE')
    const integrity = database.pragma('integrity_check', { simple: true })
    if (integrity !== 'ok') throw new CopyError(`The database is damaged: ${String(integrity)}.`)
    const version = Number(database.pragma('user_version', { simple: true }))
    if (version < 1) throw new CopyError('The file is not a database of Arcus.')
    const known = schemaVersion('sqlite')
    if (version > known) {
      throw new CopyError(
        `The file has schema version ${version}, this version of Arcus knows ${known}: use the newer version.`,
      )
    }
    change(database)
    const count = (table: string) =>
      database?.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number
    return { payments: count('jobs'), merchants: count('merchants') }
  } catch (error) {
    if (error instanceof CopyError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new CopyError(`The file is not a whole SQLite database: ${reason}.`, { cause: error })
  } finally {
    database?.close()
  }
}

function syncFile(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}
