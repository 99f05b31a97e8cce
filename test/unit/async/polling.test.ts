import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createPolling } from '../../../src/async/polling.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const onError = (error: unknown) => expect.unreachable(String(error))

/** Work whose runs take `tookMs` each, with the moments at which they began. */
function aRun(tookMs: number) {
  const startedAt = Date.now()
  const begun: number[] = []
  const poll = async () => {
    begun.push(Date.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, tookMs))
  }
  return { begun, poll }
}

it('runs at once and then again, one run at a time', async () => {
  const { begun, poll } = aRun(300)
  const polling = createPolling({ poll, everyMs: 100, onError })
  polling.start()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(begun).toEqual([0, 400, 800])
})

it('pauses by the time that a run took, if it is told to', async () => {
  const { begun, poll } = aRun(300)
  const everyMs = (tookMs: number) => 2 * tookMs
  createPolling({ poll, everyMs, onError }).start()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(begun).toEqual([0, 900, 1_800])
})

it('tells of a run that failed, and goes on', async () => {
  const errors: unknown[] = []
  const poll = vi.fn().mockRejectedValueOnce('disk').mockResolvedValue(undefined)
  createPolling({ poll, everyMs: 100, onError: (error) => errors.push(error) }).start()
  await vi.advanceTimersByTimeAsync(250)
  expect([poll.mock.calls.length, errors]).toEqual([3, ['disk']])
})

it('stops when the last run has ended, which its signal asks for', async () => {
  const ended = vi.fn()
  const poll = vi.fn((signal: AbortSignal) => new Promise((end) => (signal.onabort = end)))
  const polling = createPolling({ poll, everyMs: 100, onError })
  polling.start()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(poll).toHaveBeenCalledOnce()
  void polling.stop().then(ended)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1_000)
  expect([poll.mock.calls.length, ended.mock.calls.length]).toEqual([1, 1])
})
