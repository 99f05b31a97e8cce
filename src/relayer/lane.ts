import { type Address, type Hex, keccak256 } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import { findReceiptAnywhere, type Receipt, readReceipts } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import { classifySendError, type SendProblem } from '../chain/send-errors.js'
import type { Attempt, SettlementJournal } from '../store/settlement-journal.js'
import { bumpFees, type Fees, quoteFees } from './fees.js'
import type { Signer } from './signer.js'
import { newestAttempt, restoreSlot, type Slot } from './slot.js'

export interface Lane {
  address: Address
  /** Why it takes no payments at present; `undefined` while it does. */
  closedBecause(): string | undefined
  inFlight(): number
  /** Nonces of one wallet are signed one after another; true while one is. */
  isSigning: boolean
  /** Signs, keeps and sends. Rejects only when nothing was kept, so nothing was sent. */
  open(
    call: { to: Address; data: Hex; gasLimit: bigint },
    jobIds: string[],
    fees: Fees,
  ): Promise<void>
  holds(hash: Hex): boolean
  land(receipt: Receipt): void
  /** Repairs what is stuck; run twice a second. */
  tick(): Promise<void>
  /** Takes up what an earlier process left. */
  resume(): Promise<void>
  /** The oldest open slot's age in milliseconds, 0 when there is none. */
  pendingMs(): number
}

export interface LaneOptions {
  network: string
  chainId: number
  signer: Signer
  rpc: Rpc
  feed: BlockFeed
  journal: SettlementJournal
  maxFeePerGas: bigint
  now: () => number
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
  /** One of the slot's transactions was mined. */
  onLanded(slot: Slot, attempt: Attempt, receipt: Receipt): void
  /** The slot is gone and none of its transactions was mined: its jobs have to travel again. */
  onLost(slot: Slot): void
  isUndecided(jobId: string): boolean
}

/** The same bytes again when the lowest nonce has not been mined for this long. */
const REBROADCAST_MS = 2_500
/** Then more gas money, and again after as long. */
const BUMP_MS = 6_000
/** A nonce that is used on chain although no node shows a receipt of ours is given up after this. */
const LOST_MS = 3_000
/** How often a closed lane looks whether it may open again. */
const REOPEN_CHECK_MS = 5_000
const NO_OP_GAS = 21_000n
const SEND_TIMEOUT_MS = 5_000

/** One relayer wallet on one network: its nonces, its transactions in flight, and their repair. */
export function createLane(options: LaneOptions): Lane {
  const { network, chainId, signer, rpc, feed, journal, now, log } = options
  const slots = new Map<number, Slot>()
  let nextNonce = 0
  let closed: string | undefined
  let reopenCheckAt = 0
  let sending: Promise<void> = Promise.resolve()
  let isTicking = false

  async function sign(
    slot: Omit<Slot, 'attempts'>,
    fees: Fees,
    jobIds: string[],
  ): Promise<Attempt> {
    const { nonce, to, data, gasLimit } = slot
    const rawTransaction = await signer.sign({ chainId, nonce, to, data, gasLimit, ...fees })
    return {
      hash: keccak256(rawTransaction),
      network,
      relayer: signer.address,
      relayerNonce: nonce,
      rawTransaction,
      gasLimit,
      ...fees,
      createdAt: now(),
      jobIds,
    }
  }

  function send(slot: Slot): Promise<void> {
    sending = sending.then(async () => {
      slot.touchedAt = now()
      const { rawTransaction, hash } = newestAttempt(slot)
      try {
        await rpc.request('eth_sendRawTransaction', [rawTransaction], {
          timeoutMs: SEND_TIMEOUT_MS,
        })
      } catch (error) {
        const problem = classifySendError(error)
        if (problem !== 'alreadyKnown') {
          log.warn({ hash, relayerNonce: slot.nonce, problem, err: error }, 'send refused')
        }
        await repairs[problem](slot)
      }
      feed.poke()
    })
    return sending
  }

  /** One repair for each thing a node can say; what is not said here, the watchdog finds. */
  const repairs: Record<SendProblem, (slot: Slot) => Promise<void>> = {
    alreadyKnown: async () => {},
    nonceTooLow: (slot) => checkConsumed(slot).then(() => {}),
    nonceTooHigh: async () => {},
    underpriced: (slot) => replace(slot),
    feeBelowBase: (slot) => replace(slot),
    intrinsicGas: async (slot) => {
      slot.gasLimit = (slot.gasLimit * 3n) / 2n
      await replace(slot)
    },
    insufficientFunds: (slot) => closeWith('no gas money', slot),
    senderBlocked: (slot) => closeWith('blocked by the chain', slot),
    gasAboveLimit: (slot) => giveBack(slot),
    unknown: async () => {},
  }

  /** Signs the slot again with both fee fields up; every earlier hash stays known, any may land. */
  async function replace(slot: Slot): Promise<void> {
    const base = feed.latest()?.baseFeePerGas ?? 0n
    const fees = bumpFees(newestAttempt(slot), base, options.maxFeePerGas)
    if (fees === undefined || !slots.has(slot.nonce)) return
    const jobIds = [...slot.jobIds].filter(options.isUndecided)
    if (jobIds.length === 0) {
      slot.to = signer.address
      slot.data = '0x'
      slot.gasLimit = NO_OP_GAS
    }
    const attempt = await sign(slot, fees, jobIds)
    await journal.recordAttempt(attempt)
    slot.attempts.push(attempt)
    slot.bumpedAt = now()
    log.info({ hash: attempt.hash, relayerNonce: slot.nonce }, 'fee raised')
    void send(slot)
  }

  async function closeWith(reason: string, slot: Slot): Promise<void> {
    closed = reason
    reopenCheckAt = now() + REOPEN_CHECK_MS
    log.warn({ relayer: signer.address, reason }, 'lane closed')
    await giveBack(slot)
  }

  /** The nodes refused the transaction: its jobs travel elsewhere, its nonce is freed or filled. */
  async function giveBack(slot: Slot): Promise<void> {
    const lost = { ...slot, jobIds: new Set(slot.jobIds) }
    slot.jobIds.clear()
    if (slot.nonce === nextNonce - 1) {
      const isLowered = await journal.setNextNonce(network, signer.address, nextNonce, slot.nonce)
      if (isLowered) {
        nextNonce = slot.nonce
        await forget(slot)
      }
    }
    options.onLost(lost)
  }

  async function forget(slot: Slot): Promise<void> {
    slots.delete(slot.nonce)
    const place = { network, relayer: signer.address, relayerNonce: slot.nonce }
    await journal.resolve({ slot: place, outcomes: [], now: now() })
  }

  function land(receipt: Receipt): void {
    for (const slot of slots.values()) {
      const attempt = slot.attempts.find(({ hash }) => hash === receipt.transactionHash)
      if (attempt === undefined) continue
      slots.delete(slot.nonce)
      options.onLanded(slot, attempt, receipt)
      return
    }
  }

  async function readChainNonce(): Promise<number> {
    return Number(await rpc.request('eth_getTransactionCount', [signer.address, 'latest']))
  }

  /** Looks for a receipt of the slot; "not found" alone is never taken for "failed". Gives the chain's nonce. */
  async function checkConsumed(slot: Slot): Promise<number> {
    const hashes = slot.attempts.map(({ hash }) => hash)
    const chainNonce = await readChainNonce()
    const [receipt] = await readReceipts(rpc, hashes)
    if (receipt !== undefined) {
      land(receipt)
      return chainNonce
    }
    if (chainNonce <= slot.nonce) return chainNonce
    for (const hash of hashes) {
      const elsewhere = await findReceiptAnywhere(rpc, hash)
      if (elsewhere !== undefined) {
        land(elsewhere)
        return chainNonce
      }
    }
    slot.consumedAt ??= now()
    if (now() - slot.consumedAt < LOST_MS || !slots.has(slot.nonce)) return chainNonce
    log.warn({ relayer: signer.address, relayerNonce: slot.nonce }, 'nonce used by another sender')
    nextNonce = Math.max(nextNonce, chainNonce)
    await forget(slot)
    options.onLost(slot)
    return chainNonce
  }

  async function watch(): Promise<void> {
    const lowest = lowestSlot()
    if (lowest === undefined || now() - lowest.touchedAt < REBROADCAST_MS) return
    lowest.touchedAt = now()
    const chainNonce = await checkConsumed(lowest)
    if (!slots.has(lowest.nonce) || chainNonce > lowest.nonce) return
    for (let gap = chainNonce; gap < lowest.nonce; gap++) await fill(gap)
    if (now() - lowest.bumpedAt >= BUMP_MS) await replace(lowest)
    else await rpc.everywhere('eth_sendRawTransaction', [newestAttempt(lowest).rawTransaction])
  }

  /** A hole blocks every later nonce, so it is filled with a transaction that does nothing. */
  async function fill(nonce: number): Promise<void> {
    const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, options.maxFeePerGas)
    if (fees === undefined || slots.has(nonce)) return
    await openAt(nonce, { to: signer.address, data: '0x', gasLimit: NO_OP_GAS }, [], fees)
  }

  async function openAt(
    nonce: number,
    call: { to: Address; data: Hex; gasLimit: bigint },
    jobIds: string[],
    fees: Fees,
  ): Promise<void> {
    const openedAt = now()
    const blank = {
      nonce,
      ...call,
      jobIds: new Set(jobIds),
      openedAt,
      touchedAt: openedAt,
      bumpedAt: openedAt,
      consumedAt: undefined,
    }
    const attempt = await sign(blank, fees, jobIds)
    await journal.recordAttempt(attempt)
    const slot: Slot = { ...blank, attempts: [attempt] }
    slots.set(nonce, slot)
    nextNonce = Math.max(nextNonce, nonce + 1)
    void send(slot)
  }

  async function maybeReopen(): Promise<void> {
    if (closed === undefined || now() < reopenCheckAt) return
    reopenCheckAt = now() + REOPEN_CHECK_MS
    const balance = BigInt(
      (await rpc.request('eth_getBalance', [signer.address, 'latest'])) as string,
    )
    const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, options.maxFeePerGas)
    if (fees === undefined || balance < fees.maxFeePerGas * REOPEN_GAS) return
    closed = undefined
    log.info({ relayer: signer.address }, 'lane open again')
    for (const slot of slots.values()) void send(slot)
  }

  function lowestSlot(): Slot | undefined {
    let lowest: Slot | undefined
    for (const slot of slots.values()) if (slot.nonce < (lowest?.nonce ?? Infinity)) lowest = slot
    return lowest
  }

  return {
    address: signer.address,
    isSigning: false,
    closedBecause: () => closed,
    inFlight: () => slots.size,
    open: (call, jobIds, fees) => openAt(nextNonce, call, jobIds, fees),
    holds(hash) {
      for (const slot of slots.values()) {
        if (slot.attempts.some((attempt) => attempt.hash === hash)) return true
      }
      return false
    },
    land,
    async tick() {
      if (isTicking) return
      isTicking = true
      try {
        await maybeReopen()
        await watch()
      } finally {
        isTicking = false
      }
    },
    async resume() {
      const attempts = await journal.openAttempts(network, signer.address)
      for (const attempt of attempts) {
        const same = attempts.filter(({ relayerNonce }) => relayerNonce === attempt.relayerNonce)
        if (!slots.has(attempt.relayerNonce))
          slots.set(attempt.relayerNonce, restoreSlot(same, now()))
      }
      await alignNonce()
      const receipts = await readReceipts(
        rpc,
        attempts.map(({ hash }) => hash),
      )
      for (const receipt of receipts) land(receipt)
      for (const slot of [...slots.values()].sort((a, b) => a.nonce - b.nonce)) void send(slot)
    },
    pendingMs: () => {
      const lowest = lowestSlot()
      return lowest === undefined ? 0 : now() - lowest.openedAt
    },
  }

  /** The journal's counter with the chain as its floor; lowered only when nothing of ours is under way. */
  async function alignNonce(): Promise<void> {
    const kept = await journal.findNextNonce(network, signer.address)
    const chainNonce = await readChainNonce()
    nextNonce = Math.max(kept ?? 0, chainNonce)
    if (kept === undefined || slots.size > 0 || chainNonce >= kept) return
    if (await journal.setNextNonce(network, signer.address, kept, chainNonce))
      nextNonce = chainNonce
  }
}

/** A lane opens again when it can pay for a few payments. */
const REOPEN_GAS = 500_000n
