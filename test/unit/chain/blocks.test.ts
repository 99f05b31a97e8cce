import { afterEach, describe, expect, it, vi } from 'vitest'
import { BlockFeed, findFirstBlockSince, readCommonHead } from '../../../src/chain/blocks.js'
import type { NodeResult } from '../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { anRpc } from '../../support/an-rpc.js'

afterEach(() => vi.useRealTimers())

it('waits for a head that lags, and follows it back when it stays there', async () => {
  vi.useFakeTimers()
  let head = 1_000
  const block = () => ({ number: `0x${head.toString(16)}`, timestamp: '0x1' })
  const feed = new BlockFeed(anRpc({ request: async () => block(), everywhere: async () => [] }))
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
  const feed = new BlockFeed(
    anRpc({
      request: async () => block(head),
      batch: async (calls) =>
        calls.map(({ params }) => ({ ok: true, value: isWhole ? block(Number(params[0])) : null })),
      everywhere: async () => [],
    }),
  )
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
      findFirstBlockSince(anRpc({ request }), seconds, times.length - 1)
    expect(await find(20)).toBe(4)
    expect(await find(21)).toBe(5)
    expect(await find(10)).toBe(Math.max(1, forgotten))
    expect(await find(0)).toBe(forgotten)
    expect(await find(41)).toBe(times.length)
  }
})

it('takes for the common head what the node has that is furthest behind', async () => {
  const failure: NodeResult = { ok: false, error: new RpcUnavailableError('away') }
  const heads: NodeResult[] = [{ ok: true, value: '0x20' }, failure, { ok: true, value: '0x1e' }]
  const rpc = (answers: NodeResult[]) => anRpc({ everywhere: async () => answers })
  expect(await readCommonHead(rpc(heads))).toBe(30)
  await expect(readCommonHead(rpc([failure]))).rejects.toThrow('no chain node answered')
})

describe('a feed that waits for a transaction', () => {
  /** A chain whose next block comes so long after a transaction, and the times at which it was asked for its head. */
  async function aBusyFeed(waitMs: number) {
    vi.useFakeTimers()
    let head = 1
    const asked: number[] = []
    const feed = new BlockFeed(
      anRpc({
        async request() {
          asked.push(Date.now())
          return { number: `0x${head.toString(16)}`, timestamp: '0x1' }
        },
        everywhere: async () => [],
      }),
    )
    await feed.start()
    feed.setBusy(true)
    // It learns from some transactions how long a block takes.
    for (let i = 0; i < 30; i++) {
      feed.poke()
      await vi.advanceTimersByTimeAsync(waitMs)
      head++
      await vi.advanceTimersByTimeAsync(100)
    }
    const before = asked.length
    await vi.advanceTimersByTimeAsync(1_000)
    feed.stop()
    return { polls: asked.length - before, asked, before, feed }
  }

  it.each([
    ['as soon as something is sent', 1, 100],
    ['every tenth of a second', 100, 40],
    ['every half second', 500, 25],
    ['once a minute', 60_000, 25],
  ])('asks as often as a chain is quick that makes a block %s', async (_, waitMs, polls) => {
    const { polls: made } = await aBusyFeed(waitMs)
    expect(made).toBeGreaterThan(polls * 0.7)
    expect(made).toBeLessThan(polls * 1.3)
  })
})
