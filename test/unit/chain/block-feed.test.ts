import { afterEach, expect, it, vi } from 'vitest'
import { createBlockFeed } from '../../../src/chain/block-feed.js'
import type { Rpc } from '../../../src/chain/rpc.js'

afterEach(() => vi.useRealTimers())

it('waits for a head that lags, and follows it back when it stays where it is', async () => {
  vi.useFakeTimers()
  let head = 1_000
  const block = () => ({ number: `0x${head.toString(16)}`, timestamp: '0x1' })
  const feed = createBlockFeed({
    request: async () => block(),
    everywhere: async () => [],
    prefer() {},
  } as unknown as Rpc)
  const seen: number[] = []
  feed.onBlock(({ number }) => seen.push(number))
  await feed.start()
  head = 10
  await vi.advanceTimersByTimeAsync(4_000)
  expect(seen).toEqual([1_000])
  await vi.advanceTimersByTimeAsync(4_000)
  head = 11
  await vi.advanceTimersByTimeAsync(2_000)
  feed.stop()
  expect(seen).toEqual([1_000, 10, 11])
})
