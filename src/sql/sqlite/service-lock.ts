import { readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { makeFolder } from './database.js'

/** Another service works on the same database; the message says which process. */
export class DatabaseInUseError extends Error {
  override readonly name = 'DatabaseInUseError'
}

/** A killed process takes a moment to end while the disk still writes for it. */
const PATIENCE_MS = 3_000
/** More links in a row than any system follows. */
const MAX_LINKS = 40

/**
 * Reserves a database file for one service: two would drop each other's delivery leases and have a budget each. The lock is
 * SQLite's own on an empty file next to the database. The system releases it when the process ends in any way; process ids
 * play no part. Commands that work on the database while the service runs do not take it. Returns a function that releases it.
 * Throws `DatabaseInUseError`.
 */
export function lockForService(path: string): () => void {
  if (path === ':memory:') return () => {}
  makeFolder(dirname(path))
  const file = followLinks(path)
  const lock = new Sqlite(`${file}-lock`, { timeout: PATIENCE_MS })
  // This file is for people only: it names the process that took the lock last.
  const holder = `${file}-lock-holder`
  try {
    lock.exec('BEGIN IMMEDIATE')
  } catch (error) {
    lock.close()
    if ((error as NodeJS.ErrnoException).code !== 'SQLITE_BUSY') throw error
    throw new DatabaseInUseError(`${readHolder(holder)} works on ${file}`, { cause: error })
  }
  const name = `process ${process.pid} on ${hostname()}, started ${new Date().toISOString()},`
  // On a full disk the name is missing, the lock is not.
  attempt(() => writeFileSync(holder, `${name}\n`))
  return () => void lock.close()
}

function readHolder(path: string): string {
  return attempt(() => readFileSync(path, 'utf8').trim().slice(0, 200)) || 'another process'
}

/** Returns the real path where the database is or will be: other paths to it must lead to the same lock. */
function followLinks(path: string, links = 0): string {
  const known = attempt(() => realpathSync.native(path))
  if (known !== undefined) return known
  const target = links < MAX_LINKS ? attempt(() => readlinkSync(path)) : undefined
  if (target !== undefined) return followLinks(resolve(dirname(path), target), links + 1)
  // If there is no such folder, SQLite reports it.
  const folder = attempt(() => realpathSync.native(dirname(path))) ?? resolve(dirname(path))
  return join(folder, basename(path))
}

function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
