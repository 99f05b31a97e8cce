import { afterEach, expect, it, vi } from 'vitest'
import { createBlockFeed } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'

afterEach(() => vi.useRealTimers())

it('waits for a head that lags, and follows it back when it stays there', async () => {
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

it('skips no block that a node shows a moment later than the head', async () => {
  vi.useFakeTimers()
  let head = 1
  let isWhole = false
  const block = (number: number) => ({ number: `0x${number.toString(16)}`, timestamp: '0x1' })
  const feed = createBlockFeed({
    request: async () => block(head),
    batch: async (calls: { params: string[] }[]) =>
      calls.map(({ params }) => ({ ok: true, value: isWhole ? block(Number(params[0])) : null })),
    everywhere: async () => [],
    prefer() {},
  } as unknown as Rpc)
  const seen: number[] = []
  feed.onBlock(({ number }) => seen.push(number))
  await feed.start()
  head = 4
  await vi.advanceTimersByTimeAsync(2_000)
  expect(seen).toEqual([1])
  isWhole = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(seen).toEqual([1, 2, 3, 4])
  isWhole = false
  head = 9
  await vi.advanceTimersByTimeAsync(8_000)
  feed.stop()
  expect(seen).toEqual([1, 2, 3, 4, 9])
})
