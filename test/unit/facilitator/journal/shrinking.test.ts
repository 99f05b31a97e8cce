import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Shrinker, startShrinking } from '../../../../src/facilitator/journal/shrinking.js'

const DAY_MS = 86_400_000
const start = Date.UTC(2026, 10, 21, 12)
let now: number
let asked: [table: string, before: number][]
let failures: number
let isKeeper: boolean
let step: Shrinker['step']
let shrinking: { stop(): Promise<void> }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  now = start
  asked = []
  failures = 0
  isKeeper = true
  step = async () => undefined
})
afterEach(async () => {
  await shrinking.stop()
  vi.useRealTimers()
})

function begin(): void {
  shrinking = startShrinking({
    shrinker: {
      step(table, before, after) {
        asked.push([table, before])
        return step(table, before, after)
      },
    },
    retentionDays: 2,
    mayRun: () => isKeeper,
    onFailure: () => failures++,
    now: () => now,
    log: { info() {}, error() {} },
  })
}

const nextMinute = async () => {
  await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(60_000)
}
const midnight = start - DAY_MS / 2
const ofDay = (day: number) => midnight + (day - 2) * DAY_MS

it('goes through both tables at its start, and again when a day is over', async () => {
  begin()
  const first = [
    ['jobs', ofDay(0)],
    ['attempts', ofDay(0)],
  ]
  await vi.waitFor(() => expect(asked).toEqual(first))
  for (let minute = 0; minute < 3; minute++) await nextMinute()
  expect(asked).toEqual(first)
  now += DAY_MS
  await nextMinute()
  await vi.waitFor(() =>
    expect(asked.slice(2)).toEqual([
      ['jobs', ofDay(1)],
      ['attempts', ofDay(1)],
    ]),
  )
})

it('reports each minute what fails, and goes on where it can', async () => {
  step = () => Promise.reject(new Error('the database is away'))
  begin()
  for (const expected of [1, 2, 3]) {
    await vi.waitFor(() => expect(failures).toBe(expected))
    await nextMinute()
  }
  await vi.waitFor(() => expect(failures).toBe(4))
  step = async () => undefined
  await nextMinute()
  await vi.waitFor(() => expect(asked.at(-1)?.[0]).toBe('attempts'))
  expect(failures).toBe(4)
})

it('leaves the work to the keeper, and begins when it is the keeper', async () => {
  isKeeper = false
  begin()
  for (let minute = 0; minute < 3; minute++) await nextMinute()
  expect(asked).toEqual([])
  isKeeper = true
  await nextMinute()
  await vi.waitFor(() => expect(asked.map(([table]) => table)).toEqual(['jobs', 'attempts']))
})

it('stops between two steps', async () => {
  let stopped: Promise<void> | undefined
  step = async () => {
    await Promise.resolve()
    stopped = shrinking.stop()
    return { last: { createdAt: 1, key: 'a' }, small: 1 }
  }
  begin()
  await vi.waitFor(() => expect(stopped).toBeDefined())
  await stopped
  expect(asked).toHaveLength(1)
})
