import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RESTORED_KEY } from '../../../src/store/deliveries.js'
import { markRestored } from '../../../src/store/postgres/deliveries.js'
import { openPostgresStores } from '../../../src/store/postgres/stores.js'
import type { Stores } from '../../../src/store/stores.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import { describeActivity } from './activity-contract.js'
import { describeListings } from './listings-contract.js'
import { aJob, anOutcome, describeStore, type Engine, network, noon } from './store-contract.js'

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

it('refuses to change or remove an entry of the audit trail', async () => {
  const url = await server.createDatabase()
  const stores = await open(url)
  const entry = { at: 1, actor: 'alice@host', action: 'hide', subject: 'shop', details: '' }
  await stores.audit.append(entry)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of [
    "UPDATE audit SET actor = 'bob'",
    'DELETE FROM audit',
    'TRUNCATE audit',
  ]) {
    await expect(client.query(statement)).rejects.toThrow('the audit trail is append-only')
  }
  await client.end()
  expect(await stores.audit.list(9)).toEqual([entry])
  await stores.close()
  await server.dropDatabase(url)
})

describe('a restored database', () => {
  const lookUp = (stores: Stores, id: string) =>
    stores.journal.findJob('exact', network, aJob({ id }).key)

  it('is marked once nobody uses it: what was open or untold is never told again', async () => {
    const url = await server.createDatabase()
    const before = await open(url)
    for (const id of ['queued', 'untold', 'failed']) {
      await before.journal.claim(aJob({ id }), undefined, noon)
    }
    const outcomes = [
      { id: 'untold', round: 0, outcome: anOutcome() },
      { id: 'failed', round: 0, outcome: anOutcome({ state: 'failed', transaction: null }) },
    ]
    await before.journal.resolve({ outcomes, now: noon })
    await expect(markRestored(url, 'alice')).rejects.toThrow('stop every service first')
    await before.close()

    expect(await markRestored(url, 'alice')).toBe(3)

    const after = await open(url)
    expect(await after.audit.list(1)).toMatchObject([{ actor: 'alice', action: 'restore' }])
    expect(await after.deliveries.leaseDelivery('untold', 't1', 5_000)).toEqual({
      state: 'delivered',
      key: RESTORED_KEY,
    })
    expect((await lookUp(after, 'queued'))?.deliveredKey).toBe(RESTORED_KEY)
    // A failed payment that is settled anew begins afresh.
    const failed = await lookUp(after, 'failed')
    if (failed === undefined) throw new Error('the row is gone')
    const reopened = await after.journal.reopen(failed, aJob({ id: 'failed' }), noon)
    expect(reopened).toMatchObject({ state: 'queued', deliveredAt: null, deliveredKey: null })
    await after.close()
    await server.dropDatabase(url)
  })
})
