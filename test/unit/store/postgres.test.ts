import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { openPostgresStores } from '../../../src/store/postgres/stores.js'
import type { Stores } from '../../../src/store/stores.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import { describeActivity } from './activity-contract.js'
import { describeListings } from './listings-contract.js'
import { describeStore, type Engine } from './store-contract.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

const open = (url: string): Promise<Stores> => openPostgresStores({ url, poolSize: 4 })

async function openEngine(): Promise<Engine> {
  const url = await server.createDatabase()
  let current = await open(url)
  return {
    stores: current,
    async reopen() {
      await current.close()
      current = await open(url)
      return current
    },
    async empty() {
      await emptyAll(url)
      return current
    },
    async close() {
      await current.close()
      await server.dropDatabase(url)
    },
  }
}

async function emptyAll(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT string_agg(quote_ident(tablename), ', ') AS tables FROM pg_tables
     WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`,
  )
  await client.query(`TRUNCATE ${rows[0].tables} RESTART IDENTITY CASCADE`)
  await client.end()
}

describeStore('PostgreSQL', openEngine)
describeListings('PostgreSQL', openEngine)
describeActivity('PostgreSQL', openEngine)
