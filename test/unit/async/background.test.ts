import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  type Background,
  createBackground,
  type MayGoOn,
  type TaskOptions,
} from '../../../src/async/background.js'

const EVERY_MS = 1_000
let isKeeper: boolean
let isDiskLow: boolean
let warnings: object[]
let background: Background

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  isKeeper = true
  isDiskLow = false
  warnings = []
  background = createBackground({
    isKeeper: () => isKeeper,
    isDiskLow: () => isDiskLow,
    log: { warn: (details) => warnings.push(details) },
  })
})
afterEach(async () => {
  await background.stop()
  vi.useRealTimers()
})

const pass = (times: number) => vi.advanceTimersByTimeAsync(times * EVERY_MS)

/** Starts one task, and returns how often it ran. */
function begin(options?: TaskOptions, run: (mayGoOn: MayGoOn) => unknown = () => {}) {
  let runs = 0
  background.every(
    'tidy up',
    EVERY_MS,
    async (mayGoOn) => {
      runs++
      return run(mayGoOn)
    },
    options,
  )
  background.start()
  return () => runs
}

it('runs at once and then at intervals, until it is stopped', async () => {
  const runs = begin()
  await pass(0)
  expect(runs()).toBe(1)
  await pass(3)
  expect(runs()).toBe(4)
  await background.stop()
  await pass(3)
  expect(runs()).toBe(4)
})

it('begins what is for one process once this one is chosen, and rests when it is not', async () => {
  isKeeper = false
  const runs = begin({ keeper: true })
  await pass(3)
  expect(runs()).toBe(0)
  isKeeper = true
  await pass(1)
  isKeeper = false
  await pass(3)
  expect(runs()).toBe(1)
  expect(background.figures()).toEqual([{ task: 'tidy up', done: 1, failed: 0 }])
})

it('rests while the disk is low, where it adds rows', async () => {
  isDiskLow = true
  const runs = begin({ spareDisk: true })
  await pass(3)
  expect(runs()).toBe(0)
  isDiskLow = false
  await pass(1)
  expect(runs()).toBe(1)
})

it('goes on after a failure, which is logged with the name of the task and counted', async () => {
  const err = new Error('the database is away')
  let isAway = true
  const runs = begin(undefined, () => {
    if (isAway) throw err
  })
  await pass(2)
  expect(warnings).toEqual(Array.from({ length: 3 }, () => ({ err, task: 'tidy up' })))
  isAway = false
  await pass(1)
  expect(runs()).toBe(4)
  expect(background.figures()).toEqual([{ task: 'tidy up', done: 1, failed: 3 }])
})

it.each<[string, () => unknown]>([
  ['it is stopped', () => background.stop()],
  ['another process is chosen', () => (isKeeper = false)],
  ['the disk is low', () => (isDiskLow = true)],
])('a long run ends between two steps once %s', async (_, happens) => {
  const answers: boolean[] = []
  begin({ keeper: true, spareDisk: true }, (mayGoOn) => {
    answers.push(mayGoOn())
    void happens()
    answers.push(mayGoOn())
  })
  await pass(0)
  expect(answers).toEqual([true, false])
})
