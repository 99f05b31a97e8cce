import { defineCommand, print, UsageError } from './command-line.js'
import { copyToPostgres } from './copy/copy-to-postgres.js'
import { DEFAULT_DATABASE, readDatabase } from './operator-command.js'

const help = `arcus migrate --from sqlite:PATH --to postgres://USER:PASSWORD@HOST:PORT/NAME

Copies a SQLite database into an empty PostgreSQL, and compares rows and digest of every table before it keeps the copy.
The source may be in use. Writes to it after the start of the copy are not copied, so stop the service for the last copy.

  --from           default DATABASE_URL if it names SQLite, else sqlite:./data/arcus.db
  --to             default DATABASE_URL if it names PostgreSQL
  --help           this text`

const config = { options: { from: { type: 'string' }, to: { type: 'string' } } } as const

export const command = defineCommand(help, config, async ({ values }) => {
  const isPostgres = /^\s*postgres(ql)?:/i.test(process.env.DATABASE_URL ?? '')
  if (values.to === undefined && !isPostgres) {
    throw new UsageError('Name the target with --to postgres://…; try --help.')
  }
  const source = readDatabase(values.from ?? (isPostgres ? DEFAULT_DATABASE : undefined), '--from')
  const target = readDatabase(values.to, '--to')
  if (source.kind !== 'sqlite') throw new UsageError('--from must name SQLite, as sqlite:PATH.')
  if (target.kind !== 'postgres') throw new UsageError('--to must name PostgreSQL.')
  await copy(source.path, target.url)
})

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
