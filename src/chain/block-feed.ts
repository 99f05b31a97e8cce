import { type Block, readBlock, readBlocks } from './blocks.js'
import type { Rpc } from './rpc.js'

export interface BlockFeed {
  /** The newest block seen; `undefined` until the first. */
  latest(): Block | undefined
  /** Milliseconds since a node last told a head, for readiness. */
  silentMs(): number
  /** Looks at once, for when something has just been sent. */
  poke(): void
  /** While busy the feed looks often, else once a second. */
  setBusy(isBusy: boolean): void
  /** Called for every new block in order; a gap too long to follow starts again at the head. */
  onBlock(listener: (block: Block) => void): void
  /** Rejects with `RpcUnavailableError` when no node tells a head. */
  start(): Promise<void>
  stop(): void
}

/** What following adds to a settle on average is half of this, against blocks of half a second. */
const BUSY_POLL_MS = 40
/** On a chain that makes a block as soon as something is sent, looking costs little and waiting is felt. */
const LEAST_POLL_MS = 10
/** How many looks fit between a transaction and its block. */
const LOOKS_A_BLOCK = 4
const IDLE_POLL_MS = 1_000
/** Past this the blocks between are skipped; receipts are then asked for by hash. */
const MAX_CATCH_UP_BLOCKS = 64
/** A head that lags for longer is believed: to follow old blocks again costs nothing. */
const LAG_PATIENCE_MS = 5_000
/** How often the nodes' heads are compared, where there are several. */
const COMPARE_MS = 2_000

/** Follows the head of the chain by asking for it. */
export function createBlockFeed(rpc: Rpc): BlockFeed {
  const listeners: ((block: Block) => void)[] = []
  let latest: Block | undefined
  let heardAt = 0
  let comparedAt = 0
  let laggingSince: number | undefined
  let gapSince: number | undefined
  let isBusy = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let isPoked = false
  let pokedAt = 0
  /** How long a block usually takes after something was sent, milliseconds. */
  let usualWaitMs = BUSY_POLL_MS * LOOKS_A_BLOCK

  function accept(block: Block): void {
    latest = block
    if (pokedAt > 0) {
      usualWaitMs = (usualWaitMs * 3 + Math.min(Date.now() - pokedAt, IDLE_POLL_MS)) / 4
      pokedAt = 0
    }
    for (const listener of listeners) listener(block)
  }

  async function look(): Promise<void> {
    const head = await readBlock(rpc, 'latest')
    if (head === undefined) return
    heardAt = Date.now()
    if (latest === undefined) return accept(head)
    const missed = head.number - latest.number - 1
    if (head.number >= latest.number) laggingSince = undefined
    if (missed < 0) return followBack(head, latest)
    if (missed > 0 && missed <= MAX_CATCH_UP_BLOCKS) {
      for (const block of await readBlocks(rpc, latest.number + 1, head.number - 1)) accept(block)
      if (latest.number < head.number - 1 && !isGapOld()) return
    }
    gapSince = undefined
    accept(head)
  }

  /** A node that tells a head and not what is below it is asked again, for a while. */
  function isGapOld(): boolean {
    gapSince ??= Date.now()
    return Date.now() - gapSince >= LAG_PATIENCE_MS
  }

  /**
   * A head that went backwards is a node that lags, not a reorganisation: Arc has none. One that stays there has been
   * believed too far ahead, as by a node that served another chain for a while.
   */
  function followBack(head: Block, newest: Block): void {
    if (head.number === newest.number) return
    laggingSince ??= Date.now()
    if (Date.now() - laggingSince < LAG_PATIENCE_MS) return
    laggingSince = undefined
    accept(head)
  }

  async function compareNodes(): Promise<void> {
    comparedAt = Date.now()
    const heads = await rpc.everywhere('eth_blockNumber', [])
    const numbers = heads.map((head) => (head.ok ? Number(head.value) : -1))
    const best = Math.max(...numbers)
    // Two nodes are seldom asked at the very same moment: one block behind is not behind.
    rpc.prefer(numbers.flatMap((number, i) => (number >= Math.max(0, best - 1) ? [i] : [])))
  }

  async function poll(): Promise<void> {
    try {
      if (Date.now() - comparedAt > COMPARE_MS) void compareNodes()
      await look()
    } catch {
      // The next look asks again; readiness tells how long the chain has been silent.
    }
    polling = undefined
    schedule()
  }

  function schedule(): void {
    if (isStopped) return
    clearTimeout(timer)
    const busyDelay = Math.max(LEAST_POLL_MS, Math.min(BUSY_POLL_MS, usualWaitMs / LOOKS_A_BLOCK))
    const delay = isPoked ? 0 : isBusy ? busyDelay : IDLE_POLL_MS
    isPoked = false
    timer = setTimeout(() => {
      polling = poll()
    }, delay)
  }

  return {
    latest: () => latest,
    silentMs: () => Date.now() - heardAt,
    poke() {
      isPoked = true
      pokedAt ||= Date.now()
      if (polling === undefined) schedule()
    },
    setBusy(busy) {
      const becameBusy = busy && !isBusy
      isBusy = busy
      if (becameBusy && polling === undefined) schedule()
    },
    onBlock(listener) {
      listeners.push(listener)
    },
    async start() {
      await look()
      schedule()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
