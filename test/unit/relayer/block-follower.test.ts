import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { BlockFeed } from '../../../src/chain/block-feed.js'
import type { Block } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { createBlockFollower } from '../../../src/relayer/block-follower.js'
import type { Lane } from '../../../src/relayer/lane.js'
import { createOutcomeKeeper } from '../../../src/relayer/outcome-keeper.js'
import { noRelayerEvents } from '../../../src/relayer/relayer-events.js'
import { createTrackedJobs } from '../../../src/relayer/tracked-jobs.js'
import type { SettlementJournal } from '../../../src/store/settlement-journal.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const silent = { info() {}, warn() {} }

it('asks again for receipts that a node does not show of what its block lists', async () => {
  const open = new Set(['0xa1', '0xa2'])
  const shown = new Set(['0xa1'])
  const lane = {
    holds: (hash: string) => open.has(hash),
    land: ({ transactionHash }: { transactionHash: string }) => open.delete(transactionHash),
    inFlight: () => open.size,
    closedBecause: () => undefined,
  }
  let tell = (_block: Block) => {}
  const feed = {
    onBlock: (listener: typeof tell) => {
      tell = listener
    },
    setBusy() {},
  }
  const rpc = {
    request: async () =>
      [...shown].map((transactionHash) => ({ transactionHash, blockNumber: '0x1', logs: [] })),
  }
  const tracked = createTrackedJobs(Date.now)
  createBlockFollower({
    rpc: rpc as unknown as Rpc,
    feed: feed as unknown as BlockFeed,
    lanes: [lane as unknown as Lane],
    tracked,
    keeper: createOutcomeKeeper({
      network: 'eip155:5042',
      journal: {} as SettlementJournal,
      tracked,
      events: noRelayerEvents,
      now: Date.now,
      log: silent,
    }),
    examine: async () => {},
    now: Date.now,
    log: silent,
  }).start()
  tell({ number: 1, transactions: ['0xa1', '0xa2', '0xb1'] } as unknown as Block)
  await vi.advanceTimersByTimeAsync(10)
  expect([...open]).toEqual(['0xa2'])
  shown.add('0xa2')
  await vi.advanceTimersByTimeAsync(500)
  expect(open.size).toBe(0)
})
