import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Block, BlockFeed } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import type { SettlementJournal } from '../../../src/facilitator/journal/settlement-journal.js'
import { createTrackedJobs } from '../../../src/facilitator/relayer/jobs.js'
import type { Lane } from '../../../src/facilitator/relayer/lane.js'
import { createOutcomeKeeper, noRelayerEvents } from '../../../src/facilitator/relayer/outcomes.js'
import { createBlockFollower } from '../../../src/facilitator/relayer/relayer.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const silent = { info() {}, warn() {} }

it('asks again for receipts that a node does not show although its block lists the transactions', async () => {
  const open = new Set(['0xa1', '0xa2'])
  const shown = new Set(['0xa1'])
  const lane = {
    holds: (hash: string) => open.has(hash),
    inFlight: () => open.size,
    closedBecause: () => undefined,
  }
  let accept = (_block: Block) => {}
  const feed = {
    onBlock: (listener: typeof accept) => {
      accept = listener
    },
    setBusy() {},
  }
  const rpc = {
    request: async () =>
      [...shown].map((transactionHash) => ({ transactionHash, blockNumber: '0x1', logs: [] })),
  }
  const jobs = createTrackedJobs({}, Date.now)
  createBlockFollower({
    rpc: rpc as unknown as Rpc,
    feed: feed as unknown as BlockFeed,
    lanes: [lane as unknown as Lane],
    jobs,
    keeper: createOutcomeKeeper({
      network: 'eip155:5042',
      journal: {} as SettlementJournal,
      jobs,
      events: noRelayerEvents,
      now: Date.now,
      log: silent,
    }),
    examiner: {
      watch: async () => {},
      land: ({ transactionHash }) => open.delete(transactionHash),
    },
    now: Date.now,
    log: silent,
  }).start()
  accept({ number: 1, transactions: ['0xa1', '0xa2', '0xb1'] } as unknown as Block)
  await vi.advanceTimersByTimeAsync(10)
  expect([...open]).toEqual(['0xa2'])
  shown.add('0xa2')
  await vi.advanceTimersByTimeAsync(500)
  expect(open.size).toBe(0)
})
