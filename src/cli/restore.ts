import { restore } from '../store/copy/snapshot.js'
import { runSnapshot } from './snapshot-command.js'

const help = `npm run restore -- FILE [--to sqlite:PATH]

Checks a backup and puts it where the settings expect the SQLite database. Never writes over a database that is there.

  --to             default DATABASE_URL, else sqlite:./data/arcus.db
  --help           this text

PostgreSQL has its own tools: pg_restore --dbname="$DATABASE_URL" FILE, into an empty database`

process.exitCode = await runSnapshot(process.argv.slice(2), {
  help,
  flag: 'to',
  work: (file, database) => restore(file, database),
  done: (file, database) => `Restored ${file} to ${database}`,
})
