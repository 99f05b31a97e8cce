import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schemaVersion } from '../../../../src/sql/migration-files.js'
import { migrate } from '../../../../src/sql/postgres/migrate.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

it('a migration is not ended by the limits of time that its role has for payments', async () => {
  const url = await server.createDatabase({ isEmpty: true })
  const other = new pg.Client(url)
  await other.connect()
  const name = new URL(url).pathname.slice(1)
  for (const limit of ['statement_timeout', 'lock_timeout']) {
    await other.query(`ALTER DATABASE "${name}" SET ${limit} = '200ms'`)
  }
  await other.query('BEGIN')
  // Another replica that migrates.
  await other.query('SELECT pg_advisory_xact_lock(5042402)')
  const migrating = migrate(url)
  migrating.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  await other.query('COMMIT')
  await migrating
  const { rows } = await other.query('SELECT max(version)::int AS version FROM schema_migrations')
  expect(rows[0].version).toBe(schemaVersion('postgres'))
  await other.end()
})
