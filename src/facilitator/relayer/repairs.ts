import { readGasMoney } from '../../chain/accounts.js'
import { type Fees, quoteFees } from './gas.js'
import {
  checkConsumed,
  closedBy,
  giveBack,
  type LaneState,
  landAnywhere,
  landMissed,
  noOp,
  offer,
  openAt,
  readChainNonce,
  replace,
  send,
} from './sending.js'
import { newestAttempt, type Slot } from './slot.js'

/** The same bytes are sent again when the lowest nonce has not been mined for this long. */
const REBROADCAST_MS = 2_500
/** The fee is raised after this, and again after as long. */
const BUMP_MS = 6_000
/** A replacement at a higher fee gets this long before the next one, while the base fee runs away. */
const CATCH_UP_MS = 1_000
/** Milliseconds between two reads of receipts of slots that were set aside, in addition to the block feed. */
const CHECK_ASIDE_MS = 3_000
/** A nonce that is used is not asked about any more after this. */
const ASIDE_MS = 60_000
/** Milliseconds between two checks whether a closed lane may open again. */
const CHECK_REOPENING_MS = 3_000
/** A lane opens again when it can pay for a few payments. */
const REOPEN_GAS = 500_000n

/** Finds and repairs what no answer of a node showed, such as lost transactions, missed receipts and gaps. */
export async function repairStuck(lane: LaneState): Promise<void> {
  const { rpc, slots, now } = lane
  await checkAside(lane)
  if (lane.closed !== undefined) {
    await giveBackLate(lane)
    return checkReopening(lane)
  }
  noteNext(lane)
  await followBaseFee(lane)
  const stale = slots
    .open()
    .filter((slot) => slot.consumedAt !== undefined || now() - slot.touchedAt >= REBROADCAST_MS)
  await landMissed(lane, stale)
  const lowest = stale.find(slots.isOpen)
  if (lowest === undefined) return
  // When the node does not answer, the slots are checked again at the next tick.
  const chainNonce = await checkConsumed(lane, lowest)
  for (const slot of stale) slot.touchedAt = now()
  if (!slots.isOpen(lowest) || chainNonce > lowest.nonce) return
  await fillGaps(lane, chainNonce, lowest.nonce)
  const passedOver = chainNonce === lowest.nonce && isPassedOver(lane, lowest) ? lowest : undefined
  if (passedOver !== undefined) await replace(lane, passedOver)
  // All of them: a node that lost one has usually lost its neighbours too.
  for (const slot of stale.filter(slots.isOpen)) {
    if (slot === passedOver) continue
    await rpc.everywhere('eth_sendRawTransaction', [newestAttempt(slot).rawTransaction])
    await send(lane, slot)
  }
}

/** Notes which slot the chain can take next, and since when. */
function noteNext(lane: LaneState): void {
  const [slot] = lane.slots.open()
  if (slot === lane.next?.slot) return
  lane.next = slot && { slot, since: lane.now(), block: lane.feed.latest()?.number ?? 0 }
}

/**
 * Returns whether blocks passed the slot over. One behind a lower nonce was not: no block could take it, and a higher fee
 * changes nothing. While a chain makes no blocks, a growing tip would only cost more later.
 */
function isPassedOver({ feed, next, now }: LaneState, slot: Slot): boolean {
  if (next?.slot !== slot) return false
  const since = Math.max(slot.bumpedAt, next.since)
  const block = Math.max(slot.bumpedBlock, next.block)
  return now() - since >= BUMP_MS && (feed.latest()?.number ?? 0) > block
}

/** Gives back a transaction that was being signed while the lane closed; it is not sent. */
async function giveBackLate(lane: LaneState): Promise<void> {
  for (const slot of lane.slots.open().reverse()) {
    if (slot.jobIds.size > 0) await giveBack(lane, slot)
  }
}

/** Replaces transactions that offer less than the base fee: they cannot be mined, and nodes forget them. */
async function followBaseFee(lane: LaneState): Promise<void> {
  const baseFee = lane.feed.latest()?.baseFeePerGas ?? 0n
  for (const slot of lane.slots.open()) {
    const isUnderwater = newestAttempt(slot).maxFeePerGas < baseFee
    if (isUnderwater && lane.now() - slot.bumpedAt >= CATCH_UP_MS) await replace(lane, slot)
  }
}

/** Asks for receipts that the block feed missed of slots set aside: their gas is spent all the same. */
async function checkAside(lane: LaneState): Promise<void> {
  const { slots, now } = lane
  if (slots.aside().length === 0 || now() - lane.asideCheckedAt < CHECK_ASIDE_MS) return
  lane.asideCheckedAt = now()
  const chainNonce = await readChainNonce(lane)
  for (const slot of slots.aside()) {
    if (chainNonce <= slot.nonce || (await landAnywhere(lane, slot))) continue
    slot.consumedAt ??= now()
    if (now() - slot.consumedAt > ASIDE_MS) await forget(lane, slot)
  }
}

/** Closes the slot without a receipt. */
async function forget(lane: LaneState, slot: Slot): Promise<void> {
  const { network, signer, journal, slots, leases } = lane
  slots.remove(slot)
  const { nonce: relayerNonce, epoch } = slot
  const place = { network, relayer: signer.address, relayerNonce, epoch }
  await journal.resolve({ slot: place, outcomes: [], now: leases.now() })
}

/**
 * Finds the gaps below the lowest open slot, which block every later nonce. The next payment takes a gap; when none has
 * come until the next check, a transaction that does nothing takes it.
 */
async function fillGaps(lane: LaneState, chainNonce: number, lowest: number): Promise<void> {
  const missing = Array.from(
    { length: Math.max(0, lowest - chainNonce) },
    (_, i) => chainNonce + i,
  ).filter((nonce) => !lane.slots.isTaken(nonce))
  const waited = missing.filter((nonce) => lane.gaps.includes(nonce))
  lane.gaps = missing.filter((nonce) => !waited.includes(nonce))
  const fees = quoteFees(lane.feed.latest()?.baseFeePerGas ?? 0n, lane.maxFeePerGas)
  if (fees === undefined || lane.signer.failure() !== undefined) return
  for (const nonce of waited) await openAt(lane, nonce, noOp(lane), [], fees)
}

/** Opens a closed lane once it surely can send: payments are not tried on it. */
async function checkReopening(lane: LaneState): Promise<void> {
  const { rpc, feed, signer, slots, log, now } = lane
  if (now() - lane.reopeningCheckedAt < CHECK_REOPENING_MS) return
  lane.reopeningCheckedAt = now()
  const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, lane.maxFeePerGas)
  if (fees === undefined) return
  const gasMoney = await readGasMoney(rpc, signer.address)
  if (gasMoney < fees.maxFeePerGas * REOPEN_GAS) return
  let offered: Slot | undefined
  if (lane.closed === closedBy.block) {
    offered = await offerNothing(lane, fees)
    if (offered === undefined) return
  }
  lane.closed = undefined
  log.info({ relayer: signer.address }, 'lane open again')
  // Their jobs are sent elsewhere; the slots only have to fill their nonces.
  for (const slot of slots.open()) if (slot !== offered) await replace(lane, slot)
}

/** Sends a transaction that does nothing, the only way to ask whether nodes take any of this wallet. */
async function offerNothing(lane: LaneState, fees: Fees): Promise<Slot | undefined> {
  const { slots } = lane
  if (slots.open().length === 0) await openAt(lane, slots.nextNonce, noOp(lane), [], fees)
  const [lowest] = slots.open()
  if (lowest === undefined) return undefined
  // The jobs it carried are sent elsewhere by now.
  if (newestAttempt(lowest).jobIds.length > 0) await replace(lane, lowest)
  const problem = (await offer(lane, lowest))?.problem
  return problem === 'senderBlocked' || problem === 'unknown' ? undefined : lowest
}

/** Takes a gap that the next transaction should fill. */
export function takeGap(lane: LaneState): number | undefined {
  lane.gaps = lane.gaps.filter((nonce) => !lane.slots.isTaken(nonce))
  return lane.gaps.shift()
}
