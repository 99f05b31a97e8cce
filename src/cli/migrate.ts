import { existsSync } from 'node:fs'
import { parseDatabaseUrl } from '../config/setting-types.js'
import { copyToPostgres } from '../store/copy/copy-to-postgres.js'
import { parseArguments, UsageError } from './arguments.js'
import { explainStore } from './explain-store.js'
import { print, printError } from './print.js'

const help = `npm run migrate -- [sqlite-to-postgres] --from sqlite:PATH --to postgres://USER:PASSWORD@HOST:PORT/NAME

Copies a SQLite database into an empty PostgreSQL, and checks rows and digest of every table before it is kept. The
source may be in use; what is written to it after the copy began is not in it, so stop the service for the last copy.

  --from           default DATABASE_URL if it names SQLite, else sqlite:./data/arcus.db
  --to             default DATABASE_URL if it names PostgreSQL
  --help           this text`

/** What the two engines may be written like. */
const directions = ['sqlite-to-postgres', 'sqlite→postgres', 'sqlite->postgres']

process.exitCode = await main(process.argv.slice(2))

/** 0 when done, 1 when it could not be done, 2 when it was not understood. */
async function main(args: string[]): Promise<number> {
  try {
    if (existsSync('.env')) process.loadEnvFile('.env')
    const options = readOptions(args)
    if (options === 'help') print(help)
    else await copy(options.path, options.url)
    return 0
  } catch (error) {
    printError(explainStore(error))
    return error instanceof UsageError ? 2 : 1
  }
}

function readOptions(args: string[]): 'help' | { path: string; url: string } {
  const { values, positionals } = parseArguments({
    args,
    allowPositionals: true,
    options: {
      from: { type: 'string' },
      to: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const [direction, ...more] = positionals
  if (more.length > 0 || (direction !== undefined && !directions.includes(direction))) {
    throw new UsageError(`The only way to go is ${directions[0]}; try --help.`)
  }
  const set = process.env.DATABASE_URL?.trim() ?? ''
  const isPostgres = /^postgres(ql)?:/i.test(set)
  const from = values.from ?? (set === '' || isPostgres ? 'sqlite:./data/arcus.db' : set)
  const to = values.to ?? (isPostgres ? set : undefined)
  if (to === undefined) throw new UsageError('Say where to with --to postgres://…; try --help.')
  const [source, target] = [parsePlace('--from', from), parsePlace('--to', to)]
  if (source.kind !== 'sqlite') throw new UsageError('--from must name SQLite, as sqlite:PATH.')
  if (target.kind !== 'postgres') throw new UsageError('--to must name PostgreSQL.')
  return { path: source.path, url: target.url }
}

function parsePlace(flag: string, text: string) {
  const place = parseDatabaseUrl(text)
  if (typeof place === 'string') throw new UsageError(`${flag} ${place}.`)
  return place
}

async function copy(path: string, url: string): Promise<void> {
  const { tables, hasChangedSince } = await copyToPostgres(path, url)
  for (const { name, count, sha256 } of tables) {
    print(`${name.padEnd(20)} ${String(count).padStart(9)} rows   sha256 ${sha256.slice(0, 16)}`)
  }
  print('\nCopied: rows and digest of every table are the same in both.')
  if (hasChangedSince) {
    print(
      'The source was written to meanwhile, and those writes are not in the copy: stop the service, and copy once more ' +
        'into an empty database before you switch.',
    )
  }
}
