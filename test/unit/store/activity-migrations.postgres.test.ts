import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { openPostgresStores } from '../../../src/store/postgres/stores.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import {
  type ActivityMigration,
  describeActivityMigrations,
  readMigration,
} from './activity-migrations-contract.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

async function onPostgres({ before, postgres }: ActivityMigration) {
  const url = await server.createDatabase()
  const stores = await openPostgresStores({ url, poolSize: 2 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(before)
  await client.query(readMigration('postgres', postgres))
  await client.end()
  const close = async () => {
    await stores.close()
    await server.dropDatabase(url)
  }
  return { activity: stores.activity, close }
}

describeActivityMigrations('PostgreSQL', onPostgres)
