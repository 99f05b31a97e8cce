import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { TrackedJob } from '../../../src/facilitator/relayer/jobs.js'
import { createJobQueue } from '../../../src/facilitator/relayer/queue.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const aJob = (isAlone = false, through?: Address) => ({ isAlone, through }) as TrackedJob
const ten = () => 10

it('hands out no job that is in hand or rests, however often it is added', () => {
  const queue = createJobQueue()
  const entry = aJob()
  queue.add(entry)
  queue.add(entry)
  expect(queue.take(ten)).toEqual([entry])
  queue.add(entry)
  expect([queue.take(ten), queue.has(entry)]).toEqual([[], true])
  queue.putBack(entry, 200)
  queue.add(entry)
  expect([queue.take(ten), queue.isInHand(entry)]).toEqual([[], false])
  vi.advanceTimersByTime(200)
  expect(queue.take(ten)).toEqual([entry])
})

it('knows nothing of a job that was let go', () => {
  const queue = createJobQueue()
  const entry = aJob()
  queue.add(entry)
  queue.take(() => 1)
  queue.letGo(entry)
  expect(queue.has(entry)).toBe(false)
  queue.add(entry)
  expect(queue.length()).toBe(1)
})

it('gives jobs that must be sent alone a transaction of their own', () => {
  const queue = createJobQueue()
  const [first, alone, last] = [aJob(), aJob(true), aJob()]
  for (const entry of [first, alone, last]) queue.add(entry)
  expect(queue.take(ten)).toEqual([first, last])
  expect(queue.take(ten)).toEqual([alone])
  const [next, plain] = [aJob(true), aJob()]
  for (const entry of [next, plain]) queue.add(entry)
  expect(queue.take(ten)).toEqual([next])
  expect(queue.take(ten)).toEqual([plain])
})

it('lets jobs share a transaction with those that go through the same contract', () => {
  const queue = createJobQueue()
  const [plain, through] = [aJob(), aJob(false, '0x01')]
  const [alike, other] = [aJob(false, '0x01'), aJob(false, '0x02')]
  for (const entry of [through, plain, other, alike]) queue.add(entry)
  expect(queue.take(ten)).toEqual([through, alike])
  expect(queue.take(ten)).toEqual([plain])
  expect(queue.take(ten)).toEqual([other])
})

describe('payers', () => {
  const of = (payer: string, isSingle = false) =>
    ({ payer, isAlone: false, isSingle }) as TrackedJob
  const crowdOf = (payer: string, count: number, isSingle = false) =>
    Array.from({ length: count }, () => of(payer, isSingle))
  const payersOf = (entries: readonly TrackedJob[]) => entries.map(({ payer }) => payer).join('')

  it('take turns, in any order of arrival and however many jobs they have', () => {
    const queue = createJobQueue()
    for (const entry of [...crowdOf('a', 400, true), of('b', true), of('c', true)]) queue.add(entry)
    const taken = Array.from({ length: 5 }, () => queue.take(ten)).flat()
    expect(payersOf(taken)).toBe('abcaa')
    queue.add(of('b', true))
    expect(payersOf([...queue.take(ten), ...queue.take(ten)])).toBe('ab')
    expect(queue.length()).toBe(396)
  })

  it('share a transaction evenly when they do not all fit', () => {
    const queue = createJobQueue()
    for (const entry of [...crowdOf('a', 100), ...crowdOf('b', 3), of('c')]) queue.add(entry)
    expect(payersOf(queue.take(ten)).split('').sort().join('')).toBe('aaaaaabbbc')
    expect(payersOf(queue.take(ten))).toBe('aaaaaaaaaa')
  })

  it('that were left out of a full transaction come first in the next', () => {
    const queue = createJobQueue()
    for (const payer of 'abcdabcd') queue.add(of(payer))
    const two = () => 2
    expect([queue.take(two), queue.take(two), queue.take(two)].map(payersOf)).toEqual([
      'ab',
      'cd',
      'ab',
    ])
  })

  it('keep the order of their own jobs', () => {
    const queue = createJobQueue()
    const jobs = crowdOf('a', 3)
    for (const entry of jobs) queue.add(entry)
    expect(queue.take(() => 2)).toEqual(jobs.slice(0, 2))
    expect(queue.entries()).toEqual(jobs.slice(2))
  })

  it('wait where the caller says so, for each job beside those that are taken', () => {
    const queue = createJobQueue()
    for (const entry of [...crowdOf('a', 5), ...crowdOf('b', 2)]) queue.add(entry)
    const atMostTwo = (entry: TrackedJob, taken: readonly TrackedJob[]) =>
      taken.filter(({ payer }) => payer === entry.payer).length < 2
    expect(payersOf(queue.take(ten, atMostTwo))).toBe('abab')
    expect(queue.length()).toBe(3)
  })

  it('whose jobs may lead come before the others, which go when there is none', () => {
    const queue = createJobQueue()
    for (const entry of [of('a', true), of('b')]) queue.add(entry)
    const isShared = (entry: TrackedJob) => !entry.isSingle
    expect(payersOf(queue.take(ten, undefined, isShared))).toBe('b')
    expect(payersOf(queue.take(ten, undefined, isShared))).toBe('a')
  })

  it('are passed by when none of the first jobs of theirs may go', () => {
    const queue = createJobQueue()
    for (const entry of [...crowdOf('a', 2_000), of('b')]) queue.add(entry)
    let asked = 0
    const isOfB = ({ payer }: TrackedJob) => ++asked > 0 && payer === 'b'
    expect(payersOf(queue.take(ten, isOfB))).toBe('b')
    // A crowd of any size costs the same to pass by.
    expect(asked).toBeLessThan(1_000)
    expect(queue.entries()).toHaveLength(2_000)
  })
})
