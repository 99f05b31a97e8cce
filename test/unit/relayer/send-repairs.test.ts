import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { LaneCore } from '../../../src/relayer/lane-core.js'
import { createSendRepairs } from '../../../src/relayer/send-repairs.js'
import type { Slot } from '../../../src/relayer/slot.js'
import type { Watchdog } from '../../../src/relayer/watchdog.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('sends again soon what was refused without a cause, ever more slowly, then leaves it alone', async () => {
  const slot = { refusals: 0 } as Slot
  const sentAt: number[] = []
  const startedAt = Date.now()
  const send = async () => {
    sentAt.push(Date.now() - startedAt)
    await repairs.unknown(slot)
  }
  const repairs = createSendRepairs({ send } as unknown as LaneCore, {} as Watchdog)
  await repairs.unknown(slot)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(sentAt).toEqual([100, 300, 700, 1_500])
})
