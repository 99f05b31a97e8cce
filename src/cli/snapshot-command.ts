import { existsSync } from 'node:fs'
import { parseDatabaseUrl } from '../config/setting-types.js'
import type { Snapshot } from '../store/copy/snapshot.js'
import { parseArguments, UsageError } from './arguments.js'
import { explainStore } from './explain-store.js'
import { print, printError } from './print.js'

/** A command over one file and the SQLite database of the settings. */
export interface SnapshotCommand {
  help: string
  /** The option that names another database. */
  flag: 'from' | 'to'
  work(file: string, database: string): Promise<Snapshot>
  done(file: string, database: string): string
  /** What it does without a file where the settings name PostgreSQL; gives what it did, in words. */
  workOnPostgres?(url: string): Promise<string>
}

/** 0 when done, 1 when it could not be done, 2 when it was not understood. */
export async function runSnapshot(args: string[], command: SnapshotCommand): Promise<number> {
  try {
    if (existsSync('.env')) process.loadEnvFile('.env')
    const options = readOptions(args, command)
    if (options === 'help') {
      print(command.help)
      return 0
    }
    if (typeof options === 'function') {
      print(await options())
      return 0
    }
    const { file, database } = options
    const { bytes, sha256, payments, merchants } = await command.work(file, database)
    print(`${command.done(file, database)}: ${payments} payments, ${merchants} merchants.`)
    print(`${bytes} bytes, sha256 ${sha256}`)
    return 0
  } catch (error) {
    printError(explainStore(error))
    return error instanceof UsageError ? 2 : 1
  }
}

function readOptions(args: string[], { flag, workOnPostgres }: SnapshotCommand) {
  const { values, positionals } = parseArguments({
    args,
    allowPositionals: true,
    options: { [flag]: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help === true) return 'help'
  const [file, ...more] = positionals
  const set = process.env.DATABASE_URL?.trim()
  const place = parseDatabaseUrl(String(values[flag] ?? (set || 'sqlite:./data/arcus.db')))
  if (typeof place === 'string') throw new UsageError(`The database ${place}.`)
  if (place.kind === 'postgres' && workOnPostgres !== undefined && file === undefined) {
    return () => workOnPostgres(place.url)
  }
  if (file === undefined || more.length > 0) throw new UsageError('Name one FILE; try --help.')
  if (place.kind !== 'sqlite') {
    throw new UsageError('DATABASE_URL names PostgreSQL, which has tools of its own; try --help.')
  }
  return { file, database: place.path }
}
