import { expect, it, onTestFinished, vi } from 'vitest'
import { persist } from '../../../src/async/persist.js'

it('tries until it succeeds, and waits twice as long each time, up to the last wait', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const waits: number[] = []
  let attempts = 0
  const done = persist(
    () => {
      if (++attempts < 6) throw new Error('not yet')
      return attempts
    },
    { firstMs: 100, lastMs: 450, onFailure: (_, waitMs) => waits.push(waitMs) },
  )
  await vi.advanceTimersByTimeAsync(99)
  expect(attempts).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(attempts).toBe(2)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await done).toBe(6)
  expect(waits).toEqual([100, 200, 400, 450, 450])
})

it('ends with what its listener throws', async () => {
  const fails = async () => {
    throw new Error('gone')
  }
  const onFailure = (error: unknown) => {
    throw error
  }
  await expect(persist(fails, { firstMs: 1, lastMs: 1, onFailure })).rejects.toThrow('gone')
})
