import { defineCommand } from './command-line.js'
import { backUp } from './copy/snapshot.js'
import { printSnapshot, readDatabase, readSnapshot } from './operator-command.js'

const help = `arcus backup FILE [--from sqlite:PATH]

Copies the SQLite database of the settings into FILE while the service runs, as it is at one moment, and checks the copy.

  --from           default DATABASE_URL, else sqlite:./data/arcus.db
  --help           this text

PostgreSQL has its own tools: pg_dump --format=custom --file=FILE "$DATABASE_URL"`

const config = { allowPositionals: true, options: { from: { type: 'string' } } } as const

export const command = defineCommand(help, config, async ({ values, positionals }) => {
  const { file, path } = readSnapshot(positionals, readDatabase(values.from, '--from'))
  printSnapshot(`Backed up to ${file}`, await backUp(path, file))
})
