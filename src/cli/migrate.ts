import { parseDatabaseUrl } from '../config/setting-types.js'
import { copyToPostgres } from '../store/copy/copy-to-postgres.js'
import { parseArguments, print, UsageError } from './command-line.js'
import { runCommand } from './operator-command.js'

const help = `npm run migrate -- [sqlite-to-postgres] --from sqlite:PATH --to postgres://USER:PASSWORD@HOST:PORT/NAME

Copies a SQLite database into an empty PostgreSQL, and compares rows and digest of every table before it keeps the copy.
The source may be in use. Writes to it after the start of the copy are not copied, so stop the service for the last copy.

  --from           default DATABASE_URL if it names SQLite, else sqlite:./data/arcus.db
  --to             default DATABASE_URL if it names PostgreSQL
  --help           this text`

/** Accepted spellings of the one direction. */
const directions = ['sqlite-to-postgres', 'sqlite→postgres', 'sqlite->postgres']

process.exitCode = await runCommand(async () => {
  const options = readOptions(process.argv.slice(2))
  if (options === 'help') print(help)
  else await copy(options.path, options.url)
})

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
    throw new UsageError(`The only direction is ${directions[0]}; try --help.`)
  }
  const set = process.env.DATABASE_URL?.trim() ?? ''
  const isPostgres = /^postgres(ql)?:/i.test(set)
  const from = values.from ?? (set === '' || isPostgres ? 'sqlite:./data/arcus.db' : set)
  const to = values.to ?? (isPostgres ? set : undefined)
  if (to === undefined) throw new UsageError('Name the target with --to postgres://…; try --help.')
  const [source, target] = [parseDatabase('--from', from), parseDatabase('--to', to)]
  if (source.kind !== 'sqlite') throw new UsageError('--from must name SQLite, as sqlite:PATH.')
  if (target.kind !== 'postgres') throw new UsageError('--to must name PostgreSQL.')
  return { path: source.path, url: target.url }
}

function parseDatabase(flag: string, text: string) {
  const database = parseDatabaseUrl(text)
  if (typeof database === 'string') throw new UsageError(`${flag} ${database}.`)
  return database
}

async function copy(path: string, url: string): Promise<void> {
  const { tables, hasChangedSince } = await copyToPostgres(path, url)
  for (const { name, count, sha256 } of tables) {
    print(`${name.padEnd(20)} ${String(count).padStart(9)} rows   sha256 ${sha256.slice(0, 16)}`)
  }
  print('\nCopied: rows and digest of every table are the same in both.')
  if (hasChangedSince) {
    print(
      'The source was written to meanwhile, and those writes are not in the copy. Stop the service and copy again into ' +
        'an empty database before you switch.',
    )
  }
}
