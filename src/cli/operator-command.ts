import { hostname, userInfo } from 'node:os'
import type { ParseArgsConfig } from 'node:util'
import { ConfigError } from '../config/env.js'
import { type DatabaseUrl, parseDatabaseUrl } from '../config/setting-types.js'
import type { Snapshot } from '../store/copy/snapshot.js'
import { ArchiveError, CopyError, MigrationError, StoreUnavailableError } from '../store/errors.js'
import { type Arguments, loadEnvFile, print, runTool, UsageError } from './command-line.js'

/** A command that cannot be carried out, in one sentence with the reason and the remedy. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** Runs a command of the operator as `runTool` does, with the settings that the service reads, from `.env` too. */
export function runCommand<const Config extends ParseArgsConfig>(
  help: string,
  config: Config,
  run: (given: Arguments<Config>) => Promise<unknown>,
): Promise<number> {
  const runWithSettings = (given: Arguments<Config>) => {
    loadEnvFile()
    return run(given)
  }
  return runTool(help, config, runWithSettings, explain)
}

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

/** Returns one sentence for a problem that the operator can mend, and the whole error for a bug. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const written = [UsageError, CommandError, ConfigError, CopyError, ArchiveError]
  if (written.some((type) => error instanceof type)) return error.message
  const code = 'code' in error ? String(error.code) : ''
  if (
    error instanceof MigrationError ||
    error instanceof StoreUnavailableError ||
    code.startsWith('SQLITE_')
  ) {
    return `The database cannot be used: ${error.message}.`
  }
  if (/^E[A-Z]+$/.test(code)) return `${error.message}.`
  return error.stack ?? error.message
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
