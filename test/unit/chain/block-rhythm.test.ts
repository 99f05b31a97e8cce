import { afterEach, expect, it, vi } from 'vitest'
import { BlockFeed } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'

afterEach(() => vi.useRealTimers())

/** Milliseconds for the way to the node and for the way back. */
const WAY_MS = 1

/**
 * A feed over a node whose blocks come at the given times, on a clock that only this test moves. Tells how many
 * milliseconds after its block each head was noticed, and how often the node was asked.
 */
function startFeed(times: (block: number) => number) {
  vi.useFakeTimers({ now: 1_000_000 })
  const startedAt = performance.now()
  const passed = () => performance.now() - startedAt
  const lateMs: number[] = []
  let asked = 0
  const headNow = () => {
    let head = 0
    while (times(head + 1) <= passed()) head++
    return head
  }
  const block = (number: number) => ({ number: `0x${number.toString(16)}`, timestamp: '0x1' })
  const way = () => new Promise((resolve) => setTimeout(resolve, WAY_MS))
  const rpc: Pick<Rpc, 'request' | 'batch' | 'everywhere' | 'prefer'> = {
    async request() {
      asked++
      await way()
      const head = headNow()
      await way()
      return block(head)
    },
    async batch(calls) {
      return calls.map(({ params }) => ({ ok: true, value: block(Number(params[0])) }))
    },
    everywhere: async () => [],
    prefer() {},
  }
  const feed = new BlockFeed(rpc as Rpc)
  feed.onBlock(({ number }) => lateMs.push(passed() - times(number)))
  /** Lets so many seconds pass; tells what came of them. */
  async function run(seconds: number) {
    lateMs.length = 0
    asked = 0
    await vi.advanceTimersByTimeAsync(seconds * 1_000)
    const sum = lateMs.reduce((total, ms) => total + ms, 0)
    return {
      asked,
      meanMs: sum / lateMs.length,
      worstMs: Math.max(...lateMs),
      lastMs: lateMs.at(-1),
    }
  }
  return { feed, run }
}

/** Asking every 40 ms takes so many calls in 20 seconds, and finds a block 22 ms after it came. */
const POLLING_CALLS = 480

it('notices blocks of half a second within milliseconds, with half the calls of polling', async () => {
  const { feed, run } = startFeed((block) => block * 500 + 137)
  void feed.start()
  const idle = await run(25)
  expect(idle.asked).toBeLessThan(30)
  feed.setBusy(true)
  const learning = await run(20)
  expect(learning.meanMs).toBeLessThan(20)
  const busy = await run(20)
  expect(busy.meanMs).toBeLessThan(5)
  expect(busy.worstMs).toBeLessThan(10)
  expect(busy.asked).toBeLessThan(POLLING_CALLS / 2)
  feed.setBusy(false)
  const idleAgain = await run(60)
  expect(idleAgain.asked).toBeLessThan(66)
  // Idle polls keep the rhythm for the first block that somebody waits for.
  await run(0.2)
  feed.setBusy(true)
  const first = await run(0.9)
  feed.stop()
  expect(first.lastMs).toBeLessThan(30)
})

const chains: [string, (block: number) => number, { meanMs: number; worstMs: number }][] = [
  ['that jitter by 15 ms', (n) => n * 500 + ((n * 7_919) % 31) - 15, { meanMs: 8, worstMs: 45 }],
  ['of which one in ten is late', (n) => n * 500 + (n % 10 ? 0 : 200), { meanMs: 25, worstMs: 45 }],
  ['whose clock runs slow', (n) => n * 500.7, { meanMs: 6, worstMs: 20 }],
  ['every two seconds', (n) => n * 2_000, { meanMs: 8, worstMs: 45 }],
  ['of a tenth of a second', (n) => n * 100, { meanMs: 25, worstMs: 45 }],
  ['without a rhythm', (n) => n * 400 + ((n * 7_919) % 397), { meanMs: 22, worstMs: 45 }],
  [
    'that pause, and go on out of rhythm',
    (n) => n * 500 + (n < 70 ? 0 : 5_123),
    { meanMs: 15, worstMs: 45 },
  ],
  [
    'that become twice as fast',
    (n) => (n < 70 ? n * 500 : 35_000 + (n - 70) * 250),
    { meanMs: 12, worstMs: 170 },
  ],
]

it.each(chains)('is no slower than polling for blocks %s', async (_name, times, most) => {
  const { feed, run } = startFeed(times)
  void feed.start()
  await run(25)
  feed.setBusy(true)
  await run(3)
  const seen = await run(37)
  feed.stop()
  expect(seen.meanMs).toBeLessThan(most.meanMs)
  expect(seen.worstMs).toBeLessThan(most.worstMs)
  expect(seen.asked).toBeLessThan(POLLING_CALLS * 2)
})
