import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPostgresStores } from '../../../../src/app/stores/postgres.js'
import type { Stores } from '../../../../src/app/stores/stores.js'
import { markRestored } from '../../../../src/cli/restore.js'
import { RESTORED_KEY } from '../../../../src/facilitator/journal/deliveries.js'
import { createFacilitatorStores } from '../../../../src/facilitator/journal/postgres/stores.js'
import { laneLease } from '../../../../src/sql/leases.js'
import { openDatabase } from '../../../../src/sql/postgres/database.js'
import { createSql } from '../../../../src/sql/postgres/sql.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'
import { describeActivity } from '../../directory/store/activity-contract.js'
import { describeChecks } from '../../directory/store/checks-contract.js'
import { describeEvents } from '../../directory/store/events-contract.js'
import { describeListings } from '../../directory/store/listings-contract.js'
import { describeUsage } from '../../directory/store/usage-contract.js'
import { describeShrinking } from '../../facilitator/journal/shrinking-contract.js'
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
describeEvents('PostgreSQL', openEngine)
describeChecks('PostgreSQL', openEngine)
describeUsage('PostgreSQL', openEngine)
describeActivity('PostgreSQL', openEngine)
describeShrinking('PostgreSQL', openEngine)

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

describe('payments written together', () => {
  let url: string
  let stores: Stores
  beforeEach(async () => {
    url = await server.createDatabase()
    stores = await open(url)
  })
  afterEach(async () => {
    await stores.close()
    await server.dropDatabase(url)
  })
  const ids = Array.from({ length: 30 }, (_, i) => `job-${i}`)
  const find = (id: string) => stores.journal.findJob('exact', network, aJob({ id }).key)

  it('are kept apart from one that the database refuses', async () => {
    const claims = await Promise.allSettled(
      // No whole number: PostgreSQL takes no such time.
      ids.map((id, i) =>
        stores.journal.claim(aJob({ id, ...(i === 7 && { expiresAt: 0.5 }) }), undefined, noon),
      ),
    )
    expect(claims.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(claims[7]?.status).toBe('rejected')
    const found = await Promise.all(ids.map(find))
    expect(found.map((job) => job?.id)).toEqual(ids.map((id, i) => (i === 7 ? undefined : id)))
  })

  it('bind an idempotency key to one of them, and keep nothing of the others', async () => {
    const claims = await Promise.all(
      ids.map((id) => stores.journal.claim(aJob({ id }), 'a-key-of-sixteen', noon)),
    )
    const claimed = ids.filter((_, i) => claims[i]?.state === 'claimed')
    expect(claimed).toHaveLength(1)
    expect(claims.filter(({ state }) => state === 'keyConflict')).toHaveLength(ids.length - 1)
    expect(await stores.deliveries.findIdempotencyKey('a-key-of-sixteen')).toBe(claimed[0])
    const found = await Promise.all(ids.map(find))
    expect(found.flatMap((job) => job?.id ?? [])).toEqual(claimed)
  })

  it('are told each once, whoever asks at the same time', async () => {
    await Promise.all(ids.map((id) => stores.journal.claim(aJob({ id }), undefined, noon)))
    const outcomes = ids.map((id) => ({ id, round: 0, outcome: anOutcome() }))
    await stores.journal.resolve({ outcomes, now: noon })
    const asked = [...ids, ...ids.toReversed()].map((id, i) => ({ id, token: `token-${i}` }))
    const leases = await Promise.all(
      asked.map(({ id, token }) => stores.deliveries.leaseDelivery(id, token, 60_000)),
    )
    const granted = asked.filter((_, i) => leases[i]?.state === 'granted')
    expect(granted.map(({ id }) => id).sort()).toEqual([...ids].sort())
    await Promise.all(
      granted.map(({ id, token }) =>
        stores.deliveries.completeDelivery(id, token, token, noon + 1),
      ),
    )
    const found = await Promise.all(granted.map(({ id }) => find(id)))
    expect(found.map((job) => job?.deliveredKey)).toEqual(granted.map(({ token }) => token))
  })

  it('leave no lock behind: each write is one statement', async () => {
    const database = openDatabase({ url, poolSize: 2 })
    const refuse = () => Promise.reject(new Error('a transaction waits for its process'))
    const once = { ...database.once, inTransaction: refuse }
    const apart = { ...database, once, inTransaction: refuse }
    const { journal, deliveries } = createFacilitatorStores(apart, createSql(apart), 'worker')
    const relayer = '0x00000000000000000000000000000000000000f1'
    await database.run(
      `INSERT INTO leases VALUES ($1, 'worker', 1, clock_timestamp() + interval '1 hour')`,
      [laneLease(network, relayer)],
    )
    await journal.claim(aJob(), 'a-key-of-sixteen', noon)
    const slot = { network, relayer, relayerNonce: 0, epoch: 1 } as const
    const attempt = anAttempt({ relayer, relayerNonce: 0, jobIds: ['job-1'] })
    const budget = { name: 'p', amount: 1n, limit: 9n }
    await journal.recordAttempt(attempt, 1, [budget])
    const gasCharge = { network, sums: new Map([['p', 1n]]) }
    const customers = { network, pairs: [{ payTo: 'r', payer: 'p' }] }
    const outcomes = [{ id: 'job-1', round: 0, outcome: anOutcome({ state: 'failed' }) }]
    await journal.resolve({ slot, outcomes, gasCharge, customers, now: noon })
    expect(await stores.budgets.burntBy(network, '2026-11-21', 'p')).toBe(1n)
    expect(await journal.setNextNonce(network, relayer, 1, 5, 1)).toBe(true)
    const failed = await find('job-1')
    expect(await journal.recordFound(aJob(), failed, anOutcome(), noon)).toBeDefined()
    const other = anOutcome({ transferLog: 9 })
    expect(await journal.recordFound(aJob({ id: 'job-2' }), undefined, other, noon)).toBeDefined()
    expect(await deliveries.leaseDelivery('job-2', 'token', 5_000)).toEqual({ state: 'granted' })
    await deliveries.completeDelivery('job-2', 'token', null, noon)
    expect(await journal.isWritable()).toBe(true)
    await database.close()
  })

  it('change in place: no index of theirs names a column that changes while they settle', async () => {
    const database = openDatabase({ url, poolSize: 1 })
    const named = await database.rows<{ column: string }>(
      `SELECT DISTINCT a.attname AS column FROM pg_index i
         JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
           AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
       WHERE i.indrelid = 'jobs'::regclass AND d.refobjsubid > 0`,
    )
    await database.close()
    // The worker changes where a payment goes to another process; the rest once, when the payment is decided or made small.
    const rare = [
      'worker',
      'is_open',
      'settled_in',
      'transfer_log',
      'calldata',
      'unread_from',
      'unused_from',
    ]
    const fixed = ['id', 'kind', 'network', 'key', 'created_at']
    const columns = named.map(({ column }) => column)
    expect(columns).toContain('network')
    expect(columns.filter((column) => ![...rare, ...fixed].includes(column))).toEqual([])
  })

  it('are charged to budgets that verify may know late, and settle knows at once', async () => {
    const day = '2026-11-21'
    const burnt = (maxAgeMs?: number) => stores.budgets.burntBy(network, day, 'p', maxAgeMs)
    expect(await burnt()).toBe(0n)
    const gasCharge = { network, sums: new Map([['p', 3n]]) }
    await stores.journal.resolve({ outcomes: [], gasCharge, now: noon })
    expect(await burnt(60_000)).toBe(0n)
    expect(await burnt()).toBe(3n)
    expect(await burnt(60_000)).toBe(3n)
  })
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
