import { beforeEach, expect, it } from 'vitest'
import { DAY_MS } from '../../../../src/async/time.js'
import { createShrinking, type Shrinker } from '../../../../src/facilitator/journal/shrinking.js'

const start = Date.UTC(2026, 10, 21, 12)
const midnight = start - DAY_MS / 2
const ofDay = (day: number) => midnight + (day - 2) * DAY_MS

let now: number
let asked: [table: string, before: number][]
let step: Shrinker['step']
let shrink: ReturnType<typeof createShrinking>

beforeEach(() => {
  now = start
  asked = []
  step = async () => undefined
  shrink = createShrinking({
    shrinker: {
      step(table, before, after) {
        asked.push([table, before])
        return step(table, before, after)
      },
    },
    retentionDays: 2,
    now: () => now,
    log: { info() {} },
  })
})

it('goes through both tables at its start, and again when a day is over', async () => {
  await shrink(() => true)
  const first = [
    ['jobs', ofDay(0)],
    ['attempts', ofDay(0)],
  ]
  expect(asked).toEqual(first)
  await shrink(() => true)
  expect(asked).toEqual(first)
  now += DAY_MS
  await shrink(() => true)
  expect(asked.slice(2)).toEqual([
    ['jobs', ofDay(1)],
    ['attempts', ofDay(1)],
  ])
})

it('begins the day again after a step that failed', async () => {
  step = () => Promise.reject(new Error('the database is away'))
  await expect(shrink(() => true)).rejects.toThrow('the database is away')
  step = async () => undefined
  await shrink(() => true)
  expect(asked.map(([table]) => table)).toEqual(['jobs', 'jobs', 'attempts'])
})

it('ends between two steps where it may not go on, and begins the day again', async () => {
  let mayGoOn = true
  step = async () => {
    mayGoOn = false
    return { last: { createdAt: 1, key: 'a' }, small: 1 }
  }
  await shrink(() => mayGoOn)
  expect(asked).toHaveLength(1)
  step = async () => undefined
  await shrink(() => true)
  expect(asked.map(([table]) => table)).toEqual(['jobs', 'jobs', 'attempts'])
})
