import type { Address, Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { laneLease } from '../../../src/store/leases.js'
import type { Attempt, Job, NewJob, Outcome } from '../../../src/store/settlement-journal.js'
import type { Stores } from '../../../src/store/stores.js'

/** An engine under test, empty. */
export interface Engine {
  stores: Stores
  /** Closes as the service does, and opens what is on disk anew. */
  reopen(): Promise<Stores>
  /** Gives stores that hold nothing. */
  empty(): Promise<Stores>
  /** Closes and removes everything. */
  close(): Promise<void>
}

export const network = 'eip155:5042'
const relayer: Address = '0x00000000000000000000000000000000000000f1'
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`
/** 2026-11-21T12:00:00Z */
export const noon = Date.UTC(2026, 10, 21, 12)

export function aJob(changes: Partial<NewJob> = {}): NewJob {
  const id = changes.id ?? 'job-1'
  return {
    id,
    kind: 'exact',
    network,
    key: `key of ${id}`,
    digest: hash(0xd1),
    to: '0x3600000000000000000000000000000000000000',
    calldata: '0xcf092995',
    details: '{"payer":"p"}',
    seenBlock: 41,
    expiresAt: 1_800_000_060,
    ...changes,
  }
}

export function anOutcome(changes: Partial<Outcome> = {}): Outcome {
  return {
    state: 'confirmed',
    transaction: hash(0xaa),
    reason: null,
    message: null,
    blockNumber: 42,
    gasCost: 123_456_789_012_345_678_901n,
    ...changes,
  }
}

function anAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    hash: hash(1),
    network,
    relayer,
    relayerNonce: 5,
    rawTransaction: '0x02f8',
    gasLimit: 200_000n,
    maxFeePerGas: 60_000_000_000n,
    maxPriorityFeePerGas: 1_000_000n,
    createdAt: noon,
    jobIds: [],
    ...changes,
  }
}

const failure = anOutcome({
  state: 'failed',
  transaction: null,
  reason: 'validBefore',
  message: 'Too late.',
  blockNumber: null,
  gasCost: null,
})

/** What every engine must do; each has its own file that calls this. */
export function describeStore(name: string, open: () => Promise<Engine>): void {
  describe(`the store on ${name}`, () => {
    let engine: Engine
    let stores: Stores
    let epoch: number
    beforeEach(async () => {
      engine = await open()
      stores = engine.stores
      const lane = laneLease(network, relayer)
      await stores.leases.beat()
      epoch = (await stores.leases.take([lane])).get(lane) as number
    })
    afterEach(() => engine.close())

    async function claim(changes: Partial<NewJob> = {}, key?: string): Promise<Job> {
      const claimed = await stores.journal.claim(aJob(changes), key, noon)
      if (claimed.state !== 'claimed') throw new Error(`the claim is ${claimed.state}`)
      return claimed.job
    }
    const recordAttempt = (attempt: Attempt) => stores.journal.recordAttempt(attempt, epoch)
    const find = ({ kind, network, key }: Pick<Job, 'kind' | 'network' | 'key'>) =>
      stores.journal.findJob(kind, network, key)
    const decide = (job: Job, outcome = anOutcome()) =>
      stores.journal.resolve({
        outcomes: [{ id: job.id, round: job.round, outcome }],
        now: noon + 1,
      })
    async function confirm(changes: Partial<NewJob> = {}): Promise<Job> {
      const job = await claim(changes)
      await decide(job)
      return job
    }
    async function fail(job: Job): Promise<Job> {
      await decide(job, failure)
      return (await find(job)) as Job
    }

    describe('claims', () => {
      it('make a queued row that holds what was given', async () => {
        const job = await claim()
        expect(job).toEqual({
          ...aJob(),
          round: 0,
          state: 'queued',
          transaction: null,
          reason: null,
          message: null,
          blockNumber: null,
          gasCost: null,
          createdAt: noon,
          updatedAt: noon,
          deliveryUntil: null,
          deliveredAt: null,
          deliveredKey: null,
        })
        expect(await find(job)).toEqual(job)
        expect(await stores.journal.findJob('other', network, job.key)).toBeUndefined()
        expect(await stores.journal.findJob('exact', 'eip155:1', job.key)).toBeUndefined()
      })

      it('are granted once for a key, to one of many at the same time', async () => {
        const claims = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            stores.journal.claim(aJob({ id: `job-${i}`, key: 'one key' }), undefined, noon),
          ),
        )
        const winners = claims.filter(({ state }) => state === 'claimed')
        expect(winners).toHaveLength(1)
        const holders = claims.map((claim) => 'job' in claim && claim.job.id)
        expect(new Set(holders).size).toBe(1)
      })

      it('of the same key in another kind or network are others', async () => {
        await claim({ id: 'a', key: 'k' })
        await claim({ id: 'b', key: 'k', kind: 'refund' })
        await claim({ id: 'c', key: 'k', network: 'eip155:5042002' })
      })

      it('bind their idempotency key, and refuse one that is bound, keeping nothing', async () => {
        await claim({ id: 'a' }, 'a-key-of-sixteen')
        expect(await stores.deliveries.findIdempotencyKey('a-key-of-sixteen')).toBe('a')
        const second = await stores.journal.claim(aJob({ id: 'b' }), 'a-key-of-sixteen', noon)
        expect(second).toEqual({ state: 'keyConflict' })
        expect(await find(aJob({ id: 'b' }))).toBeUndefined()
      })

      it('of a held payment name the holder before the idempotency key', async () => {
        const first = await claim({ id: 'a', key: 'k' }, 'a-key-of-sixteen')
        const second = await stores.journal.claim(
          aJob({ id: 'b', key: 'k' }),
          'a-key-of-sixteen',
          noon,
        )
        expect(second).toEqual({ state: 'held', job: first })
      })
    })

    describe('outcomes', () => {
      it('decide a job once, with the gas it took', async () => {
        const job = await claim()
        await decide(job)
        const decided = await find(job)
        expect(decided).toEqual({ ...job, ...anOutcome(), updatedAt: noon + 1 })
        await decide(job, failure)
        expect(await find(job)).toEqual(decided)
      })

      it('of another round are left alone', async () => {
        const job = await claim()
        await decide({ ...job, round: 1 })
        expect((await find(job))?.state).toBe('queued')
        const failed = await fail(job)
        const reopened = (await stores.journal.reopen(failed, aJob(), noon + 2)) as Job
        await decide(job)
        expect((await find(job))?.state).toBe('queued')
        await decide(reopened)
        expect((await find(job))?.state).toBe('confirmed')
      })

      it('book gas with them, by day, network and payer, beyond 64 bits', async () => {
        const job = await claim()
        const big = 2n ** 70n
        const spending = {
          network,
          total: big,
          burnt: [
            { payer: 'p', amount: 7n },
            { payer: 'q', amount: 0n },
          ],
        }
        const outcomes = [{ id: job.id, round: 0, outcome: anOutcome() }]
        const lateToday = Date.UTC(2026, 10, 21, 23, 59, 59, 999)
        await stores.journal.resolve({ outcomes, spending, now: noon })
        await stores.journal.resolve({ outcomes: [], spending, now: lateToday })
        await stores.journal.resolve({ outcomes: [], spending, now: lateToday + 1 })
        const { budgets } = stores
        expect(await budgets.spentOn(network, '2026-11-21')).toBe(2n * big)
        expect(await budgets.burntBy(network, '2026-11-21', 'p')).toBe(14n)
        expect(await budgets.burntBy(network, '2026-11-21', 'q')).toBe(0n)
        expect(await budgets.spentOn(network, '2026-11-22')).toBe(big)
        expect(await budgets.spentOn('eip155:5042002', '2026-11-21')).toBe(0n)
        expect(await budgets.spentOn(network, '2026-11-20')).toBe(0n)
      })
    })

    describe('a failed job', () => {
      it('is opened again by one of many, for the authorization of that one', async () => {
        const failed = await fail(await claim())
        const tries = await Promise.all(
          [1, 2, 3].map((n) =>
            stores.journal.reopen(failed, aJob({ digest: hash(n), seenBlock: n }), noon + 2),
          ),
        )
        const [winner, ...others] = tries.filter((job) => job !== undefined)
        expect(others).toEqual([])
        expect(winner).toMatchObject({
          id: 'job-1',
          round: 1,
          state: 'queued',
          transaction: null,
          reason: null,
          message: null,
          blockNumber: null,
          gasCost: null,
        })
        expect(await find(failed)).toEqual(winner)
      })

      it('is not opened while it is under way or when it is confirmed', async () => {
        const job = await claim()
        expect(await stores.journal.reopen(job, aJob(), noon)).toBeUndefined()
        await decide(job)
        expect(await stores.journal.reopen(job, aJob(), noon)).toBeUndefined()
      })

      it('keeps no gas of an earlier try when it is opened again', async () => {
        const job = await claim()
        await decide(job, { ...failure, gasCost: 5n, transaction: hash(9), blockNumber: 3 })
        const failed = (await find(job)) as Job
        expect((await stores.journal.reopen(failed, aJob(), noon))?.gasCost).toBeNull()
      })
    })

    describe('payments brought on chain by others', () => {
      it('are kept as confirmed, once', async () => {
        const outcome = anOutcome({ gasCost: null })
        const tries = await Promise.all(
          ['a', 'b', 'c'].map((id) =>
            stores.journal.recordFound(aJob({ id, key: 'k' }), undefined, outcome, noon),
          ),
        )
        const kept = tries.filter((job) => job !== undefined)
        expect(kept).toHaveLength(1)
        expect(kept[0]).toMatchObject({ ...outcome, state: 'confirmed' })
      })

      it('are kept over a failed row, not over one under way', async () => {
        const job = await claim()
        const record = (over: Job) =>
          stores.journal.recordFound(aJob({ id: 'other' }), over, anOutcome(), noon + 2)
        expect(await record(job)).toBeUndefined()
        const failed = await fail(job)
        expect(await record(failed)).toMatchObject({ id: 'job-1', round: 1, state: 'confirmed' })
        expect(await record(failed)).toBeUndefined()
      })
    })

    describe('attempts', () => {
      it('are kept with their jobs in order, and move these to submitted', async () => {
        const ids = ['c', 'a', 'b']
        for (const id of ids) await claim({ id })
        const attempt = anAttempt({ jobIds: ids, createdAt: noon + 5 })
        await recordAttempt(attempt)
        expect(await stores.journal.openAttempts(network, relayer)).toEqual([attempt])
        expect(await find(aJob({ id: 'a' }))).toMatchObject({
          state: 'submitted',
          transaction: attempt.hash,
          updatedAt: noon + 5,
        })
      })

      it('may be many in a slot, which the outcome closes as one', async () => {
        const job = await claim()
        const jobIds = [job.id]
        await recordAttempt(anAttempt({ hash: hash(3), relayerNonce: 6 }))
        await recordAttempt(anAttempt({ hash: hash(1), jobIds }))
        const replacement = anAttempt({ hash: hash(2), jobIds, createdAt: noon + 1 })
        await recordAttempt(replacement)
        const open = async () =>
          (await stores.journal.openAttempts(network, relayer)).map(({ hash }) => hash)
        expect(await open()).toEqual([hash(1), hash(2), hash(3)])
        expect((await find(job))?.transaction).toBe(hash(2))
        expect(await stores.journal.mayLand(network, job.id)).toBe(true)
        await stores.journal.resolve({
          slot: { network, relayer, relayerNonce: 5, epoch },
          outcomes: [{ id: job.id, round: 0, outcome: anOutcome({ transaction: hash(1) }) }],
          now: noon,
        })
        expect(await open()).toEqual([hash(3)])
        expect(await stores.journal.mayLand(network, job.id)).toBe(false)
        expect((await find(job))?.transaction).toBe(hash(1))
        expect(await stores.journal.openAttempts('eip155:5042002', relayer)).toEqual([])
      })

      it('never take a decided job back', async () => {
        const job = await confirm()
        await recordAttempt(anAttempt({ jobIds: [job.id] }))
        expect(await find(job)).toMatchObject({
          state: 'confirmed',
          transaction: anOutcome().transaction,
        })
      })

      it('are kept with all their jobs or not at all', async () => {
        const job = await claim()
        const attempt = anAttempt({ jobIds: [job.id, 'nobody'] })
        await expect(recordAttempt(attempt)).rejects.toThrow()
        expect(await stores.journal.openAttempts(network, relayer)).toEqual([])
        expect((await find(job))?.state).toBe('queued')
        expect(await stores.journal.findNextNonce(network, relayer)).toBeUndefined()
      })

      it('are kept once each, and opened again when the very same bytes go out again', async () => {
        const attempt = anAttempt()
        const { network, relayer, relayerNonce } = attempt
        await recordAttempt(attempt)
        await stores.journal.resolve({
          slot: { network, relayer, relayerNonce, epoch },
          outcomes: [],
          now: noon,
        })
        await recordAttempt(attempt)
        expect(await stores.journal.openAttempts(network, relayer)).toEqual([attempt])
      })
    })

    it('lists the open jobs of a network, oldest first', async () => {
      const claimAt = (id: string, at: number, on = network) =>
        stores.journal.claim(aJob({ id, network: on }), undefined, at)
      await claimAt('late', noon + 2)
      await claimAt('early', noon)
      await claimAt('elsewhere', noon, 'eip155:5042002')
      await confirm({ id: 'confirmed' })
      await fail(await claim({ id: 'failed' }))
      await recordAttempt(anAttempt({ jobIds: ['late'] }))
      const open = await stores.journal.openJobs(network)
      expect(open.map(({ id, state }) => [id, state])).toEqual([
        ['early', 'queued'],
        ['late', 'submitted'],
      ])
    })

    describe('the nonce of a relayer', () => {
      const next = () => stores.journal.findNextNonce(network, relayer)
      const set = (expected: number | undefined, value: number) =>
        stores.journal.setNextNonce(network, relayer, expected, value, epoch)

      it('is set once for the first time, then only by who knows it', async () => {
        expect(await next()).toBeUndefined()
        expect(await set(4, 5)).toBe(false)
        const first = await Promise.all([set(undefined, 7), set(undefined, 8)])
        expect(first.filter(Boolean)).toHaveLength(1)
        const kept = await next()
        expect(kept).toBe(first[0] ? 7 : 8)
        expect(await set(6, 9)).toBe(false)
        const second = await Promise.all([set(kept, 9), set(kept, 10)])
        expect(second.filter(Boolean)).toHaveLength(1)
        expect(await next()).toBe(second[0] ? 9 : 10)
        expect(await set(await next(), 3)).toBe(true)
        expect(await next()).toBe(3)
      })

      it('is raised by an attempt, never lowered', async () => {
        await recordAttempt(anAttempt({ relayerNonce: 5 }))
        expect(await next()).toBe(6)
        await recordAttempt(anAttempt({ hash: hash(2), relayerNonce: 3 }))
        expect(await next()).toBe(6)
      })

      it('is one for each network and relayer', async () => {
        await set(undefined, 7)
        expect(await stores.journal.findNextNonce('eip155:5042002', relayer)).toBeUndefined()
        const other: Address = '0x00000000000000000000000000000000000000f2'
        expect(await stores.journal.findNextNonce(network, other)).toBeUndefined()
      })
    })

    describe('deliveries', () => {
      const lease = (token: string, now: number, job = 'job-1') =>
        stores.deliveries.leaseDelivery(job, token, now, now + 5_000)

      it('are leased to one of many, until the lease lapses', async () => {
        await confirm()
        const leases = await Promise.all(['t1', 't2', 't3'].map((token) => lease(token, noon)))
        expect(leases.filter(({ state }) => state === 'granted')).toHaveLength(1)
        expect(leases.filter(({ state }) => state === 'leased')).toEqual(
          Array(2).fill({ state: 'leased', until: noon + 5_000 }),
        )
        expect((await lease('t4', noon + 4_999)).state).toBe('leased')
        expect((await lease('t5', noon + 5_000)).state).toBe('granted')
      })

      it('are not granted for a payment that is not confirmed', async () => {
        const job = await claim()
        expect((await lease('t1', noon)).state).not.toBe('granted')
        await fail(job)
        expect((await lease('t1', noon)).state).not.toBe('granted')
      })

      it('are over once completed, and remember the key they were given to', async () => {
        const job = await confirm()
        await lease('t1', noon)
        expect((await find(job))?.deliveryUntil).toBe(noon + 5_000)
        await stores.deliveries.completeDelivery(job.id, 't1', 'a-key', noon + 9)
        const delivered = { state: 'delivered', key: 'a-key' }
        expect(await lease('t2', noon + 10)).toEqual(delivered)
        expect(await lease('t2', noon + 1_000_000)).toEqual(delivered)
        expect(await find(job)).toMatchObject({
          deliveredAt: noon + 9,
          deliveredKey: 'a-key',
          deliveryUntil: null,
        })
      })

      it('are granted anew once released, and by nobody else than their holder', async () => {
        const job = await confirm()
        await lease('t1', noon)
        await stores.deliveries.releaseDelivery(job.id, 'other')
        expect((await lease('t2', noon + 1)).state).toBe('leased')
        await stores.deliveries.releaseDelivery(job.id, 't1')
        expect((await lease('t2', noon + 1)).state).toBe('granted')
      })

      it('are not completed by a holder whose lease went to another', async () => {
        const job = await confirm()
        await lease('t1', noon)
        await lease('t2', noon + 5_000)
        await stores.deliveries.completeDelivery(job.id, 't1', null, noon + 5_001)
        expect((await find(job))?.deliveredAt).toBeNull()
        await stores.deliveries.completeDelivery(job.id, 't2', null, noon + 5_002)
        expect(await lease('t3', noon + 5_003)).toEqual({ state: 'delivered', key: null })
      })
    })

    it('binds an idempotency key to one job, whoever asks at the same time', async () => {
      for (const id of ['a', 'b']) await claim({ id })
      expect(await stores.deliveries.findIdempotencyKey('the-key')).toBeUndefined()
      const bound = await Promise.all(
        ['a', 'b', 'a'].map((id) => stores.deliveries.bindIdempotencyKey('the-key', id, noon)),
      )
      expect(bound).toEqual(['a', 'a', 'a'])
      expect(await stores.deliveries.findIdempotencyKey('the-key')).toBe('a')
    })

    describe('sightings', () => {
      const sighting = { network, digest: hash(0xd1), blockNumber: 41, expiresAt: 1_000 }

      it('are found at once, the first of each authorization', async () => {
        stores.sightings.note(sighting)
        expect(await stores.sightings.findSighting(network, sighting.digest)).toEqual(sighting)
        stores.sightings.note({ ...sighting, blockNumber: 50, expiresAt: 2_000 })
        expect(await stores.sightings.findSighting(network, sighting.digest)).toEqual(sighting)
        expect(await stores.sightings.findSighting('eip155:1', sighting.digest)).toBeUndefined()
      })

      it('keep the first one over a restart as well', async () => {
        stores.sightings.note(sighting)
        stores = await engine.reopen()
        stores.sightings.note({ ...sighting, blockNumber: 50 })
        expect(await stores.sightings.findSighting(network, sighting.digest)).toEqual(sighting)
      })

      it('are forgotten after their end, not before', async () => {
        stores.sightings.note(sighting)
        stores = await engine.reopen()
        expect(await stores.sightings.forgetSightings(1_000)).toBe(0)
        expect(await stores.sightings.forgetSightings(1_001)).toBe(1)
        expect(await stores.sightings.findSighting(network, sighting.digest)).toBeUndefined()
      })

      it('are forgotten by the process that noted them, too', async () => {
        stores.sightings.note(sighting)
        await new Promise((resolve) => setTimeout(resolve, 300))
        expect(await stores.sightings.forgetSightings(1_001)).toBe(1)
        expect(await stores.sightings.findSighting(network, sighting.digest)).toBeUndefined()
      })
    })

    it('keeps the blocks of the operator by role', async () => {
      const { blocks } = stores
      const block = { role: 'payer', address: relayer, reason: 'fraud', createdAt: noon } as const
      await blocks.addBlock(block)
      await blocks.addBlock({ ...block, role: 'payTo', createdAt: noon + 1 })
      await blocks.addBlock({ ...block, reason: 'worse', createdAt: noon + 2 })
      expect(await blocks.listBlocks()).toEqual([
        { ...block, reason: 'worse' },
        { ...block, role: 'payTo', createdAt: noon + 1 },
      ])
      expect(await blocks.removeBlock('payer', relayer)).toBe(true)
      expect(await blocks.removeBlock('payer', relayer)).toBe(false)
      expect(await blocks.listBlocks()).toHaveLength(1)
    })

    it('changes a hosted record in one step, whoever else changes it', async () => {
      const add = (current = '0') => String(Number(current) + 1)
      const many = Array.from({ length: 20 }, () =>
        stores.hostedRecords.change('channel', 'a', add),
      )
      expect((await Promise.all(many)).sort()).toContain('20')
      await stores.hostedRecords.change('channel', 'b', () => '7')
      await stores.hostedRecords.change('refund', 'a', () => 'other kind')
      expect(await stores.hostedRecords.find('channel', 'a')).toBe('20')
      expect(await stores.hostedRecords.list('channel')).toEqual(['20', '7'])
      expect(await stores.hostedRecords.change('channel', 'a', (current) => current)).toBe('20')
      const failing = stores.hostedRecords.change('channel', 'b', () => {
        throw new Error('not so')
      })
      await expect(failing).rejects.toThrow('not so')
      stores = await engine.reopen()
      expect(await stores.hostedRecords.find('channel', 'b')).toBe('7')
      expect(await stores.hostedRecords.change('channel', 'a', () => undefined)).toBeUndefined()
      expect(await stores.hostedRecords.find('channel', 'a')).toBeUndefined()
      expect(await stores.hostedRecords.list('refund')).toEqual(['other kind'])
    })

    it('keeps everything when it is opened anew', async () => {
      const confirmed = await confirm({ id: 'confirmed' })
      await stores.deliveries.leaseDelivery('confirmed', 't1', noon, noon + 5_000)
      await stores.deliveries.completeDelivery('confirmed', 't1', 'a-key', noon)
      await claim({ id: 'queued' }, 'a-key-of-sixteen')
      await claim({ id: 'submitted' })
      const attempt = anAttempt({ jobIds: ['submitted'] })
      await recordAttempt(attempt)
      const spending = { network, total: 9n, burnt: [{ payer: 'p', amount: 4n }] }
      await stores.journal.resolve({ outcomes: [], spending, now: noon })
      await stores.blocks.addBlock({
        role: 'payer',
        address: relayer,
        reason: '',
        createdAt: noon,
      })
      const before = await Promise.all(
        ['confirmed', 'queued', 'submitted'].map((id) => find(aJob({ id }))),
      )

      stores = await engine.reopen()
      const after = await Promise.all(
        ['confirmed', 'queued', 'submitted'].map((id) => find(aJob({ id }))),
      )
      expect(after).toEqual(before)
      expect(after[0]).toMatchObject({ id: confirmed.id, deliveredKey: 'a-key' })
      expect(await stores.journal.openAttempts(network, relayer)).toEqual([attempt])
      expect(await stores.journal.findNextNonce(network, relayer)).toBe(6)
      expect(await stores.deliveries.findIdempotencyKey('a-key-of-sixteen')).toBe('queued')
      expect(await stores.budgets.spentOn(network, '2026-11-21')).toBe(9n)
      expect(await stores.budgets.burntBy(network, '2026-11-21', 'p')).toBe(4n)
      expect(await stores.blocks.listBlocks()).toHaveLength(1)
    })

    it('says that it can be written to', async () => {
      expect(await stores.journal.isWritable()).toBe(true)
      expect(await stores.journal.isWritable()).toBe(true)
    })
  })
}
