import { afterEach, expect, it, vi } from 'vitest'
import { BlockFeed, findFirstBlockSince, readCommonHead } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'

afterEach(() => vi.useRealTimers())

it('waits for a head that lags, and follows it back when it stays there', async () => {
  vi.useFakeTimers()
  let head = 1_000
  const block = () => ({ number: `0x${head.toString(16)}`, timestamp: '0x1' })
  const feed = new BlockFeed({
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
  const feed = new BlockFeed({
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

it('finds the first block of a time, also where the node has forgotten the oldest ones', async () => {
  const times = [0, 10, 10, 10, 20, 30, 30, 40]
  for (const forgotten of [0, 2]) {
    const request = async (_method: string, [at]: readonly unknown[]) => {
      const number = Number(at)
      const timestamp = `0x${(times[number] ?? 0).toString(16)}`
      return number < forgotten ? null : { number: at, timestamp }
    }
    const find = (seconds: number) =>
      findFirstBlockSince({ request } as unknown as Rpc, seconds, times.length - 1)
    expect(await find(20)).toBe(4)
    expect(await find(21)).toBe(5)
    expect(await find(10)).toBe(Math.max(1, forgotten))
    expect(await find(0)).toBe(forgotten)
    expect(await find(41)).toBe(times.length)
  }
})

it('takes for the common head what the node has that is furthest behind', async () => {
  const failure = { ok: false, error: new Error('away') }
  const heads = [{ ok: true, value: '0x20' }, failure, { ok: true, value: '0x1e' }]
  const rpc = (answers: unknown[]) => ({ everywhere: async () => answers }) as unknown as Rpc
  expect(await readCommonHead(rpc(heads))).toBe(30)
  await expect(readCommonHead(rpc([failure]))).rejects.toThrow('no chain node answered')
})
