import { expect, it } from 'vitest'
import { createWaiters } from '../../../src/async/waiters.js'

it('wakes all who wait for a key, and nobody else', async () => {
  const waiters = createWaiters<number>()
  const two = Promise.all([waiters.until('a'), waiters.until('a')])
  const other = waiters.until('b', { ms: 5 })
  expect(waiters.keys().sort()).toEqual(['a', 'b'])
  waiters.wake('a', 1)
  expect(await two).toEqual([1, 1])
  expect(await other).toBeUndefined()
  expect(waiters.keys()).toEqual([])
})

it('passes over news that is not meant', async () => {
  const waiters = createWaiters<number>()
  const even = waiters.until('a', { isMeant: (number) => number % 2 === 0 })
  waiters.wake('a', 1)
  expect(waiters.keys()).toEqual(['a'])
  waiters.wake('a', 2)
  waiters.wake('a', 4)
  expect(await even).toBe(2)
})
