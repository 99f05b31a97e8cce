import { findReceiptAnywhere, readReceipts } from '../chain/receipts.js'
import { quoteFees } from './fees.js'
import { giveBack } from './give-back.js'
import { type LaneCore, NO_OP_GAS } from './lane-core.js'
import { createReopening } from './reopening.js'
import { newestAttempt, type Slot } from './slot.js'

export interface Watchdog {
  look(): Promise<void>
  /** Looks for a receipt of the slot; "not found" alone is never taken for "failed". Gives the chain's nonce. */
  checkConsumed(slot: Slot): Promise<number>
  /** A hole in the nonces that the next transaction should fill. */
  takeGap(): number | undefined
}

/** The same bytes again when the lowest nonce has not been mined for this long. */
const REBROADCAST_MS = 2_500
/** Then more gas money, and again after as long. */
const BUMP_MS = 6_000
/** A nonce that is used on chain although no node shows a receipt of ours is given up after this. */
const LOST_MS = 1_500
/** A dearer replacement gets this long before the next one, while the base fee runs away. */
const CATCH_UP_MS = 1_000
/** How often receipts of what was set aside are asked for, beside the block feed. */
const ASIDE_LOOK_MS = 3_000
/** A nonce that is used is not asked about any more after this. */
const ASIDE_MS = 60_000

/** Finds and repairs what no answer of a node told: lost transactions, missed receipts, holes, empty purses. */
export function createWatchdog(core: LaneCore): Watchdog {
  const { rpc, feed, signer, slots, log, now } = core
  const reopening = createReopening(core)
  let gaps: number[] = []
  let asideLookAt = 0

  async function look(): Promise<void> {
    await lookAside()
    if (core.closed !== undefined) {
      await giveBackLate()
      return reopening.look()
    }
    await followBaseFee()
    const stale = slots
      .open()
      .filter((slot) => slot.consumedAt !== undefined || now() - slot.touchedAt >= REBROADCAST_MS)
    if (stale.length === 0) return
    await landMissed(stale)
    const lowest = stale.find(slots.isOpen)
    if (lowest === undefined) return
    // Only what could be looked at waits for its next turn.
    const chainNonce = await checkConsumed(lowest)
    for (const slot of stale) slot.touchedAt = now()
    if (!slots.isOpen(lowest) || chainNonce > lowest.nonce) return
    await fillGaps(chainNonce, lowest.nonce)
    if (isPassedOver(lowest)) return core.replace(lowest)
    // All of them: a node that lost one has usually lost its neighbours too.
    for (const slot of stale.filter(slots.isOpen)) {
      await rpc.everywhere('eth_sendRawTransaction', [newestAttempt(slot).rawTransaction])
      await core.send(slot)
    }
  }

  /** While a chain makes no blocks, a tip that grows would only be dear once it does. */
  function isPassedOver({ bumpedAt, bumpedBlock }: Slot): boolean {
    return now() - bumpedAt >= BUMP_MS && (feed.latest()?.number ?? 0) > bumpedBlock
  }

  /** What was being signed while the lane closed was not given back with the rest, and is not sent. */
  async function giveBackLate(): Promise<void> {
    for (const slot of slots.open().reverse()) if (slot.jobIds.size > 0) await giveBack(core, slot)
  }

  /** What offers less than the base fee cannot be mined, and nodes forget it. */
  async function followBaseFee(): Promise<void> {
    const baseFee = feed.latest()?.baseFeePerGas ?? 0n
    for (const slot of slots.open()) {
      const isUnderwater = newestAttempt(slot).maxFeePerGas < baseFee
      if (isUnderwater && now() - slot.bumpedAt >= CATCH_UP_MS) await core.replace(slot)
    }
  }

  /** What the block feed missed of transactions nobody counts on: their gas is spent all the same. */
  async function lookAside(): Promise<void> {
    if (slots.aside().length === 0 || now() - asideLookAt < ASIDE_LOOK_MS) return
    asideLookAt = now()
    const chainNonce = await core.readChainNonce()
    for (const slot of slots.aside()) {
      if (chainNonce <= slot.nonce || (await landAnywhere(slot))) continue
      slot.consumedAt ??= now()
      if (now() - slot.consumedAt > ASIDE_MS) await core.forget(slot)
    }
  }

  /** Receipts that the block feed did not see. */
  async function landMissed(stale: Slot[]): Promise<void> {
    const hashes = stale.flatMap((slot) => slot.attempts.map(({ hash }) => hash))
    for (const receipt of await readReceipts(rpc, hashes)) core.land(receipt)
  }

  async function checkConsumed(slot: Slot): Promise<number> {
    const chainNonce = await core.readChainNonce()
    await landMissed([slot])
    if (chainNonce <= slot.nonce || !slots.isOpen(slot)) return chainNonce
    // Whoever used this nonce, the next transaction must not run into the same.
    core.nextNonce = Math.max(core.nextNonce, chainNonce)
    if (await landAnywhere(slot)) return chainNonce
    slot.consumedAt ??= now()
    if (now() - slot.consumedAt < LOST_MS || !slots.isOpen(slot)) return chainNonce
    const settlementIds = [...slot.jobIds]
    const place = { relayer: signer.address, relayerNonce: slot.nonce }
    log.warn({ settlementIds, ...place }, 'nonce used, and no node shows a transaction of ours')
    slots.setAside(slot)
    core.onLost({ ...slot, jobIds: new Set(slot.jobIds) })
    slot.jobIds.clear()
    return chainNonce
  }

  async function landAnywhere(slot: Slot): Promise<boolean> {
    for (const { hash } of slot.attempts) {
      const receipt = await findReceiptAnywhere(rpc, hash)
      if (receipt !== undefined) return core.land(receipt)
    }
    return false
  }

  /** A hole blocks every later nonce: the next payment takes it, and if there is none, a transaction that does nothing. */
  async function fillGaps(chainNonce: number, lowest: number): Promise<void> {
    const holes = Array.from(
      { length: Math.max(0, lowest - chainNonce) },
      (_, i) => chainNonce + i,
    ).filter((nonce) => !slots.isTaken(nonce))
    const waited = holes.filter((nonce) => gaps.includes(nonce))
    gaps = holes.filter((nonce) => !waited.includes(nonce))
    const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, core.maxFeePerGas)
    if (fees === undefined) return
    for (const nonce of waited) {
      await core.openAt(nonce, { to: signer.address, data: '0x', gasLimit: NO_OP_GAS }, [], fees)
    }
  }

  return {
    look,
    checkConsumed,
    takeGap() {
      gaps = gaps.filter((nonce) => !slots.isTaken(nonce))
      return gaps.shift()
    },
  }
}
