import type { Address, Hex } from 'viem'
import { type Receipt, readReceipts } from '../chain/receipts.js'
import { classifySendError } from '../chain/send-errors.js'
import { LeaseLostError } from '../store/leases.js'
import type { Attempt } from '../store/settlement-journal.js'
import { bumpFees, type Fees } from './fees.js'
import { type LaneCore, type LaneOptions, NO_OP_GAS, type SlotCall } from './lane-core.js'
import { createSendRepairs } from './send-repairs.js'
import { newestAttempt, newSlot, restoreSlot, type Slot } from './slot.js'
import { createWatchdog } from './watchdog.js'

export interface Lane {
  address: Address
  /** Why it takes no payments at present; `undefined` while it does. */
  closedBecause(): string | undefined
  inFlight(): number
  /** Nonces of one wallet are signed one after another; true while one is. */
  isSigning: boolean
  /** Its lease is about to be given up: it takes nothing new. */
  isLeaving: boolean
  /** Whether this process works for the wallet at this moment, and has taken up what it left. */
  isHeld(): boolean
  /** The epoch of the lease under which it was taken up. */
  epoch(): number | undefined
  /** Signs, keeps and sends. Rejects only when nothing was kept, so nothing was sent. */
  open(call: SlotCall, jobIds: string[], fees: Fees): Promise<void>
  holds(hash: Hex): boolean
  /** Closes the slot of this receipt, if it is one of this lane's. */
  land(receipt: Receipt): void
  /** Repairs what is stuck; run twice a second. */
  tick(): Promise<void>
  /** Takes up what an earlier process left, under the lease of this epoch. */
  resume(epoch: number): Promise<void>
  /** Lets go of everything: another process works for the wallet. Gives the slots that were open. */
  drop(): Slot[]
  /** The oldest open slot's age in milliseconds, 0 when there is none. */
  pendingMs(): number
}

const SEND_TIMEOUT_MS = 5_000

/** One relayer wallet on one network: its nonces, its transactions in flight, and their repair. */
export function createLane(options: LaneOptions): Lane {
  const { network, chainId, signer, rpc, feed, journal, now, log } = options
  const slots = new Map<number, Slot>()
  const core: LaneCore = {
    ...options,
    slots,
    epoch: undefined,
    closed: undefined,
    nextNonce: 0,
    openAt,
    send,
    replace,
    forget,
    land,
    readChainNonce,
  }
  const watchdog = createWatchdog(core)
  const repairs = createSendRepairs(core, watchdog)
  /** Sends of one wallet go out one after another, so that a node sees its nonces in order. */
  let sending: Promise<void> = Promise.resolve()
  let isTicking = false
  let isReady = false

  /** Whether what was begun under this epoch may still be sent. */
  const mayWork = (epoch = core.epoch) =>
    epoch !== undefined && core.epoch === epoch && options.heldEpoch() === epoch

  function requireEpoch(): number {
    if (core.epoch === undefined || !mayWork()) {
      throw new LeaseLostError(`another process works for ${signer.address}, or may by now`)
    }
    return core.epoch
  }

  function hashOf(rawTransaction: Hex): Hex {
    const digest = options.keccak256(Buffer.from(rawTransaction.slice(2), 'hex'))
    return `0x${Buffer.from(digest).toString('hex')}`
  }

  async function sign(
    nonce: number,
    { to, data, gasLimit }: SlotCall,
    fees: Fees,
    jobIds: string[],
  ): Promise<Attempt> {
    const epoch = requireEpoch()
    const { maxFeePerGas, maxPriorityFeePerGas } = fees
    const fields = { gasLimit, maxFeePerGas, maxPriorityFeePerGas }
    const rawTransaction = await signer.sign({ chainId, nonce, to, data, ...fields })
    const attempt: Attempt = {
      hash: hashOf(rawTransaction),
      network,
      relayer: signer.address,
      relayerNonce: nonce,
      rawTransaction,
      ...fields,
      createdAt: now(),
      jobIds,
    }
    await journal.recordAttempt(attempt, epoch)
    // Lost while it was kept: whoever has the wallet now finds it there.
    if (core.epoch !== epoch) throw new LeaseLostError(`${signer.address} went to another process`)
    options.onSigned(attempt)
    return attempt
  }

  function send(slot: Slot): Promise<void> {
    sending = sending.then(async () => {
      if (slots.get(slot.nonce) !== slot || core.closed !== undefined) return
      if (!mayWork(slot.epoch)) return
      slot.touchedAt = now()
      const { rawTransaction, hash } = newestAttempt(slot)
      try {
        await rpc.request('eth_sendRawTransaction', [rawTransaction], {
          timeoutMs: SEND_TIMEOUT_MS,
        })
      } catch (err) {
        const problem = classifySendError(err)
        if (problem !== 'alreadyKnown') {
          const settlementIds = [...slot.jobIds]
          log.warn({ settlementIds, hash, relayerNonce: slot.nonce, problem, err }, 'send refused')
        }
        // A repair that fails is left to the watchdog: the signed bytes are kept.
        await repairs[problem](slot).catch((err) => log.warn({ err }, 'repair failed'))
      }
      feed.poke()
    })
    return sending
  }

  async function replace(slot: Slot): Promise<void> {
    const base = feed.latest()?.baseFeePerGas ?? 0n
    const fees = bumpFees(newestAttempt(slot), base, options.maxFeePerGas)
    if (fees === undefined || slots.get(slot.nonce) !== slot) return
    const jobIds = [...slot.jobIds].filter(options.isUndecided)
    if (jobIds.length === 0) {
      Object.assign(slot, { to: signer.address, data: '0x', gasLimit: NO_OP_GAS })
    }
    const attempt = await sign(slot.nonce, slot, fees, jobIds)
    slot.attempts.push(attempt)
    slot.bumpedAt = now()
    const { hash } = attempt
    log.info({ settlementIds: jobIds, hash, relayerNonce: slot.nonce }, 'fee raised')
    void send(slot)
  }

  async function forget(slot: Slot): Promise<void> {
    slots.delete(slot.nonce)
    const { nonce: relayerNonce, epoch } = slot
    const place = { network, relayer: signer.address, relayerNonce, epoch }
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

  async function openAt(
    nonce: number,
    call: SlotCall,
    jobIds: string[],
    fees: Fees,
  ): Promise<void> {
    const epoch = requireEpoch()
    const attempt = await sign(nonce, call, fees, jobIds)
    const slot = newSlot(attempt, call, epoch, now())
    slots.set(nonce, slot)
    feed.setBusy(true)
    core.nextNonce = Math.max(core.nextNonce, nonce + 1)
    void send(slot)
  }

  /** The journal's counter with the chain as its floor; lowered only when nothing of ours is under way. */
  async function alignNonce(epoch: number): Promise<void> {
    const kept = await journal.findNextNonce(network, signer.address)
    const chainNonce = await readChainNonce()
    core.nextNonce = Math.max(kept ?? 0, chainNonce)
    if (kept === undefined || slots.size > 0 || chainNonce >= kept) return
    const isLowered = await journal.setNextNonce(network, signer.address, kept, chainNonce, epoch)
    if (isLowered) core.nextNonce = chainNonce
  }

  return {
    address: signer.address,
    isSigning: false,
    isLeaving: false,
    isHeld: () => isReady && mayWork(),
    epoch: () => core.epoch,
    closedBecause: () => core.closed,
    inFlight: () => slots.size,
    open: (call, jobIds, fees) => openAt(watchdog.takeGap() ?? core.nextNonce, call, jobIds, fees),
    holds(hash) {
      return [...slots.values()].some((slot) => slot.attempts.some((it) => it.hash === hash))
    },
    land,
    async tick() {
      if (isTicking || !isReady || !mayWork()) return
      isTicking = true
      try {
        await watchdog.look()
      } finally {
        isTicking = false
      }
    },
    async resume(epoch) {
      core.epoch = epoch
      const attempts = await journal.openAttempts(network, signer.address)
      for (const { relayerNonce } of attempts) {
        if (slots.has(relayerNonce)) continue
        const same = attempts.filter((attempt) => attempt.relayerNonce === relayerNonce)
        slots.set(relayerNonce, restoreSlot(same, epoch, now()))
      }
      await alignNonce(epoch)
      const receipts = await readReceipts(
        rpc,
        attempts.map(({ hash }) => hash),
      )
      for (const receipt of receipts) land(receipt)
      isReady = true
      for (const slot of [...slots.values()].sort((a, b) => a.nonce - b.nonce)) void send(slot)
    },
    drop() {
      const left = [...slots.values()]
      slots.clear()
      isReady = false
      core.epoch = undefined
      core.closed = undefined
      this.isLeaving = false
      return left
    },
    pendingMs() {
      const opened = [...slots.values()].map((slot) => slot.openedAt)
      return opened.length === 0 ? 0 : now() - Math.min(...opened)
    },
  }
}
