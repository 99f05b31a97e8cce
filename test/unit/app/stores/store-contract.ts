import type { Address, Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import {
  dayOf,
  type GasBudget,
  GasBudgetError,
} from '../../../../src/facilitator/journal/budgets.js'
import { RESTORED_KEY } from '../../../../src/facilitator/journal/deliveries.js'
import type {
  Attempt,
  Job,
  NewJob,
  Outcome,
} from '../../../../src/facilitator/journal/settlement-journal.js'
import { laneLease } from '../../../../src/sql/leases.js'
import { anAttempt } from '../../../support/an-attempt.js'

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
    resource: null,
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

const anEntry = (n: number) => ({
  at: noon + n,
  actor: 'alice@host',
  action: 'hide',
  subject: `merchant-${n}`,
  details: 'asks for more than it lists',
})

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

    describe('failed payments', () => {
      const start = { expiresAt: -1, id: '' }
      const unread = async (before: number, after = start) =>
        (await stores.failedJobs.unread(network, before, after, 2)).map(({ id }) => id)
      async function failedAt(id: string, expiresAt: number, key?: string): Promise<Job> {
        return fail(await claim({ id, key: `key ${id}`, expiresAt }, key))
      }

      it('are read after their end, in its order, until the chain said what became of them', async () => {
        const [a, b] = [await failedAt('a', 200), await failedAt('b', 100)]
        await failedAt('c', 300)
        await claim({ id: 'open', key: 'key open', expiresAt: 100 })
        expect(await unread(300)).toEqual(['b', 'a'])
        expect(await unread(301, { expiresAt: 100, id: 'b' })).toEqual(['a', 'c'])
        expect(await stores.failedJobs.unread('eip155:1', 301, start, 2)).toEqual([])
        await stores.failedJobs.note(a, { usedBlock: 7, transaction: hash(9) })
        await stores.failedJobs.note(b, { unusedBlock: 8 })
        await stores.failedJobs.note(b, { usedBlock: 9, transaction: null })
        expect(await find(a)).toMatchObject({ usedBlock: 7, unusedBlock: null })
        expect(await find(a)).toMatchObject({ state: 'failed', transaction: hash(9) })
        expect(await find(b)).toMatchObject({ usedBlock: null, unusedBlock: 8 })
        expect(await unread(301)).toEqual(['c'])
      })

      it('that were opened again are read anew', async () => {
        const failed = await failedAt('a', 100)
        const { id, kind, key, digest, to, calldata, details, seenBlock } = failed
        const job = { id, kind, network, key, digest, to, calldata, details, seenBlock }
        await stores.failedJobs.note(failed, { unusedBlock: 8 })
        const again = (await stores.journal.reopen(failed, { ...job, expiresAt: 100 }, noon)) as Job
        expect(again).toMatchObject({ state: 'queued', unusedBlock: null })
        await stores.failedJobs.note(failed, { unusedBlock: 8 })
        expect(await find(failed)).toMatchObject({ unusedBlock: null })
      })

      it('are forgotten with their keys once they are unused, if nothing was sent for them', async () => {
        const unused = await failedAt('unused', 100, 'a key of the caller')
        const unasked = await failedAt('unasked', 100)
        const used = await failedAt('used', 100)
        const late = await failedAt('late', 300)
        const sent = await claim({ id: 'sent', key: 'key sent', expiresAt: 100 })
        await recordAttempt(anAttempt({ jobIds: [sent.id] }))
        await fail(sent)
        for (const job of [unused, late, sent])
          await stores.failedJobs.note(job, { unusedBlock: 8 })
        await stores.failedJobs.note(used, { usedBlock: 8, transaction: null })
        expect(await stores.failedJobs.forget(200, 25)).toBe(1)
        expect(await stores.failedJobs.forget(200, 25)).toBe(0)
        expect(await find(unused)).toBeUndefined()
        for (const job of [unasked, used, late, sent]) expect(await find(job)).toBeDefined()
        expect(await stores.deliveries.findIdempotencyKey('a key of the caller')).toBeUndefined()
        expect((await claim({ id: 'new', key: 'key unused' })).id).toBe('new')
      })
    })

    describe('attestations', () => {
      const attestation = '{"signature":"0x01"}'

      it('are kept with the outcome they belong to, and returned as they were written', async () => {
        const job = await claim()
        await decide(job, anOutcome({ attestation }))
        expect(await find(job)).toMatchObject({ state: 'confirmed', attestation })
        await decide(job, anOutcome({ attestation: '{"signature":"0x02"}' }))
        stores = await engine.reopen()
        expect(await find(job)).toMatchObject({ attestation })
      })

      it('are kept with a payment that others brought on chain', async () => {
        const failed = await fail(await claim())
        const found = anOutcome({ attestation, transferLog: 7 })
        expect(await stores.journal.recordFound(aJob(), failed, found, noon)).toMatchObject({
          state: 'confirmed',
          attestation,
        })
        expect(await find(failed)).toMatchObject({ attestation })
      })

      it('are dropped when the transfer backs another payment', async () => {
        const outcome = anOutcome({ attestation, transferLog: 7 })
        await decide(await claim({ id: 'a' }), outcome)
        const second = await claim({ id: 'b' })
        await decide(second, outcome)
        expect(await find(second)).toMatchObject({ state: 'failed', attestation: null })
      })
    })

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
          unusedBlock: null,
          usedBlock: null,
          gasCost: null,
          createdAt: noon,
          updatedAt: noon,
          deliveryUntil: null,
          deliveredAt: null,
          deliveredKey: null,
          attestation: null,
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

      it('bind the key of their payment identifier beside it, and refuse one that is bound', async () => {
        const claimWith = (id: string, key: string | undefined, identifier: string) =>
          stores.journal.claim(aJob({ id }), key, noon, identifier)
        expect(await claimWith('a', 'a-key-of-sixteen', 'of payer 1')).toMatchObject({
          state: 'claimed',
        })
        expect(await stores.deliveries.findIdempotencyKey('a-key-of-sixteen')).toBe('a')
        expect(await stores.deliveries.findIdempotencyKey('of payer 1')).toBe('a')
        expect(await claimWith('b', 'another-key-of-it', 'of payer 1')).toEqual({
          state: 'keyConflict',
        })
        expect(await find(aJob({ id: 'b' }))).toBeUndefined()
        expect(await stores.deliveries.findIdempotencyKey('another-key-of-it')).toBeUndefined()
        const claims = await Promise.all(
          ['c', 'd', 'e'].map((id) => claimWith(id, undefined, 'of payer 2')),
        )
        expect(claims.map(({ state }) => state).sort()).toEqual([
          'claimed',
          'keyConflict',
          'keyConflict',
        ])
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

      it('let one transfer back one job, and fail a second job that names it', async () => {
        const transfer = anOutcome({ transferLog: 3 })
        const [first, second, third] = [
          await claim({ id: 'a' }),
          await claim({ id: 'b' }),
          await claim({ id: 'c' }),
        ]
        const outcomes = [first, second].map(({ id, round }) => ({ id, round, outcome: transfer }))
        const decided = await stores.journal.resolve({ outcomes, now: noon })
        expect(decided.map(({ id, outcome }) => [id, outcome.state, outcome.reason])).toEqual([
          ['a', 'confirmed', null],
          ['b', 'failed', 'transferEventMismatch'],
        ])
        const late = await stores.journal.resolve({
          outcomes: [{ id: third.id, round: 0, outcome: transfer }],
          now: noon,
        })
        expect(late).toMatchObject([{ id: 'c', outcome: { state: 'failed' } }])
        expect((await find(first))?.state).toBe('confirmed')
        expect(await find(third)).toMatchObject({
          state: 'failed',
          transaction: transfer.transaction,
        })
        const failed = (await find(second)) as Job
        const found = await stores.journal.recordFound(aJob({ id: 'b' }), failed, transfer, noon)
        expect(found).toMatchObject({ id: 'b', state: 'failed' })
        const apart = await stores.journal.recordFound(
          aJob({ id: 'd' }),
          undefined,
          anOutcome({ transferLog: 4 }),
          noon,
        )
        expect(apart?.state).toBe('confirmed')
      })

      it('book gas with them, by day, network and payer, beyond 64 bits', async () => {
        const job = await claim()
        const big = 2n ** 70n
        const sums = new Map([
          ['', big],
          ['0xp', 7n],
          ['spent:r', 1n],
        ])
        const gasCharge = { network, sums }
        const outcomes = [{ id: job.id, round: 0, outcome: anOutcome() }]
        const lateToday = Date.UTC(2026, 10, 21, 23, 59, 59, 999)
        await stores.journal.resolve({ outcomes, gasCharge, now: noon })
        await stores.journal.resolve({ outcomes: [], gasCharge, now: lateToday })
        await stores.journal.resolve({ outcomes: [], gasCharge, now: lateToday + 1 })
        const { budgets } = stores
        expect(await budgets.spentOn(network, '2026-11-21')).toBe(2n * big)
        expect(await budgets.burntBy(network, '2026-11-21', '0xp')).toBe(14n)
        expect(await budgets.burntBy(network, '2026-11-21', 'q')).toBe(0n)
        expect(await budgets.spentOn(network, '2026-11-22')).toBe(big)
        expect(await budgets.spentOn('eip155:5042002', '2026-11-21')).toBe(0n)
        expect(await budgets.spentOn(network, '2026-11-20')).toBe(0n)
        expect(await budgets.wastedOn(network, '2026-11-21')).toEqual(new Map([['0xp', 14n]]))
      })
    })

    it('keep who paid whom, and the first day of it', async () => {
      const pay = (payTo: string, payer: string, now = noon) =>
        stores.journal.resolve({
          outcomes: [],
          customers: { network, pairs: [{ payTo, payer }] },
          now,
        })
      const others = (day: string) => stores.customers.othersPaid(network, '0xa', day)
      await pay('0xa', '0x1')
      await pay('0xb', '0x1')
      await pay('0xb', '0x2')
      await pay('0xa', '0x1', noon + 86_400_000)
      await pay('0xa', '0x2', noon + 86_400_000)
      expect(await others('2026-11-21')).toEqual([])
      expect(await others('2026-11-22')).toEqual([{ payer: '0x1', other: '0xb' }])
      expect(await others('2026-11-23')).toHaveLength(2)
    })

    describe('what is past its use', () => {
      const day = (days: number) => dayOf(noon + days * 86_400_000)
      const at = (days: number) => noon + days * 86_400_000

      it('is deleted of the sums of gas, but for those of everybody and of the days since', async () => {
        const book = (days: number) =>
          stores.journal.resolve({
            outcomes: [],
            gasCharge: { network, sums: new Map(['', '0xp', 'spent:c'].map((it) => [it, 5n])) },
            now: at(days),
          })
        for (const days of [0, 1, 2]) await book(days)
        const { budgets, oldBooks } = stores
        const sumsOf = async (name: string) =>
          Promise.all([0, 1, 2].map((days) => budgets.burntBy(network, day(days), name)))
        expect(await oldBooks.forgetSums(network, day(2), 3)).toBe(3)
        expect(await oldBooks.forgetSums(network, day(2), 3)).toBe(1)
        expect(await oldBooks.forgetSums(network, day(2), 3)).toBe(0)
        expect(await oldBooks.forgetSums('eip155:5042002', day(9), 3)).toBe(0)
        expect(await sumsOf('')).toEqual([5n, 5n, 5n])
        expect(await sumsOf('0xp')).toEqual([0n, 0n, 5n])
        expect(await sumsOf('spent:c')).toEqual([0n, 0n, 5n])
      })

      it('is deleted of customers who never came again, and not of those who did', async () => {
        const pay = (payTo: string, payer: string, days: number) =>
          stores.journal.resolve({
            outcomes: [],
            customers: { network, pairs: [{ payTo, payer }] },
            now: at(days),
          })
        for (const payer of ['0x1', '0x2']) {
          await pay('0xa', payer, 0)
          await pay('0xb', payer, 0)
        }
        await pay('0xa', '0x1', 200)
        await pay('0xb', '0x1', 200)
        await pay('0xa', '0x1', 199)
        const { customers, oldBooks } = stores
        expect(await oldBooks.forgetCustomers(network, day(200), 1)).toBe(1)
        expect(await oldBooks.forgetCustomers(network, day(200), 9)).toBe(1)
        expect(await oldBooks.forgetCustomers(network, day(200), 9)).toBe(0)
        // Since the first day, as before.
        expect(await customers.othersPaid(network, '0xa', day(1))).toEqual([
          { payer: '0x1', other: '0xb' },
        ])
      })
    })

    describe('budgets of gas', () => {
      const budget = (changes: Partial<GasBudget> = {}): GasBudget => {
        return { name: 'p', amount: 10n, limit: 25n, ...changes }
      }
      let nonce = 10
      /** Signs a transaction of a slot of its own, or of this one. */
      const sign = async (budgets: GasBudget[], relayerNonce = ++nonce, now = noon) => {
        const attempt = anAttempt({
          hash: hash(relayerNonce * 1_000 + (now % 1_000)),
          relayerNonce,
        })
        await stores.journal.recordAttempt({ ...attempt, createdAt: now }, epoch, budgets)
        return { ...attempt, close: (burnt = 0n) => close(attempt, burnt) }
      }
      const close = ({ relayerNonce }: Attempt, burnt: bigint) =>
        stores.journal.resolve({
          slot: { network, relayer, relayerNonce, epoch },
          outcomes: [],
          gasCharge: { network, sums: new Map([['p', burnt]]) },
          now: noon,
        })
      const refusal = async (signing: Promise<unknown>) => {
        const error = await signing.then(
          () => undefined,
          (error) => error,
        )
        if (error === undefined) return 'kept'
        expect(error).toBeInstanceOf(GasBudgetError)
        return error.isSpent ? 'spent' : 'wait'
      }

      it('bear what is under way, until it closes', async () => {
        const first = await sign([budget()])
        await sign([budget()])
        expect(await refusal(sign([budget()]))).toBe('wait')
        expect(await refusal(sign([budget({ amount: 26n })]))).toBe('spent')
        expect(await refusal(sign([budget({ name: 'q' })]))).toBe('kept')
        expect(await stores.journal.openAttempts(network, relayer)).toHaveLength(3)
        await first.close()
        expect(await refusal(sign([budget()]))).toBe('kept')
      })

      it('bear a slot once, by the dearest of its transactions', async () => {
        const { relayerNonce } = await sign([budget()])
        expect(await refusal(sign([budget({ amount: 26n })], relayerNonce, noon + 1))).toBe('spent')
        await sign([budget({ amount: 15n })], relayerNonce, noon + 2)
        expect(await refusal(sign([budget({ amount: 11n })]))).toBe('wait')
        expect(await refusal(sign([budget({ amount: 10n })]))).toBe('kept')
      })

      it('keep nothing of a transaction that one of them does not bear', async () => {
        const signing = sign([budget({ name: 'q' }), budget({ amount: 26n })])
        expect(await refusal(signing)).toBe('spent')
        expect(await stores.journal.openAttempts(network, relayer)).toEqual([])
        expect(await refusal(sign([budget({ name: 'q', amount: 25n })]))).toBe('kept')
      })

      it('have room as long as the least of a transaction fits, and all of it counts afterwards', async () => {
        const more = budget({ amount: 100n, least: 1n })
        const first = await sign([more])
        expect(await refusal(sign([more]))).toBe('wait')
        await first.close(24n)
        await (await sign([more])).close(1n)
        expect(await refusal(sign([more]))).toBe('spent')
      })

      it('without a limit only count', async () => {
        const { limit: _, ...counting } = budget({ amount: 100n })
        expect(await refusal(sign([counting]))).toBe('kept')
        expect(await refusal(sign([counting]))).toBe('kept')
        expect(await refusal(sign([budget({ amount: 1n })]))).toBe('wait')
      })

      it('still bear what is under way after a restart, but not for ever', async () => {
        await sign([budget({ amount: 20n })])
        stores = await engine.reopen()
        const other: Address = '0x00000000000000000000000000000000000000f2'
        await stores.leases.beat()
        const [[, itsEpoch] = []] = await stores.leases.take([laneLease(network, other)])
        const attempt = anAttempt({ hash: hash(1), relayer: other })
        const signAt = (createdAt: number) =>
          stores.journal.recordAttempt({ ...attempt, createdAt }, itsEpoch as number, [budget()])
        expect(await refusal(signAt(noon))).toBe('wait')
        expect(await refusal(signAt(noon + 86_399_999))).toBe('wait')
        expect(await refusal(signAt(noon + 86_400_000))).toBe('kept')
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

    describe('the resource of a payment', () => {
      const resource = '{"resourceUrl":"https://api.example.com/tides"}'

      it('stays once the payment confirms', async () => {
        const job = await claim({ resource })
        expect((await find(job))?.resource).toBe(resource)
        await recordAttempt(anAttempt({ jobIds: [job.id] }))
        await decide(job)
        expect((await find(job))?.resource).toBe(resource)
      })

      it('goes when the payment fails, and comes back with the next try', async () => {
        const failed = await fail(await claim({ resource }))
        expect(failed.resource).toBeNull()
        const reopened = (await stores.journal.reopen(failed, aJob({ resource }), noon)) as Job
        expect(reopened.resource).toBe(resource)
        await decide(reopened)
        expect((await find(failed))?.resource).toBe(resource)
      })

      it('is that of the request which found the payment on chain', async () => {
        const { journal } = stores
        const outcome = anOutcome({ transferLog: 3 })
        const found = await journal.recordFound(aJob({ resource }), undefined, outcome, noon)
        expect(found?.resource).toBe(resource)
        // Its transfer backs the first, so that it fails.
        const second = aJob({ id: 'second', resource })
        const refused = await journal.recordFound(second, undefined, outcome, noon)
        expect(refused).toMatchObject({ state: 'failed', resource: null })
        const failed = await fail(await claim({ id: 'third', resource }))
        const next = anOutcome({ transferLog: 4 })
        const again = await journal.recordFound(aJob({ id: 'third', resource }), failed, next, noon)
        expect(again).toMatchObject({ state: 'confirmed', resource })
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

    describe('payments put back from the chain', () => {
      const rebuilt = (changes: Partial<NewJob> = {}, transferLog = 3) => ({
        job: aJob(changes),
        outcome: { ...anOutcome(), state: 'confirmed' as const, transferLog },
        minedAt: noon - 60_000,
      })

      it('are confirmed rows of the time of their block, which were answered', async () => {
        expect(await stores.rebuiltJobs.add([rebuilt()], noon)).toBe(1)
        const row = (await find(aJob())) as Job
        expect(row).toEqual({
          ...aJob(),
          ...anOutcome(),
          round: 0,
          unusedBlock: null,
          usedBlock: null,
          createdAt: noon - 60_000,
          updatedAt: noon - 60_000,
          deliveryUntil: null,
          deliveredAt: noon,
          deliveredKey: RESTORED_KEY,
          attestation: null,
        })
        expect(await stores.deliveries.leaseDelivery(row.id, 'token', 5_000)).toMatchObject({
          state: 'delivered',
          key: RESTORED_KEY,
        })
        expect(await stores.journal.findByTransaction(hash(0xaa))).toEqual([row])
        expect(await stores.journal.findJobById(row.id)).toEqual(row)
        expect(await stores.journal.findJobById('nobody')).toBeUndefined()
      })

      it('leave alone every row that is there, and a transfer that backs one', async () => {
        const open = await claim({ id: 'open' })
        const paid = await claim({ id: 'paid' })
        await decide(paid, anOutcome({ transferLog: 3 }))
        const before = await Promise.all([open, paid].map(find))
        const jobs = [
          rebuilt({ id: 'a', key: open.key }, 1),
          rebuilt({ id: 'b', key: paid.key }, 2),
          rebuilt({ id: 'c' }, 3),
          rebuilt({ id: 'd' }, 4),
        ]
        expect(await stores.rebuiltJobs.add(jobs, noon)).toBe(1)
        expect(await stores.rebuiltJobs.add(jobs, noon)).toBe(0)
        expect(await Promise.all([open, paid].map(find))).toEqual(before)
        expect(await find(aJob({ id: 'c' }))).toBeUndefined()
        expect(await find(aJob({ id: 'd' }))).toMatchObject({ state: 'confirmed' })
      })

      it('mend a failed row once, and only as it was read', async () => {
        const failed = await fail(await claim({ details: '{"payer":"p","caller":"c"}' }))
        const { mend } = stores.rebuiltJobs
        expect(await mend({ ...failed, round: 1 }, rebuilt(), noon)).toBe(false)
        const results = [mend(failed, rebuilt(), noon), mend(failed, rebuilt(), noon)]
        expect((await Promise.all(results)).sort()).toEqual([false, true])
        expect(await find(failed)).toMatchObject({
          ...anOutcome(),
          id: failed.id,
          round: 1,
          details: '{"payer":"p","caller":"c"}',
          deliveredAt: noon,
          deliveredKey: RESTORED_KEY,
        })
        // A late outcome of the round that failed decides nothing.
        expect(await decide(failed, failure)).toEqual([])
      })

      it('mend a failed row for the authorization that was used, not for a transfer of another row', async () => {
        const failed = await fail(await claim())
        const other = await claim({ id: 'other' })
        await decide(other, anOutcome({ transferLog: 3 }))
        const paid = rebuilt({ digest: hash(0xd2), details: '{"payer":"q"}', calldata: '0x02' }, 3)
        expect(await stores.rebuiltJobs.mend(failed, paid, noon)).toBe(false)
        expect(await find(failed)).toEqual(failed)
        paid.outcome.transferLog = 4
        expect(await stores.rebuiltJobs.mend(failed, paid, noon)).toBe(true)
        expect(await find(failed)).toMatchObject({
          digest: hash(0xd2),
          details: '{"payer":"q"}',
          calldata: '0x02',
        })
      })

      it('are not mended while they are under way or confirmed', async () => {
        const open = await claim()
        expect(await stores.rebuiltJobs.mend(open, rebuilt(), noon)).toBe(false)
        await decide(open)
        const row = (await find(open)) as Job
        expect(await stores.rebuiltJobs.mend(row, rebuilt(), noon)).toBe(false)
        expect(await find(open)).toEqual(row)
      })
    })

    describe('attempts', () => {
      it('are kept with their jobs in order, and move these to submitted', async () => {
        const ids = ['c', 'a', 'b']
        for (const id of ids) await claim({ id })
        const attempt = anAttempt({ jobIds: ids, createdAt: noon + 5 })
        await recordAttempt(attempt)
        expect(await stores.journal.openAttempts(network, relayer)).toEqual([attempt])
        expect(await stores.journal.signedAt(attempt.hash)).toBe(attempt.createdAt)
        expect(await stores.journal.signedAt(hash(0xee))).toBeUndefined()
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
          (await stores.journal.openAttempts(network, relayer)).map((it) => [it.hash, ...it.jobIds])
        expect(await open()).toEqual([[hash(1), job.id], [hash(2), job.id], [hash(3)]])
        expect((await find(job))?.transaction).toBe(hash(2))
        expect(await stores.journal.findSigned(network, job.id)).toBe(hash(2))
        expect(await stores.journal.mayLand(network, job.id)).toBe(true)
        await stores.journal.resolve({
          slot: { network, relayer, relayerNonce: 5, epoch },
          outcomes: [{ id: job.id, round: 0, outcome: anOutcome({ transaction: hash(1) }) }],
          now: noon,
        })
        expect(await open()).toEqual([[hash(3)]])
        expect(await stores.journal.mayLand(network, job.id)).toBe(false)
        expect((await find(job))?.transaction).toBe(hash(1))
        expect(await stores.journal.openAttempts('eip155:5042002', relayer)).toEqual([])
      })

      it('that no node took are not named by their jobs, and may land all the same', async () => {
        const job = await claim()
        const attempt = anAttempt({ jobIds: [job.id] })
        await recordAttempt(attempt)
        const { journal, sharing } = stores
        const name = (from: Hex | null, to: Hex | null, round = job.round) =>
          journal.nameTransaction({ id: job.id, round }, from, to, noon + 9)
        expect(await name(hash(8), null)).toBe(false)
        expect(await name(attempt.hash, null, job.round + 1)).toBe(false)
        expect(await name(attempt.hash, null)).toBe(true)
        const untaken = { state: 'queued', transaction: null, updatedAt: noon + 9 }
        expect(await find(job)).toMatchObject(untaken)
        expect(await journal.mayLand(network, job.id)).toBe(true)
        expect(await journal.findSigned(network, job.id)).toBe(attempt.hash)
        expect(await journal.findSigned(network, 'another')).toBeUndefined()
        expect(await journal.openAttempts(network, relayer)).toEqual([attempt])
        const withdrawal = anOutcome({ state: 'failed', transaction: null, blockNumber: null })
        expect(await sharing.withdraw(job, withdrawal, noon + 10)).toBeUndefined()
        expect(await find(job)).toMatchObject(untaken)
        expect(await name(null, attempt.hash)).toBe(true)
        expect(await find(job)).toMatchObject({ state: 'submitted', transaction: attempt.hash })
      })

      it('of others may be named with the reason why nobody knows what they did', async () => {
        const job = await claim()
        const { journal } = stores
        const [foreign, why] = [hash(8), 'No node traces it.']
        expect(await journal.nameTransaction(job, null, foreign, noon, why)).toBe(true)
        const named = { state: 'submitted', transaction: foreign, message: why }
        expect(await find(job)).toMatchObject(named)
        // It is not one of ours, and backs nothing yet.
        expect(await journal.findByTransaction(foreign)).toEqual([])
        expect(await journal.findSigned(network, job.id)).toBeUndefined()
        const attempt = anAttempt({ jobIds: [job.id] })
        await recordAttempt(attempt)
        expect(await find(job)).toMatchObject(named)
        expect(await journal.findSigned(network, job.id)).toBe(attempt.hash)
        await decide(job)
        expect(await find(job)).toMatchObject({ state: 'confirmed', message: null })
      })

      it('are not named anew by a job that is decided', async () => {
        const job = await confirm()
        const { transaction } = (await find(job)) as Job
        expect(await stores.journal.nameTransaction(job, transaction, null, noon)).toBe(false)
        expect(await find(job)).toMatchObject({ state: 'confirmed', transaction })
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
      const lease = (token: string, leaseMs = 5_000, job = 'job-1') =>
        stores.deliveries.leaseDelivery(job, token, leaseMs)
      const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

      it('are leased to one of many, until the lease lapses', async () => {
        await confirm()
        const leases = await Promise.all(['t1', 't2', 't3'].map((token) => lease(token, 500)))
        expect(leases.filter(({ state }) => state === 'granted')).toHaveLength(1)
        const others = leases.filter((it) => it.state === 'leased')
        expect(others).toHaveLength(2)
        for (const { leftMs } of others) {
          expect(leftMs).toBeGreaterThan(0)
          expect(leftMs).toBeLessThanOrEqual(500)
        }
        expect((await lease('t4')).state).toBe('leased')
        await pause(550)
        expect((await lease('t5')).state).toBe('granted')
      })

      it('are renewed by their own token', async () => {
        const job = await confirm()
        await lease('t1', 1_000)
        expect(await lease('t1', 60_000)).toEqual({ state: 'granted' })
        const until = (await find(job))?.deliveryUntil ?? 0
        expect(until - Date.now()).toBeGreaterThan(50_000)
        expect(until - Date.now()).toBeLessThan(61_000)
      })

      it('are not granted for a payment that is not confirmed', async () => {
        const job = await claim()
        expect((await lease('t1')).state).not.toBe('granted')
        await fail(job)
        expect((await lease('t1')).state).not.toBe('granted')
      })

      it('are over once completed, and remember the key they were given to', async () => {
        const job = await confirm()
        await lease('t1')
        await stores.deliveries.completeDelivery(job.id, 't1', 'a-key', noon + 9)
        const delivered = { state: 'delivered', key: 'a-key' }
        expect(await lease('t2')).toEqual(delivered)
        expect(await lease('t1')).toEqual(delivered)
        expect(await find(job)).toMatchObject({
          deliveredAt: noon + 9,
          deliveredKey: 'a-key',
          deliveryUntil: null,
        })
      })

      it('are granted anew once released, and by nobody else than their holder', async () => {
        const job = await confirm()
        await lease('t1')
        await stores.deliveries.releaseDelivery(job.id, 'other')
        expect((await lease('t2')).state).toBe('leased')
        await stores.deliveries.releaseDelivery(job.id, 't1')
        expect((await lease('t2')).state).toBe('granted')
      })

      it('are free at once where the only process starts anew, but for those that were completed', async () => {
        const [job, done] = [await confirm(), await confirm({ id: 'job-2' })]
        await lease('t1', 60_000)
        await lease('t1', 60_000, done.id)
        await stores.deliveries.completeDelivery(done.id, 't1', null, noon)
        await stores.deliveries.dropLeases()
        expect((await find(job))?.deliveryUntil).toBeNull()
        expect((await lease('t2')).state).toBe('granted')
        expect((await lease('t2', 5_000, done.id)).state).toBe('delivered')
      })

      it('are not completed by a holder whose lease went to another', async () => {
        const job = await confirm()
        await lease('t1', 0)
        await pause(5)
        await lease('t2')
        await stores.deliveries.completeDelivery(job.id, 't1', null, noon + 5_001)
        expect((await find(job))?.deliveredAt).toBeNull()
        await stores.deliveries.completeDelivery(job.id, 't2', null, noon + 5_002)
        expect(await lease('t3')).toEqual({ state: 'delivered', key: null })
      })
    })

    it('binds an idempotency key to one job, whoever asks at the same time', async () => {
      for (const id of ['a', 'b']) await claim({ id })
      expect(await stores.deliveries.findIdempotencyKey('the-key')).toBeUndefined()
      const bound = await Promise.all(
        ['a', 'b', 'a'].map((id) => stores.deliveries.bindIdempotencyKey('the-key', id, noon)),
      )
      const [first] = bound
      expect(['a', 'b']).toContain(first)
      expect(bound).toEqual([first, first, first])
      expect(await stores.deliveries.findIdempotencyKey('the-key')).toBe(first)
    })

    it('keeps few idempotency keys of one job, and says of others what an unknown key is', async () => {
      for (const id of ['a', 'b']) await claim({ id })
      const bind = (key: string, id: string) => stores.deliveries.bindIdempotencyKey(key, id, noon)
      for (let i = 0; i < 20; i++) expect(await bind(`key-${i}`, 'a')).toBe('a')
      const found = await Promise.all(
        Array.from({ length: 20 }, (_, i) => stores.deliveries.findIdempotencyKey(`key-${i}`)),
      )
      expect(found.filter((job) => job === 'a')).toHaveLength(4)
      expect(found.slice(0, 4)).toEqual(['a', 'a', 'a', 'a'])
      expect(await bind('key-3', 'b')).toBe('a')
      expect(await bind('key-19', 'b')).toBe('b')
      expect(await bind('key-19', 'a')).toBe('b')
    })

    it('forgets old idempotency keys, a few at a time', async () => {
      for (const id of ['a', 'b']) await claim({ id })
      const { deliveries } = stores
      for (let i = 0; i < 4; i++) await deliveries.bindIdempotencyKey(`old-${i}`, 'a', noon + i)
      await deliveries.bindIdempotencyKey('young', 'b', noon + 100)
      expect(await deliveries.forgetIdempotencyKeys(noon + 50, 3)).toBe(3)
      expect(await deliveries.findIdempotencyKey('old-3')).toBe('a')
      expect(await deliveries.forgetIdempotencyKeys(noon + 50, 3)).toBe(1)
      expect(await deliveries.forgetIdempotencyKeys(noon + 50, 3)).toBe(0)
      expect(await deliveries.findIdempotencyKey('old-3')).toBeUndefined()
      expect(await deliveries.findIdempotencyKey('young')).toBe('b')
    })

    describe('what is given out to be signed', () => {
      const ends = Date.now() + 300_000
      const from = (i: number, block = 1) => ({
        caller: `10.0.${block}.${i}`,
        block: `10.0.${block}.0/24`,
      })

      it('is not used up by one caller, nor by one block', async () => {
        const { sessions } = stores
        await sessions.addNonce('honest', ends, from(1, 2))
        await sessions.addNonce('neighbour', ends, from(1))
        for (let i = 0; i < 30; i++) await sessions.addNonce(`one-${i}`, ends + i, from(2))
        expect(await sessions.takeNonce('one-29')).toBe(ends + 29)
        expect(await sessions.takeNonce('one-0')).toBeUndefined()
        expect(await sessions.takeNonce('neighbour')).toBe(ends)
        for (let i = 0; i < 150; i++) await sessions.addNonce(`many-${i}`, ends + i, from(3 + i))
        expect(await sessions.takeNonce('many-0')).toBeUndefined()
        expect(await sessions.takeNonce('many-149')).toBe(ends + 149)
        expect(await sessions.takeNonce('honest')).toBe(ends)
      })

      it('opens no more sessions than one address or one caller may have', async () => {
        const { sessions } = stores
        const open = (id: string, address: Address, i: number, caller: number, block = 1) =>
          sessions.addSession(id, { address, expiresAt: ends + i }, from(caller, block))
        await open('honest', relayer, 0, 1, 2)
        const one: Address = `0x${'1'.repeat(40)}`
        for (let i = 0; i < 30; i++) await open(`one-${i}`, one, i, i, 10 + i)
        expect(await sessions.findSession('one-0')).toBeUndefined()
        expect(await sessions.findSession('one-29')).toEqual({ address: one, expiresAt: ends + 29 })
        const fresh = (i: number): Address => `0x${i.toString(16).padStart(40, '0')}`
        for (let i = 0; i < 60; i++) await open(`fresh-${i}`, fresh(i), i, 2)
        expect(await sessions.findSession('fresh-0')).toBeUndefined()
        expect(await sessions.findSession('fresh-59')).toBeDefined()
        expect(await sessions.findSession('honest')).toBeDefined()
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

    it('says that it can be written to', async () => {
      expect(await stores.journal.isWritable()).toBe(true)
      expect(await stores.journal.isWritable()).toBe(true)
    })

    it('keeps decisions of operators in their order', async () => {
      for (const n of [1, 2, 3]) await stores.audit.append(anEntry(n))
      expect(await stores.audit.list(2)).toEqual([anEntry(2), anEntry(3)])
      const reopened = await engine.reopen()
      expect(await reopened.audit.list(9)).toEqual([anEntry(1), anEntry(2), anEntry(3)])
    })

    it('notes a change of the same kind once, whoever comes at the same moment', async () => {
      const rotation = { ...anEntry(1), action: 'rotate', subject: 'a, b' }
      const noted = await Promise.all([1, 2, 3].map(() => stores.audit.appendChange(rotation)))
      expect(noted.filter((it) => it)).toHaveLength(1)
      await stores.audit.append(anEntry(2))
      expect(await stores.audit.appendChange(rotation)).toBe(false)
      expect(await stores.audit.appendChange({ ...rotation, subject: 'b' })).toBe(true)
      expect(await stores.audit.appendChange(rotation)).toBe(true)
    })

    it('knows how large it is', async () => {
      expect(await stores.sizeBytes()).toBeGreaterThan(10_000)
    })
  })
}
