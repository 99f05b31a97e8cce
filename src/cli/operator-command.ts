import { existsSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { ConfigError } from '../config/env.js'
import { parseDatabaseUrl } from '../config/setting-types.js'
import type { Snapshot } from '../store/copy/snapshot.js'
import { ArchiveError, CopyError, MigrationError, StoreUnavailableError } from '../store/errors.js'
import { parseArguments, print, printError, UsageError } from './command-line.js'

/** A command that cannot be carried out, in one sentence with the reason and the remedy. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/**
 * Runs a command of the operator with the settings that the service reads, from `.env` too. Resolves to the exit code: 0
 * when it is done, 1 when it cannot be done, 2 when it is not understood.
 */
export async function runCommand(run: () => Promise<void>): Promise<number> {
  try {
    // Variables that are already in the environment take precedence over the file.
    if (existsSync('.env')) process.loadEnvFile('.env')
    await run()
    return 0
  } catch (error) {
    printError(explain(error))
    return error instanceof UsageError ? 2 : 1
  }
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
function explain(error: unknown): string {
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

/** A command over one file and the SQLite database of the settings: backup or restore. */
export interface SnapshotCommand {
  help: string
  /** The option that names another database. */
  flag: 'from' | 'to'
  copy(file: string, database: string): Promise<Snapshot>
  done(file: string, database: string): string
  /** Runs without a file where the settings name PostgreSQL. Resolves to a sentence that says what was done. */
  onPostgres?(url: string): Promise<string>
}

export async function runSnapshot(args: string[], command: SnapshotCommand): Promise<void> {
  const options = readOptions(args, command)
  if (options === 'help') return print(command.help)
  if (typeof options === 'function') return print(await options())
  const { file, database } = options
  const { bytes, sha256, payments, merchants } = await command.copy(file, database)
  print(`${command.done(file, database)}: ${payments} payments, ${merchants} merchants.`)
  print(`${bytes} bytes, sha256 ${sha256}`)
}

function readOptions(args: string[], { flag, onPostgres }: SnapshotCommand) {
  const { values, positionals } = parseArguments({
    args,
    allowPositionals: true,
    options: { [flag]: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help === true) return 'help'
  const [file, ...more] = positionals
  const set = process.env.DATABASE_URL?.trim()
  const database = parseDatabaseUrl(String(values[flag] ?? (set || 'sqlite:./data/arcus.db')))
  if (typeof database === 'string') throw new UsageError(`The database ${database}.`)
  if (database.kind === 'postgres' && onPostgres !== undefined && file === undefined) {
    return () => onPostgres(database.url)
  }
  if (file === undefined || more.length > 0) throw new UsageError('Name one FILE; try --help.')
  if (database.kind !== 'sqlite') {
    throw new UsageError('DATABASE_URL names PostgreSQL, which has tools of its own; try --help.')
  }
  return { file, database: database.path }
}
