import { hostname, userInfo } from 'node:os'
import { type DatabaseUrl, parseDatabaseUrl } from '../app/config/setting-types.js'
import { print, UsageError } from './command-line.js'
import type { Snapshot } from './copy/snapshot.js'

/** Returns the name under which the audit trail keeps what a command does: `ARCUS_OPERATOR`, or user and machine. */
export function operatorName(): string {
  const { ARCUS_OPERATOR, SUDO_USER } = process.env
  return ARCUS_OPERATOR?.trim() || `${SUDO_USER || userName()}@${hostname()}`
}

/** Returns the name of the user; a container may run as a number that no name belongs to. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** The database of settings that name none. */
export const DEFAULT_DATABASE = 'sqlite:./data/arcus.db'

/** Returns the database that an option names, or else the settings. Throws a `UsageError`. */
export function readDatabase(option?: string, flag = 'DATABASE_URL'): DatabaseUrl {
  const set = process.env.DATABASE_URL?.trim() || DEFAULT_DATABASE
  const database = parseDatabaseUrl(option ?? set)
  if (typeof database !== 'string') return database
  throw new UsageError(`${option === undefined ? 'DATABASE_URL' : flag} ${database}.`)
}

/** Returns the one file of a backup, and the path of the SQLite database it is of. Throws a `UsageError`. */
export function readSnapshot([file, ...more]: string[], database: DatabaseUrl) {
  if (file === undefined || more.length > 0) throw new UsageError('Name one FILE; try --help.')
  if (database.kind === 'sqlite') return { file, path: database.path }
  throw new UsageError('DATABASE_URL names PostgreSQL, which has tools of its own; try --help.')
}

export function printSnapshot(
  done: string,
  { bytes, sha256, payments, merchants }: Snapshot,
): void {
  print(`${done}: ${payments} payments, ${merchants} merchants.`)
  print(`${bytes} bytes, sha256 ${sha256}`)
}
