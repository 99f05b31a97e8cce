import { expect, it } from 'vitest'
import { singleFlight } from '../../../src/async/single-flight.js'

it('runs once for all who ask meanwhile, and again afterwards', async () => {
  const ends: (() => void)[] = []
  const run = singleFlight(
    (name: string) =>
      new Promise<string>((resolve) => {
        ends.push(() => resolve(name))
      }),
  )
  expect(run.underWay()).toBeUndefined()
  const both = Promise.all([run('first'), run('second')])
  expect(run.underWay()).toBeDefined()
  ends[0]?.()
  expect(await both).toEqual(['first', 'first'])
  expect(run.underWay()).toBeUndefined()
  const third = run('third')
  ends[1]?.()
  expect(await third).toBe('third')
})

it('fails for all who share the run, and is free afterwards', async () => {
  let runs = 0
  const run = singleFlight(async () => {
    if (++runs === 1) throw new Error('no')
    return runs
  })
  const [one, two] = await Promise.allSettled([run(), run()])
  expect([one.status, two.status]).toEqual(['rejected', 'rejected'])
  expect(await run()).toBe(2)
})
