import { readGasMoney } from '../../../chain/accounts.js'
import { type Fees, quoteFees } from '../gas.js'
import { closedBy, type Lane, type LaneOptions } from './lane.js'
import { newestAttempt, type Slot, steadyMs } from './slot.js'

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

/** Finds and repairs what no answer of a node showed a lane, such as lost transactions, missed receipts and gaps. */
export class LaneRepairs {
  readonly lane: Lane
  readonly #options: Omit<LaneOptions, 'signer'>
  #isTicking = false
  /** The lowest open slot, since when it is that, and the newest block of then: no block could take its transaction before. */
  #next: { slot: Slot; since: number; block: number } | undefined
  #asideCheckedAt = Number.NEGATIVE_INFINITY
  #reopeningCheckedAt = Number.NEGATIVE_INFINITY

  constructor(lane: Lane, options: Omit<LaneOptions, 'signer'>) {
    this.lane = lane
    this.#options = options
  }

  /** Repairs what is stuck, one run at a time; runs twice a second. Never rejects. */
  async tick(): Promise<void> {
    this.lane.trySigner()
    if (this.#isTicking || !this.lane.isHeld()) return
    this.#isTicking = true
    try {
      await this.#repairStuck()
    } catch (err) {
      this.#options.log.warn({ err, relayer: this.lane.address }, 'lane could not be checked')
    } finally {
      this.#isTicking = false
    }
  }

  async #repairStuck(): Promise<void> {
    const lane = this.lane
    const { rpc, slots } = this.#options
    await this.#checkAside()
    if (lane.closed !== undefined) {
      await this.#giveBackLate()
      return this.#checkReopening()
    }
    this.#noteNext()
    await this.#followBaseFee()
    const stale = slots
      .open()
      .filter((it) => it.consumedAt !== undefined || steadyMs() - it.touchedAt >= REBROADCAST_MS)
    await lane.landMissed(stale)
    const lowest = stale.find(slots.isOpen)
    if (lowest === undefined) return
    // When the node does not answer, the slots are checked again at the next tick.
    const chainNonce = await lane.checkConsumed(lowest)
    for (const slot of stale) slot.touchedAt = steadyMs()
    if (!slots.isOpen(lowest) || chainNonce > lowest.nonce) return
    await this.#fillGaps(chainNonce, lowest.nonce)
    const passedOver =
      chainNonce === lowest.nonce && this.#isPassedOver(lowest) ? lowest : undefined
    if (passedOver !== undefined) await lane.replace(passedOver)
    // All of them: a node that lost one has usually lost its neighbours too.
    for (const slot of stale.filter(slots.isOpen)) {
      if (slot === passedOver) continue
      await rpc.everywhere('eth_sendRawTransaction', [newestAttempt(slot).rawTransaction])
      await lane.send(slot)
    }
  }

  /** Notes which slot the chain can take next, and since when. */
  #noteNext(): void {
    const { slots, feed } = this.#options
    const [slot] = slots.open()
    if (slot === this.#next?.slot) return
    this.#next = slot && { slot, since: steadyMs(), block: feed.latest()?.number ?? 0 }
  }

  /**
   * Returns whether blocks passed the slot over. One behind a lower nonce was not: no block could take it, and a higher fee
   * changes nothing. While a chain makes no blocks, a growing tip would only cost more later.
   */
  #isPassedOver(slot: Slot): boolean {
    const next = this.#next
    if (next?.slot !== slot) return false
    const since = Math.max(slot.bumpedAt, next.since)
    const block = Math.max(slot.bumpedBlock, next.block)
    const isOld = steadyMs() - since >= BUMP_MS
    return isOld && (this.#options.feed.latest()?.number ?? 0) > block
  }

  /** Gives back a transaction that was being signed while the lane closed; it is not sent. */
  async #giveBackLate(): Promise<void> {
    for (const slot of this.#options.slots.open().reverse()) {
      if (slot.jobIds.size > 0) await this.lane.giveBack(slot)
    }
  }

  /** Replaces transactions that offer less than the base fee: they cannot be mined, and nodes forget them. */
  async #followBaseFee(): Promise<void> {
    const baseFee = this.#baseFee()
    for (const slot of this.#options.slots.open()) {
      const isUnderwater = newestAttempt(slot).maxFeePerGas < baseFee
      const isDue = steadyMs() - slot.bumpedAt >= CATCH_UP_MS
      if (isUnderwater && isDue) await this.lane.replace(slot)
    }
  }

  /** Asks for receipts that the block feed missed of slots set aside: their gas is spent all the same. */
  async #checkAside(): Promise<void> {
    const { slots } = this.#options
    if (slots.aside().length === 0 || steadyMs() - this.#asideCheckedAt < CHECK_ASIDE_MS) return
    this.#asideCheckedAt = steadyMs()
    const chainNonce = await this.lane.readChainNonce()
    for (const slot of slots.aside()) {
      if (chainNonce <= slot.nonce || (await this.lane.landAnywhere(slot))) continue
      slot.consumedAt ??= steadyMs()
      if (steadyMs() - slot.consumedAt > ASIDE_MS) await this.#forget(slot)
    }
  }

  /** Closes the slot without a receipt. */
  async #forget(slot: Slot): Promise<void> {
    const { network, journal, slots, leases } = this.#options
    slots.remove(slot)
    const { nonce: relayerNonce, epoch } = slot
    const place = { network, relayer: this.lane.address, relayerNonce, epoch }
    await journal.resolve({ slot: place, outcomes: [], now: leases.now() })
  }

  /**
   * Finds the gaps below the lowest open slot, which block every later nonce. The next payment takes a gap; when none has
   * come until the next check, a transaction that does nothing takes it.
   */
  async #fillGaps(chainNonce: number, lowest: number): Promise<void> {
    const waited = this.#options.slots.noteGaps(chainNonce, lowest)
    const fees = this.#quoteFees()
    if (fees === undefined || !this.lane.canSign()) return
    for (const nonce of waited) await this.lane.fill(nonce, fees)
  }

  /** Opens a closed lane once it surely can send: payments are not tried on it. */
  async #checkReopening(): Promise<void> {
    const lane = this.lane
    const { rpc, slots } = this.#options
    if (steadyMs() - this.#reopeningCheckedAt < CHECK_REOPENING_MS) return
    this.#reopeningCheckedAt = steadyMs()
    const fees = this.#quoteFees()
    if (fees === undefined) return
    const gasMoney = await readGasMoney(rpc, lane.address)
    if (gasMoney < fees.maxFeePerGas * REOPEN_GAS) return
    let offered: Slot | undefined
    if (lane.closed === closedBy.block) {
      offered = await this.#offerNothing(fees)
      if (offered === undefined) return
    }
    lane.reopen()
    // Their jobs are sent elsewhere; the slots only have to fill their nonces.
    for (const slot of slots.open()) if (slot !== offered) await lane.replace(slot)
  }

  /** Sends a transaction that does nothing, the only way to ask whether nodes take any of this wallet. */
  async #offerNothing(fees: Fees): Promise<Slot | undefined> {
    const lane = this.lane
    const { slots } = this.#options
    if (slots.open().length === 0) await lane.fill(slots.nextNonce, fees)
    const [lowest] = slots.open()
    if (lowest === undefined) return undefined
    // The jobs it carried are sent elsewhere by now.
    if (newestAttempt(lowest).jobIds.length > 0) await lane.replace(lowest)
    const problem = (await lane.offer(lowest))?.problem
    return problem === 'senderBlocked' || problem === 'unknown' ? undefined : lowest
  }

  #baseFee(): bigint {
    return this.#options.feed.latest()?.baseFeePerGas ?? 0n
  }

  /** Returns fees of a new transaction; `undefined` while the base fee is above the cap. */
  #quoteFees(): Fees | undefined {
    return quoteFees(this.#baseFee(), this.#options.maxFeePerGas)
  }
}
