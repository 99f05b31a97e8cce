import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPostgresStores } from '../../../../src/app/stores/postgres.js'
import type { Stores } from '../../../../src/app/stores/stores.js'
import type { Attempt } from '../../../../src/facilitator/journal/settlement-journal.js'
import { JobsTakenError, LeaseLostError, laneLease } from '../../../../src/sql/leases.js'
import { openPool } from '../../../../src/sql/postgres/database.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'
import { aJob, anOutcome, network, noon } from './store-contract.js'

const relayer = '0x00000000000000000000000000000000000000f1'
const lane = laneLease(network, relayer)

let server: PostgresServer
let url: string
let one: Stores
let other: Stores

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())
beforeEach(async () => {
  url = await server.createDatabase()
  one = await openPostgresStores({ url, poolSize: 2 })
  other = await openPostgresStores({ url, poolSize: 2 })
  await one.leases.beat()
  await other.leases.beat()
})
afterEach(async () => {
  await one.close()
  await other.close()
})

const take = async (stores: Stores) => (await stores.leases.take([lane])).get(lane)

function attemptOf(jobIds: string[], relayerNonce = 0): Attempt {
  const hash = `0x${(relayerNonce + 1).toString(16).padStart(64, '0')}` as const
  return anAttempt({ hash, relayerNonce, jobIds })
}

/** Resolves when so many sessions wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  const watcher = openPool({ url, poolSize: 1 })
  const waiting = `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  while ((await watcher.query(waiting)).rowCount !== count) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await watcher.end()
}

const claim = (stores: Stores, id: string) => stores.journal.claim(aJob({ id }), undefined, noon)

describe('a budget of gas', () => {
  const aLaneEach = () =>
    Promise.all(
      [one, other].map(async (stores, i) => {
        const wallet = `0x00000000000000000000000000000000000000e${i}` as const
        const name = laneLease(network, wallet)
        return { stores, wallet, epoch: (await stores.leases.take([name])).get(name) as number }
      }),
    )

  it('shows those who waited for each other what the first one reserved', async () => {
    const lanes = await aLaneEach()
    const budget = { name: 'p', amount: 10n, limit: 15n }
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    await holder.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`${network}/p`])
    const signings = lanes.map(({ stores, wallet, epoch }, i) =>
      stores.journal.recordAttempt({ ...attemptOf([], i), relayer: wallet }, epoch, [budget]),
    )
    const kept = Promise.allSettled(signings)
    await untilWaiting(2)
    await holder.end()
    expect((await kept).filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('bears no more of several replicas together than of one', async () => {
    const lanes = await aLaneEach()
    const budgets = ['q', 'p'].map((name) => ({ name, amount: 10n, limit: 55n }))
    const signings = Array.from({ length: 20 }, (_, i) => {
      const { stores, wallet, epoch } = lanes[i % 2] as (typeof lanes)[number]
      const attempt = { ...attemptOf([], i), relayer: wallet }
      // In another order each time: whoever waits for whom, nobody waits for ever.
      const asked = i % 4 < 2 ? budgets : budgets.toReversed()
      return stores.journal.recordAttempt(attempt, epoch, asked)
    })
    const kept = (await Promise.allSettled(signings)).filter((it) => it.status === 'fulfilled')
    expect(kept).toHaveLength(5)
  })
})

describe('a lane', () => {
  it('is leased to one replica at a time, under a new epoch each time', async () => {
    expect(await take(one)).toBe(1)
    expect(await take(other)).toBeUndefined()
    await one.leases.release(lane)
    expect(await take(other)).toBe(2)
    expect((await one.leases.beat()).epochs.size).toBe(0)
    expect(await other.leases.beat()).toMatchObject({ replicas: 2 })
  })

  it('of a replica that stopped beating is taken over with its jobs, and is closed to it', async () => {
    const epoch = (await take(one)) as number
    await claim(one, 'under way')
    await one.journal.recordAttempt(attemptOf(['under way']), epoch)
    const deadline = Date.now() + 8_000
    let after: number | undefined
    while (after === undefined && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      after = await take(other)
    }
    expect(after).toBe(epoch + 1)
    const taken = await other.sharing.takeOfLane(network, relayer)
    expect(taken.map(({ id }) => id)).toEqual(['under way'])
    const late = one.journal.recordAttempt(attemptOf([], 1), epoch)
    await expect(late).rejects.toThrow(LeaseLostError)
    const slot = { network, relayer, relayerNonce: 0, epoch } as const
    await expect(one.journal.resolve({ slot, outcomes: [], now: noon })).rejects.toThrow(
      LeaseLostError,
    )
    await expect(one.journal.setNextNonce(network, relayer, 1, 5, epoch)).rejects.toThrow(
      LeaseLostError,
    )
    const outcomes = [{ id: 'under way', round: 0, outcome: anOutcome() }]
    expect(await one.journal.resolve({ outcomes, now: noon })).toEqual([])
    expect(await other.journal.resolve({ outcomes, now: noon })).toMatchObject([
      { id: 'under way' },
    ])
  })
})

describe('a transaction that stands still', () => {
  /** Holds the lease of the lane as a payment does, in a session like that of a replica. */
  async function standStill(url: string, alsoLock = 'SELECT 1') {
    const pool = openPool({ url, poolSize: 1 })
    const client = await pool.connect()
    client.on('error', () => {})
    await client.query('BEGIN')
    await client.query('SELECT 1 FROM leases WHERE name = $1 FOR KEY SHARE', [lane])
    await client.query(alsoLock)
    return { client, end: () => pool.end() }
  }

  it('keeps nobody from renewing a lease, and nobody waits who wants to take one', async () => {
    const epoch = (await take(one)) as number
    const { client, end } = await standStill(url)
    const startedAt = performance.now()
    for (let i = 0; i < 5; i++) expect((await one.leases.beat()).epochs.get(lane)).toBe(epoch)
    await one.leases.release(lane)
    // Its lock ends with the transaction, so that what it writes is seen by the next owner.
    expect(await take(other)).toBeUndefined()
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    await client.query('ROLLBACK')
    expect(await take(other)).toBe(epoch + 1)
    client.release()
    await end()
  })

  it('is ended by the server after three seconds, and who waited for it goes on', async () => {
    const epoch = (await take(one)) as number
    const lock = "INSERT INTO gas_spending VALUES ('n', 'd', 'p', 1)"
    const { client, end } = await standStill(url, lock)
    const waiter = openPool({ url, poolSize: 1 })
    await waiter.query(`${lock} ON CONFLICT DO NOTHING`)
    await expect(client.query('COMMIT')).rejects.toThrow()
    await one.leases.release(lane)
    expect(await take(other)).toBe(epoch + 1)
    client.release(true)
    await end()
    await waiter.end()
  })
})

describe('a beat', () => {
  it('tells which leases others hold, and how far this clock is ahead of the database', async () => {
    await take(one)
    const { elsewhere, clockAhead } = await other.leases.beat()
    expect([...elsewhere]).toEqual([lane])
    expect(clockAhead.least).toBeLessThanOrEqual(0)
    expect(clockAhead.most).toBeGreaterThanOrEqual(0)
    expect([...(await one.leases.beat()).elsewhere]).toEqual([])
  })
})

it('closes a slot with a transaction that was kept while the outcome waited for its turn', async () => {
  const epoch = (await take(one)) as number
  await claim(one, 'job')
  await one.journal.recordAttempt(attemptOf(['job']), epoch)
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM leases FOR UPDATE')
  const hash = `0x${'2'.repeat(64)}` as const
  const budget = { name: 'p', amount: 10n, limit: 15n }
  const replaced = one.journal.recordAttempt({ ...attemptOf(['job']), hash }, epoch, [budget])
  await untilWaiting(1)
  const slot = { network, relayer, relayerNonce: 0, epoch } as const
  const outcomes = [{ id: 'job', round: 0, outcome: anOutcome() }]
  const decided = one.journal.resolve({ slot, outcomes, now: noon })
  await untilWaiting(2)
  await holder.query('COMMIT')
  await holder.end()
  await Promise.all([replaced, decided])
  expect(await one.journal.openAttempts(network, relayer)).toEqual([])
  expect(await one.journal.mayLand(network, 'job')).toBe(false)
  // What was reserved for the transaction is free again.
  await one.journal.recordAttempt(attemptOf([], 1), epoch, [budget])
})

describe('a job', () => {
  it('is signed by the replica that works on it and by no other', async () => {
    await claim(one, 'mine')
    const epoch = (await take(other)) as number
    const theft = other.journal.recordAttempt(attemptOf(['mine']), epoch)
    await expect(theft).rejects.toThrow(JobsTakenError)
    expect(await other.journal.openAttempts(network, relayer)).toEqual([])
  })

  it('that is offered goes to one of those who ask', async () => {
    for (const id of ['a', 'b', 'c']) await claim(one, id)
    await one.sharing.offer(['a', 'b', 'c'])
    const both = await Promise.all([
      one.sharing.takeOffered(network, 2),
      other.sharing.takeOffered(network, 2),
    ])
    const ids = both.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(1)
  })

  it('that is offered waits for no other payer’s crowd', async () => {
    const crowd = Array.from({ length: 5 }, (_, i) => `crowd-${i}`)
    const offered = [...crowd, 'honest']
    for (const [i, id] of offered.entries()) {
      const payer = id === 'honest' ? '0x0b' : '0x0a'
      await one.journal.claim(aJob({ id, key: `0xc0/${payer}/${i}` }), undefined, noon + i)
    }
    await one.sharing.offer(offered)
    const took = await other.sharing.takeOffered(network, 2)
    expect(took.map(({ id }) => id).sort()).toEqual(['crowd-0', 'honest'])
  })

  it('that is offered is left to those who may take it', async () => {
    for (const id of ['for-one', 'for-other']) await claim(one, id)
    await one.sharing.offer(['for-one', 'for-other'])
    const took = await other.sharing.takeOffered(network, 9, ({ id }) => id === 'for-other')
    expect(took.map(({ id }) => id)).toEqual(['for-other'])
    const left = await one.sharing.takeOffered(network, 9)
    expect(left.map(({ id }) => id)).toEqual(['for-one'])
  })

  it('taken back by who brought it can be signed by nobody any more', async () => {
    const claimed = await claim(one, 'offered')
    if (claimed.state !== 'claimed') throw new Error(claimed.state)
    await one.sharing.offer(['offered'])
    await other.sharing.takeOffered(network, 9)
    const outcome = anOutcome({ state: 'failed', transaction: null, reason: 'x', message: 'y' })
    const withdrawn = await one.sharing.withdraw(claimed.job, outcome, noon)
    expect(withdrawn).toMatchObject({ state: 'failed' })
    const epoch = (await take(other)) as number
    const late = other.journal.recordAttempt(attemptOf(['offered']), epoch)
    await expect(late).rejects.toThrow(JobsTakenError)
    expect(await one.sharing.decidedAmong(['offered'])).toEqual(['offered'])
  })

  it('once signed is not taken back', async () => {
    const claimed = await claim(one, 'signed')
    if (claimed.state !== 'claimed') throw new Error(claimed.state)
    await one.journal.recordAttempt(attemptOf(['signed']), (await take(one)) as number)
    const outcome = anOutcome({ state: 'failed' })
    expect(await other.sharing.withdraw(claimed.job, outcome, noon)).toBeUndefined()
  })

  it('of a replica that left is adopted, that of a living one is not', async () => {
    await claim(one, 'left behind')
    expect(await other.sharing.takeOrphans(network, [], 9)).toEqual([])
    await one.leases.leave()
    const orphans = await other.sharing.takeOrphans(network, [], 9)
    expect(orphans.map(({ id }) => id)).toEqual(['left behind'])
  })
})

it('knows sessions and nonces of every replica, each nonce once', async () => {
  const from = { caller: '192.0.2.1', block: '192.0.2.0/24' }
  // What is over is trimmed by the real clock.
  const expiresAt = Date.now() + 60_000
  const session = { address: relayer, expiresAt } as const
  await one.sessions.addSession('id', session, from)
  expect(await other.sessions.findSession('id')).toEqual(session)
  await one.sessions.addNonce('word', expiresAt, from)
  const taken = await Promise.all([one, other].map(({ sessions }) => sessions.takeNonce('word')))
  expect(taken.filter((it) => it !== undefined)).toEqual([expiresAt])
  await other.sessions.removeSession('id')
  expect(await one.sessions.findSession('id')).toBeUndefined()
})
