import type { Address } from 'viem'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { TrackedJob } from '../../../src/relayer/jobs.js'
import { createJobQueue } from '../../../src/relayer/queue.js'

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
