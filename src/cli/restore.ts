import { restore } from '../store/copy/snapshot.js'
import { markRestored } from '../store/postgres/deliveries.js'
import { runSnapshot } from './snapshot-command.js'

const help = `npm run restore -- FILE [--to sqlite:PATH]
npm run restore -- [--to postgres://USER:PASSWORD@HOST:PORT/NAME]

With SQLite: checks a backup and puts it where the settings expect the database. Never writes over a database that is
there. With PostgreSQL: run it without FILE, once, after pg_restore and before the first start. Either way, payments that
had not been told as paid when the backup was made are never told as paid again: they may have been told since.

  --to             default DATABASE_URL, else sqlite:./data/arcus.db
  --help           this text

PostgreSQL has its own tools: pg_restore --dbname="$DATABASE_URL" FILE, into an empty database`

process.exitCode = await runSnapshot(process.argv.slice(2), {
  help,
  flag: 'to',
  work: (file, database) => restore(file, database),
  done: (file, database) => `Restored ${file} to ${database}`,
  async workOnPostgres(url) {
    const marked = await markRestored(url)
    return `Marked as restored: ${marked} payments that were under way will not be told as paid again.`
  },
})
