import type { Hex } from 'viem'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** The head of a block; fees in native 18-decimal units, timestamp in Unix seconds. */
export interface Block {
  number: number
  timestamp: number
  baseFeePerGas: bigint
  gasLimit: bigint
  transactions: readonly Hex[]
}

/** Reads one block without its transactions' bodies; `undefined` when the node has none of that number. */
export async function readBlock(rpc: Rpc, at: number | 'latest'): Promise<Block | undefined> {
  const tag = at === 'latest' ? at : `0x${at.toString(16)}`
  const block = await rpc.request('eth_getBlockByNumber', [tag, false])
  return block === null ? undefined : parseBlock(block)
}

/** Reads blocks in one round trip; the result ends early at the first one that the node does not have. */
export async function readBlocks(rpc: Rpc, numbers: readonly number[]): Promise<Block[]> {
  const results = await rpc.batch(
    numbers.map((number) => ({
      method: 'eth_getBlockByNumber',
      params: [`0x${number.toString(16)}`, false],
    })),
  )
  const blocks: Block[] = []
  for (const result of results) {
    if (!result.ok || result.value === null) break
    blocks.push(parseBlock(result.value))
  }
  return blocks
}

function parseBlock(value: unknown): Block {
  const block = value as Record<string, unknown>
  if (typeof block?.number !== 'string' || typeof block.timestamp !== 'string') {
    throw new RpcUnavailableError('the chain node answered a block in another shape')
  }
  return {
    number: Number(block.number),
    timestamp: Number(block.timestamp),
    baseFeePerGas: BigInt((block.baseFeePerGas as string | undefined) ?? 0),
    gasLimit: BigInt((block.gasLimit as string | undefined) ?? 30_000_000),
    transactions: (block.transactions as Hex[] | undefined) ?? [],
  }
}

/**
 * Reads the newest block that every node has which answers: a node that lags shows no logs of the blocks it lacks. Throws
 * `RpcUnavailableError`.
 */
export async function readCommonHead(rpc: Rpc): Promise<number> {
  const heads = await rpc.everywhere('eth_blockNumber', [])
  const numbers = heads.flatMap((head) => (head.ok ? [Number(head.value)] : []))
  if (numbers.length > 0) return Math.min(...numbers)
  throw new RpcUnavailableError('no chain node answered with its newest block')
}

/**
 * Finds the first block up to `head` with this time (Unix seconds) or a later one, in some 30 reads; `head + 1` where all
 * are older. Throws `RpcUnavailableError`.
 */
export async function findFirstBlockSince(
  rpc: Rpc,
  seconds: number,
  head: number,
): Promise<number> {
  let from = 0
  let end = head + 1
  while (from < end) {
    const middle = Math.floor((from + end) / 2)
    const block = await readBlock(rpc, middle)
    // A node forgets its oldest blocks first.
    if (block === undefined || block.timestamp < seconds) from = middle + 1
    else end = middle
  }
  return from
}

/** Follows the head of the chain by asking for it. */
export interface BlockFeed {
  /** Returns the newest block seen; `undefined` until the first. */
  latest(): Block | undefined
  /** Returns the milliseconds since a node last answered with a head. */
  silentMs(): number
  /** Polls at once, for when a transaction has just been sent. */
  poke(): void
  /** While busy the feed polls often, else once a second. */
  setBusy(isBusy: boolean): void
  /** Calls the listener for every new block in order; after a gap too long to follow it starts again at the head. */
  onBlock(listener: (block: Block) => void): void
  /** Rejects with `RpcUnavailableError` when no node answers with a head. */
  start(): Promise<void>
  stop(): void
}

/** On average polling adds half of this to a settle, against blocks of half a second. */
const BUSY_POLL_MS = 40
/** On a chain that makes a block as soon as something is sent, polling costs little and a wait is felt. */
const LEAST_POLL_MS = 10
/** The number of polls between a transaction and its block. */
const POLLS_A_BLOCK = 4
const IDLE_POLL_MS = 1_000
/** After a longer gap the blocks between are skipped; receipts are then asked for by hash. */
const MAX_CATCH_UP_BLOCKS = 64
/** A head that lags for longer is believed: following old blocks again costs nothing. */
const LAG_PATIENCE_MS = 5_000
/** Milliseconds between two comparisons of the nodes' heads, where there are several. */
const COMPARE_MS = 2_000

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
  /** The usual time from a transaction to its block, milliseconds. */
  let usualWaitMs = BUSY_POLL_MS * POLLS_A_BLOCK

  function accept(block: Block): void {
    latest = block
    if (pokedAt > 0) {
      usualWaitMs = (usualWaitMs * 3 + Math.min(Date.now() - pokedAt, IDLE_POLL_MS)) / 4
      pokedAt = 0
    }
    for (const listener of listeners) listener(block)
  }

  async function readHead(): Promise<void> {
    const head = await readBlock(rpc, 'latest')
    if (head === undefined) return
    heardAt = Date.now()
    if (latest === undefined) return accept(head)
    const missed = head.number - latest.number - 1
    if (head.number >= latest.number) laggingSince = undefined
    if (missed < 0) return followBack(head, latest)
    if (missed > 0 && missed <= MAX_CATCH_UP_BLOCKS) {
      const first = latest.number + 1
      const numbers = Array.from({ length: missed }, (_, i) => first + i)
      for (const block of await readBlocks(rpc, numbers)) accept(block)
      if (latest.number < head.number - 1 && !isGapOld()) return
    }
    gapSince = undefined
    accept(head)
  }

  /** Returns whether the gap has lasted long enough to skip. A node that has a head and not the blocks below it is asked again for a while. */
  function isGapOld(): boolean {
    gapSince ??= Date.now()
    return Date.now() - gapSince >= LAG_PATIENCE_MS
  }

  /**
   * Handles a head that went backwards. It comes from a node that lags, not from a reorganisation: Arc has none. If it
   * stays there, the feed has gone too far ahead, as after a node that served another chain for a while.
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
      await readHead()
    } catch {
      // The next poll asks again; readiness shows how long the chain has been silent.
    }
    polling = undefined
    schedule()
  }

  function schedule(): void {
    if (isStopped) return
    clearTimeout(timer)
    const busyDelay = Math.max(LEAST_POLL_MS, Math.min(BUSY_POLL_MS, usualWaitMs / POLLS_A_BLOCK))
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
      await readHead()
      schedule()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
