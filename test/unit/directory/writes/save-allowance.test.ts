import { expect, it } from 'vitest'
import { createSaveAllowance } from '../../../../src/directory/save-allowance.js'

it('gives an owner its endpoints, then as many as time brings, and others theirs', () => {
  let now = 0
  const allowance = createSaveAllowance({ capacity: 10, perSecond: 2, now: () => now })
  expect(allowance.take('a', 10)).toBe(0)
  expect(allowance.take('a', 1)).toBe(1)
  expect(allowance.take('a', 10)).toBe(5)
  expect(allowance.take('b', 10)).toBe(0)
  now = 2_000
  expect(allowance.take('a', 5)).toBe(1)
  expect(allowance.take('a', 4)).toBe(0)
  now = 1_000_000
  expect(allowance.take('a', 10)).toBe(0)
  expect(allowance.take('a', 1)).toBe(1)
})
