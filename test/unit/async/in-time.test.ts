import { expect, it } from 'vitest'
import { inTime } from '../../../src/async/in-time.js'

const never = new Promise<string>(() => {})

it('gives the value that comes in time, and the substitute after the limit', async () => {
  expect(await inTime(Promise.resolve('value'), 60_000, () => 'late')).toBe('value')
  expect(await inTime(never, 1, () => 'late')).toBe('late')
  expect(await inTime(never, -5, () => 'late')).toBe('late')
})

it('rejects as the value does, and with what is thrown when it is late', async () => {
  const fails = Promise.reject(new Error('no'))
  await expect(inTime(fails, 60_000, () => 'late')).rejects.toThrow('no')
  const late = () => {
    throw new Error('too late')
  }
  await expect(inTime(never, 1, late)).rejects.toThrow('too late')
})
