import { RESTORED_KEY } from '../facilitator/journal/deliveries.js'
import { CopyError } from '../sql/errors.js'
import { openDatabase } from '../sql/postgres/database.js'
import { clockMs } from '../sql/postgres/sql.js'
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
/**
 * Marks a restored database, as `arcus restore` does with a SQLite file: a payment that was not yet answered with success
 * when the backup was made may have been since. Resolves with the number of marked payments. Rejects with
 * `StoreUnavailableError`, and with `CopyError` while a service is connected.
 */
export async function markRestored(url: string, actor: string): Promise<number> {
  const database = openDatabase({ url, poolSize: 1 })
  try {
    const services = await database.rows(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'arcus'
         AND pid <> pg_backend_pid()`,
    )
    if (services.length > 0)
      throw new CopyError('The database is in use: stop every service first.')
    // A signed transaction may have landed since, even if no node had taken it by then.
    await database.run(
      `UPDATE jobs SET state = 'submitted', "transaction" = (
         SELECT max(hash) FROM attempt_jobs WHERE job_id = jobs.id)
       WHERE state = 'queued' AND id IN (SELECT job_id FROM attempt_jobs)`,
    )
    await database.run(
      `INSERT INTO audit (at, actor, action, subject, details)
       VALUES (${clockMs}, $1, 'restore', 'this database', '')`,
      [actor],
    )
    return await database.run(
      `UPDATE jobs SET delivered_at = ${clockMs}, delivered_key = $1 WHERE delivered_at IS NULL`,
      [RESTORED_KEY],
    )
  } finally {
    await database.close()
  }
}
