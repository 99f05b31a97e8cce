import type { BlockFeed } from '../chain/block-feed.js'
import type { Block } from '../chain/blocks.js'
import { createBlockReceiptsReader } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { Examine } from './examiner.js'
import type { Lane } from './lane.js'
import type { OutcomeKeeper } from './outcome-keeper.js'
import type { TrackedJobs } from './tracked-jobs.js'

export interface BlockFollowerOptions {
  rpc: Rpc
  feed: BlockFeed
  lanes: readonly Lane[]
  tracked: TrackedJobs
  keeper: OutcomeKeeper
  examine: Examine
  log: { warn(o: object, m: string): void }
}

/** Finds what became of our transactions in the blocks of the chain. */
export interface BlockFollower {
  start(): void
  /** Watches closely while a block may hold something of ours. */
  pace(): void
}

export function createBlockFollower(options: BlockFollowerOptions): BlockFollower {
  const { feed, lanes, tracked, keeper, examine, log } = options
  const readBlockReceipts = createBlockReceiptsReader(options.rpc)

  function pace(): void {
    feed.setBusy(lanes.some((lane) => lane.inFlight() > 0 && !lane.closedBecause()))
  }

  /** What a block lists is mined: a receipt that no node shows yet is asked for again. */
  async function landThoseIn({ number, transactions }: Block): Promise<void> {
    const ours = () => transactions.filter((hash) => lanes.some((lane) => lane.holds(hash)))
    if (ours().length === 0) return
    for (const receipt of await readBlockReceipts(number, ours())) {
      for (const lane of lanes) lane.land(receipt)
    }
    if (ours().length > 0) throw new RpcUnavailableError('a block lacks receipts of transactions')
  }

  async function onBlock(block: Block): Promise<void> {
    await keeper.persistently(() => landThoseIn(block))
    pace()
    // Past its end an authorization can land no more: if it is still unused, that is final.
    for (const entry of tracked.all()) {
      const isOver = entry.liveSlots > 0 && block.timestamp >= entry.job.expiresAt
      if (isOver) void examine(entry, { atLeastBlock: block.number })
    }
  }

  return {
    pace,
    start() {
      feed.onBlock((block) => {
        const onError = (err: unknown) =>
          log.warn({ err, block: block.number }, 'block left to the watchdog')
        onBlock(block).catch(onError)
      })
    },
  }
}
