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

/** Rows and numbers; `TRUNCATE` and `RESTART` would make each table, index and sequence a new file. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name IN SELECT tablename FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
  LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
  FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'
  LOOP PERFORM setval(format('%I', name)::regclass, 1, false); END LOOP;
END $$`

async function emptyAll(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(EMPTY)
  await client.end()
}

describeStore('PostgreSQL', openEngine)
describeListings('PostgreSQL', openEngine)
describeActivity('PostgreSQL', openEngine)
