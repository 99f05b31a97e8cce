import { backUp } from '../store/copy/snapshot.js'
import { runCommand, runSnapshot } from './operator-command.js'

const help = `npm run backup -- FILE [--from sqlite:PATH]

Copies the SQLite database of the settings into FILE while the service runs, as it is at one moment, and checks the copy.

  --from           default DATABASE_URL, else sqlite:./data/arcus.db
  --help           this text

PostgreSQL has its own tools: pg_dump --format=custom --file=FILE "$DATABASE_URL"`

process.exitCode = await runCommand(() =>
  runSnapshot(process.argv.slice(2), {
    help,
    flag: 'from',
    copy: (file, database) => backUp(database, file),
    done: (file) => `Backed up to ${file}`,
  }),
)
