import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import type { TrackedJobs } from '../../../../src/facilitator/relayer/jobs.js'
import { aRow } from '../../../support/a-row.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { aTracking } from './tracked.js'

const hash = `0x${'aa'.repeat(32)}` as const
const other = `0x${'bb'.repeat(32)}` as const
const asset = `0x${'36'.repeat(20)}` as const

const attemptOf = (...jobIds: string[]) => anAttempt({ hash, jobIds })

/** Returns what a promise holds by now; `undefined` while it is open. */
async function heard<Value>(promise: Promise<Value>): Promise<{ value: Value } | undefined> {
  let found: { value: Value } | undefined
  void promise.then((value) => {
    found = { value }
  })
  await nextTurn()
  return found
}

/** Returns what the payer has claimed, and is in no transaction yet. */
const claimed = ({ openClaims }: TrackedJobs) =>
  openClaims.besides({ asset, payer: 'a payer', kind: 'exact', key: 'another one' })

describe('a job that is tracked', () => {
  it('is the same one for its round and earlier ones, and a new one for a later round', () => {
    const { jobs } = aTracking()
    const entry = jobs.track(aRow({ round: 1 }))
    expect(jobs.track(aRow({ round: 1 }))).toBe(entry)
    expect(jobs.track(aRow({ round: 0 }))).toBe(entry)
    const later = jobs.track(aRow({ round: 2 }))
    expect(later).not.toBe(entry)
    expect(jobs.find('job-1')).toBe(later)
    expect([jobs.isOpen(entry), jobs.isOpen(later)]).toEqual([false, true])
  })

  it.each([
    [0, true],
    [1, true],
    [2, false],
  ])('in round 1 is worked on for round %s: %s', (round, isTracking) => {
    const { jobs } = aTracking()
    expect(jobs.isTracking({ id: 'job-1', round })).toBe(false)
    jobs.track(aRow({ round: 1 }))
    expect(jobs.isTracking({ id: 'job-1', round })).toBe(isTracking)
  })

  it('is open until a receipt shows it settled', () => {
    const { jobs, track } = aTracking()
    const entry = track('a')
    entry.isSettled = true
    expect(jobs.isOpen(entry)).toBe(false)
  })

  it('that names no kind that is known is refused', () => {
    expect(() => aTracking().jobs.track(aRow({ kind: 'another' }))).toThrow('no handler')
  })
})

describe('the open claims of a payer', () => {
  it.each([
    ['once a transaction is signed', { state: 'submitted', transaction: hash }],
    ['once it is decided', { state: 'failed' }],
    ['once its row names a transaction', { transaction: hash }],
  ] as const)('lose a job %s', (_, change) => {
    const { jobs, track } = aTracking()
    const entry = track('a')
    expect(claimed(jobs)).toBe(10n)
    jobs.update({ ...entry.job, ...change })
    expect(claimed(jobs)).toBe(0n)
  })

  it('count each round of a job once, and none that was signed or takes nothing', () => {
    const { jobs, track } = aTracking()
    track('a')
    track('a', {}, { round: 1 })
    track('b', { value: 5n })
    track('signed', {}, { transaction: hash })
    track('under way', {}, { state: 'submitted' })
    track('of no amount', { value: undefined })
    expect(claimed(jobs)).toBe(15n)
    jobs.abandon('b')
    expect(claimed(jobs)).toBe(10n)
    jobs.hold('a', [hash])
    expect(claimed(jobs)).toBe(0n)
  })
})

describe('a job that is abandoned', () => {
  it('is forgotten, and its callers hear that nobody here works on it', async () => {
    const { jobs, track } = aTracking()
    const entry = track('a')
    const waiting = jobs.until(entry.job, ({ state }) => state === 'confirmed')
    jobs.abandon('a')
    expect(await heard(waiting)).toEqual({ value: undefined })
    expect([jobs.find('a'), jobs.isOpen(entry)]).toEqual([undefined, false])
  })

  it.each([
    [0, true],
    [1, false],
    [2, false],
  ])('as of round %s is still worked on in round 1: %s', (round, isKept) => {
    const { jobs, track } = aTracking()
    const entry = track('a', {}, { round: 1 })
    jobs.abandon('a', round)
    expect(jobs.isOpen(entry)).toBe(isKept)
  })

  it('in an earlier round leaves those waiting that wait for a later one', async () => {
    const { jobs, track } = aTracking()
    const { job } = track('a', {}, { round: 1 })
    const waiting = jobs.until(job, ({ state }) => state === 'confirmed')
    jobs.abandon('a', 0)
    expect(await heard(waiting)).toBeUndefined()
  })
})

describe('the caller that waits for a row', () => {
  const isConfirmed = ({ state }: Job) => state === 'confirmed'

  it('hears at once what is so already', async () => {
    const { jobs, track } = aTracking()
    const { job } = track('a', {}, { state: 'submitted' })
    const found = await heard(jobs.until(job, ({ state }) => state === 'submitted'))
    expect(found).toEqual({ value: job })
  })

  it('hears of a change in its round or a later one, and of no other', async () => {
    const { jobs, track } = aTracking()
    const { job } = track('a', {}, { round: 1 })
    const waiting = jobs.until(job, isConfirmed)
    jobs.update({ ...job, round: 0, state: 'confirmed' })
    jobs.update({ ...job, state: 'submitted' })
    expect(await heard(waiting)).toBeUndefined()
    expect(jobs.find('a')?.job).toMatchObject({ round: 1, state: 'submitted' })
    const confirmed: Job = { ...job, round: 2, state: 'confirmed' }
    jobs.update(confirmed)
    expect(await heard(waiting)).toEqual({ value: confirmed })
    expect(jobs.find('a')).toBeUndefined()
  })

  it('of a later round is not told of what an earlier one has come to', async () => {
    const { jobs, track } = aTracking()
    const { job } = track('a', {}, { state: 'submitted' })
    const later = jobs.until({ id: 'a', round: 1 }, ({ state }) => state === 'submitted')
    jobs.update(job)
    expect(await heard(later)).toBeUndefined()
  })
})

describe('slots', () => {
  it('hold a job until the last one leaves it', () => {
    const { jobs, track } = aTracking()
    const entry = track('a')
    jobs.hold('a', [hash])
    jobs.hold('a', [other])
    jobs.hold('nobody', [other])
    expect([entry.liveSlots, [...entry.mayBeOut]]).toEqual([2, [hash, other]])
    expect(jobs.leave(['a', 'nobody'])).toEqual([entry])
    expect(entry.liveSlots).toBe(1)
    jobs.leave(['a'])
    jobs.leave(['a'])
    expect(entry.liveSlots).toBe(0)
  })

  it('name their transaction in the rows of their jobs', () => {
    const { jobs, track } = aTracking()
    const entry = track('a')
    entry.isRefusedByAll = true
    jobs.markSigned(attemptOf('a', 'nobody'))
    expect(entry.job).toMatchObject({ state: 'submitted', transaction: hash })
    expect([entry.isRefusedByAll, entry.mayBeOut.has(hash)]).toEqual([false, true])
  })

  it('leave that of others named that may have settled the job', () => {
    const { jobs, track } = aTracking()
    const entry = track('a', {}, { transaction: other, message: 'Somebody else may have.' })
    jobs.markSigned(attemptOf('a'))
    expect(entry.job).toMatchObject({ state: 'submitted', transaction: other })
    expect([...entry.mayBeOut]).toEqual([other, hash])
  })
})

it('adds up the gas of all jobs, by caller and recipient, every few milliseconds', () => {
  const { jobs, clock, track } = aTracking()
  track('a', { caller: 'x', payTo: 'p' })
  track('b', { caller: 'x', payTo: 'q', standing: 'known' })
  track('c', { caller: 'y', payTo: 'q', expectedGas: 7n })
  const first = jobs.expectedGas(100n)
  expect(first).toMatchObject({ all: 207n, newcomers: 107n })
  expect(Object.fromEntries(first.of)).toEqual({ x: 200n, y: 7n, p: 100n, q: 107n })
  track('d')
  clock.now += 19
  expect(jobs.expectedGas(100n)).toBe(first)
  clock.now += 1
  expect(jobs.expectedGas(100n).all).toBe(307n)
})

it('a payment whose payer had code is known as coded; another kind is not', () => {
  const { track } = aTracking()
  const runs = { isAlone: true, accountsThatRun: ['a payer'] }
  expect(track('a', runs).coded).toEqual(['a payer'])
  expect(track('b', { ...runs, isAlone: false }).coded).toEqual([])
  expect(track('c', { ...runs, gas: { least: 0n, most: 1n } }).coded).toEqual([])
})
