import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { TrackedJob } from '../../../src/relayer/jobs.js'
import { createJobQueue } from '../../../src/relayer/queue.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const aJob = (isAlone = false) => ({ isAlone }) as TrackedJob

it('hands out no job that is in hand or rests, however often it is added', () => {
  const queue = createJobQueue()
  const entry = aJob()
  queue.add(entry)
  queue.add(entry)
  expect(queue.take(10)).toEqual([entry])
  queue.add(entry)
  expect([queue.take(10), queue.has(entry)]).toEqual([[], true])
  queue.putBack(entry, 200)
  queue.add(entry)
  expect([queue.take(10), queue.isInHand(entry)]).toEqual([[], false])
  vi.advanceTimersByTime(200)
  expect(queue.take(10)).toEqual([entry])
})

it('knows nothing of a job that was let go', () => {
  const queue = createJobQueue()
  const entry = aJob()
  queue.add(entry)
  queue.take(1)
  queue.letGo(entry)
  expect(queue.has(entry)).toBe(false)
  queue.add(entry)
  expect(queue.length()).toBe(1)
})

it('gives jobs that must be sent alone a transaction of their own', () => {
  const queue = createJobQueue()
  const [first, alone, last] = [aJob(), aJob(true), aJob()]
  for (const entry of [first, alone, last]) queue.add(entry)
  expect(queue.take(10)).toEqual([first, last])
  expect(queue.take(10)).toEqual([alone])
})
