import type { Hex } from 'viem'
import { BlockRhythm } from './block-rhythm.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** The head of a block; fees in native 18-decimal units, timestamp in Unix seconds. */
export interface BlockHead {
  number: number
  timestamp: number
  baseFeePerGas: bigint
  gasLimit: bigint
  transactions: readonly Hex[]
}

/** Reads one block without its transactions' bodies; `undefined` when the node has none of that number. */
export async function readBlock(rpc: Rpc, at: number | 'latest'): Promise<BlockHead | undefined> {
  const tag = at === 'latest' ? at : `0x${at.toString(16)}`
  const block = await rpc.request('eth_getBlockByNumber', [tag, false])
  return block === null ? undefined : parseBlock(block)
}

/** Reads blocks in one round trip; the result ends early at the first one that the node does not have. */
export async function readBlocks(rpc: Rpc, numbers: readonly number[]): Promise<BlockHead[]> {
  const results = await rpc.batch(
    numbers.map((number) => ({
      method: 'eth_getBlockByNumber',
      params: [`0x${number.toString(16)}`, false],
    })),
  )
  const blocks: BlockHead[] = []
  for (const result of results) {
    if (!result.ok || result.value === null) break
    blocks.push(parseBlock(result.value))
  }
  return blocks
}

function parseBlock(value: unknown): BlockHead {
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

/** Without a rhythm polling adds half of this to a settle on average. */
const BUSY_POLL_MS = 40
/** The least time between two polls while a block is due. */
const CLOSE_POLL_MS = 4
/** The feed waits so long for a block that a node announced, and after a false announcement hears none for so long. */
const TOLD_WAIT_MS = 200
const DEAF_MS = 1_200
/** For so long after a true word the feed relies on the next one, and polls by itself only so often. */
const TOLD_TRUST_MS = 2_000
const WATCHDOG_POLL_MS = 250
/** A last poll without the block is made so long before it is due: it keeps the rhythm exact. */
const BEFORE_DUE_MS = 2
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

/** Follows the head of the chain by asking for it. */
export class BlockFeed {
  readonly #rpc: Rpc
  readonly #listeners: ((block: BlockHead) => void)[] = []
  #latest: BlockHead | undefined
  #heardAt = 0
  #comparedAt = 0
  /** Since when the head is behind the newest block seen. */
  #laggingSince: number | undefined
  /** Since when a node shows a head and not the blocks below it. */
  #gapSince: number | undefined
  /** The times of the blocks, on a clock that nobody sets. */
  readonly #rhythm = new BlockRhythm()
  #idlePolls = 0
  /** The block that a node said there is, and when it said so. */
  #told = { number: 0, at: Number.NEGATIVE_INFINITY }
  /** The time at which such news last proved true. */
  #toldTruthAt = Number.NEGATIVE_INFINITY
  #isBusy = false
  #isStopped = false
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #isPoked = false
  #pokedAt = 0
  /** The usual time from a transaction to its block, milliseconds. */
  #usualWaitMs = BUSY_POLL_MS * POLLS_A_BLOCK

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  /** Returns the newest block seen; `undefined` until the first. */
  latest(): BlockHead | undefined {
    return this.#latest
  }

  /** Returns the milliseconds since a node last answered with a head. */
  silentMs(): number {
    return Date.now() - this.#heardAt
  }

  /** Polls at once, for when a transaction has just been sent. */
  poke(): void {
    this.#isPoked = true
    this.#pokedAt ||= Date.now()
    if (this.#polling === undefined) this.#schedule()
  }

  /**
   * Notes that a node says there is a new block, and asks for it at once. While such news prove true, the feed asks rarely by
   * itself. After news that no head followed none are heard for a second.
   */
  tell(number: number): void {
    const now = performance.now()
    const newest = this.#latest?.number
    if (newest === undefined) return
    const isWaiting = this.#told.number > newest && now - this.#told.at < DEAF_MS
    if (number <= newest || isWaiting) return
    this.#told = { number, at: now }
    this.#isPoked = true
    if (this.#polling === undefined) this.#schedule()
  }

  /** While busy the feed polls often, else once a second. */
  setBusy(isBusy: boolean): void {
    const becameBusy = isBusy && !this.#isBusy
    this.#isBusy = isBusy
    if (becameBusy && this.#polling === undefined) this.#schedule()
  }

  /** Calls the listener for every new block in order; after a gap too long to follow it starts again at the head. */
  onBlock(listener: (block: BlockHead) => void): void {
    this.#listeners.push(listener)
  }

  /** Rejects with `RpcUnavailableError` when no node answers with a head. */
  async start(): Promise<void> {
    await this.#readHead()
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#isStopped) return
    clearTimeout(this.#timer)
    const wantedMs = this.#isBusy ? this.#busyPauseMs() : this.#idlePauseMs()
    const pauseMs = this.#isTold() ? CLOSE_POLL_MS : wantedMs
    const delay = this.#isPoked ? 0 : pauseMs
    this.#isPoked = false
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll()
    }, delay)
  }

  /** Returns whether a node has just said that there is a block which the others do not show yet. */
  #isTold(): boolean {
    const isNews = this.#told.number > (this.#latest?.number ?? 0)
    return isNews && performance.now() - this.#told.at < TOLD_WAIT_MS
  }

  /** Returns the pause before the next poll while somebody waits for a block: short while one is due, else longer. */
  #busyPauseMs(): number {
    const wanted = Math.min(BUSY_POLL_MS, this.#usualWaitMs / POLLS_A_BLOCK)
    if (performance.now() - this.#toldTruthAt < TOLD_TRUST_MS) return WATCHDOG_POLL_MS
    const due = this.#rhythm.due((this.#latest?.number ?? 0) + 1)
    if (due === undefined) return Math.max(LEAST_POLL_MS, wanted)
    const now = performance.now()
    const untilDueMs = due.from - BEFORE_DUE_MS - now
    if (untilDueMs > 0) return Math.min(untilDueMs, Math.max(BUSY_POLL_MS, due.periodMs / 3))
    const step = Math.max(CLOSE_POLL_MS, (due.to - due.from) / POLLS_A_BLOCK)
    const lateMs = Math.max(0, now - due.to)
    return Math.min(BUSY_POLL_MS, step + lateMs / 4)
  }

  /**
   * Returns the pause while nobody waits: a second on average. A poll in the middle of the time in which a block is due halves
   * that time; without a rhythm the pauses differ, so that polls meet every part of a block.
   */
  #idlePauseMs(): number {
    const due = this.#rhythm.due((this.#latest?.number ?? 0) + 1)
    if (due === undefined) return IDLE_POLL_MS * (0.75 + ((this.#idlePolls++ * 0.618) % 1) / 2)
    const untilMiddleMs = (due.from + due.to) / 2 - performance.now()
    const earliest = IDLE_POLL_MS - due.periodMs / 2
    const periods = Math.max(0, Math.ceil((earliest - untilMiddleMs) / due.periodMs))
    return Math.min(
      IDLE_POLL_MS * 1.25,
      Math.max(LEAST_POLL_MS, untilMiddleMs + periods * due.periodMs),
    )
  }

  async #poll(): Promise<void> {
    try {
      if (Date.now() - this.#comparedAt > COMPARE_MS) void this.#compareNodes()
      await this.#readHead()
    } catch {
      // The next poll asks again; readiness shows how long the chain has been silent.
    }
    this.#polling = undefined
    this.#schedule()
  }

  async #readHead(): Promise<void> {
    const sentAt = performance.now()
    const head = await readBlock(this.#rpc, 'latest')
    if (head === undefined) return
    this.#rhythm.note(head.number, sentAt)
    if (this.#isTold() && head.number >= this.#told.number) this.#toldTruthAt = sentAt
    this.#heardAt = Date.now()
    const latest = this.#latest
    if (latest === undefined) return this.#accept(head)
    const missed = head.number - latest.number - 1
    if (head.number >= latest.number) this.#laggingSince = undefined
    if (missed < 0) return this.#followBack(head, latest)
    if (missed > 0 && missed <= MAX_CATCH_UP_BLOCKS) {
      const last = await this.#catchUp(latest.number + 1, missed)
      if (last < head.number - 1 && !this.#isGapOld()) return
    }
    this.#gapSince = undefined
    this.#accept(head)
  }

  /** Accepts so many blocks from this one on, as far as the node has them; returns the number of the last one. */
  async #catchUp(first: number, count: number): Promise<number> {
    const numbers = Array.from({ length: count }, (_, i) => first + i)
    const blocks = await readBlocks(this.#rpc, numbers)
    for (const block of blocks) this.#accept(block)
    return blocks.at(-1)?.number ?? first - 1
  }

  #accept(block: BlockHead): void {
    this.#latest = block
    if (this.#pokedAt > 0) {
      const waitedMs = Math.min(Date.now() - this.#pokedAt, IDLE_POLL_MS)
      this.#usualWaitMs = (this.#usualWaitMs * 3 + waitedMs) / 4
      this.#pokedAt = 0
    }
    for (const listener of this.#listeners) listener(block)
  }

  /** Returns whether the gap has lasted long enough to skip. A node that has a head and not the blocks below it is asked again for a while. */
  #isGapOld(): boolean {
    this.#gapSince ??= Date.now()
    return Date.now() - this.#gapSince >= LAG_PATIENCE_MS
  }

  /**
   * Handles a head that went backwards. It comes from a node that lags, not from a reorganisation: Arc has none. If it
   * stays there, the feed has gone too far ahead, as after a node that served another chain for a while.
   */
  #followBack(head: BlockHead, newest: BlockHead): void {
    if (head.number === newest.number) return
    this.#laggingSince ??= Date.now()
    if (Date.now() - this.#laggingSince < LAG_PATIENCE_MS) return
    this.#laggingSince = undefined
    this.#accept(head)
  }

  async #compareNodes(): Promise<void> {
    this.#comparedAt = Date.now()
    const heads = await this.#rpc.everywhere('eth_blockNumber', [])
    const numbers = heads.map((head) => (head.ok ? Number(head.value) : -1))
    const best = Math.max(...numbers)
    // Two nodes are seldom asked at the very same moment: one block behind is not behind.
    this.#rpc.prefer(numbers.flatMap((number, i) => (number >= Math.max(0, best - 1) ? [i] : [])))
  }
}
