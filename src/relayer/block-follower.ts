import type { BlockFeed } from '../chain/block-feed.js'
import type { Block } from '../chain/blocks.js'
import { createBlockReceiptsReader } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { Examine } from './examiner.js'
import type { Lane } from './lane.js'
import type { OutcomeKeeper } from './outcome-keeper.js'
import type { TrackedJob, TrackedJobs } from './tracked-jobs.js'

export interface BlockFollowerOptions {
  rpc: Rpc
  feed: BlockFeed
  lanes: readonly Lane[]
  tracked: TrackedJobs
  keeper: OutcomeKeeper
  examine: Examine
  /** Unix milliseconds. */
  now: () => number
  log: { warn(o: object, m: string): void }
}

/** What has been under way for this long may have been brought on chain by others; it is looked into as often. */
const OVERTAKEN_MS = 3_000

/** Finds what became of our transactions in the blocks of the chain. */
export interface BlockFollower {
  start(): void
  /** Watches closely while a block may hold something of ours. */
  pace(): void
  /** Looks whether others have brought on chain what has been under way for long. */
  lookAtStuck(): void
}

export function createBlockFollower(options: BlockFollowerOptions): BlockFollower {
  const { feed, lanes, tracked, keeper, examine, now, log } = options
  const lookedAt = new WeakMap<TrackedJob, number>()
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
    lookAtStuck() {
      const atLeastBlock = feed.latest()?.number ?? 0
      for (const entry of tracked.all()) {
        const isStuck = now() - (lookedAt.get(entry) ?? entry.queuedAt) >= OVERTAKEN_MS
        if (entry.liveSlots === 0 || !isStuck) continue
        lookedAt.set(entry, now())
        void examine(entry, { atLeastBlock })
      }
    },
    start() {
      feed.onBlock((block) => {
        const onError = (err: unknown) =>
          log.warn({ err, block: block.number }, 'block left to the watchdog')
        onBlock(block).catch(onError)
      })
    },
  }
}
