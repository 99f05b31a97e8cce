import { markRestored } from '../facilitator/journal/postgres/deliveries.js'
import { defineCommand, print } from './command-line.js'
import { restore } from './copy/snapshot.js'
import { operatorName, printSnapshot, readDatabase, readSnapshot } from './operator-command.js'

const help = `arcus restore FILE [--to sqlite:PATH]
arcus restore [--to postgres://USER:PASSWORD@HOST:PORT/NAME]

With SQLite: checks a backup and copies it to the place of the database. It never writes over an existing database. With
PostgreSQL: run it without FILE, once, after pg_restore and before the first start. Either way, payments whose success had
not been delivered when the backup was made are never answered as a success again: they may have been delivered since.

  --to             default DATABASE_URL, else sqlite:./data/arcus.db
  --help           this text

PostgreSQL has its own tools: pg_restore --dbname="$DATABASE_URL" FILE, into an empty database`

const config = { allowPositionals: true, options: { to: { type: 'string' } } } as const

export const command = defineCommand(help, config, async ({ values, positionals }) => {
  const database = readDatabase(values.to, '--to')
  if (database.kind === 'postgres' && positionals.length === 0) {
    const marked = await markRestored(database.url, operatorName())
    return print(
      `Marked as restored: ${marked} payments that were under way will not be answered as a success again.`,
    )
  }
  const { file, path } = readSnapshot(positionals, database)
  printSnapshot(`Restored ${file} to ${path}`, await restore(file, path, operatorName()))
})
