import { type Address, bytesToHex, type Hex } from 'viem'
import { readGasMoney, readTransactionCount } from '../../../chain/accounts.js'
import { findReceiptAnywhere, readReceipts } from '../../../chain/receipts.js'
import {
  classifySendError,
  RpcResponseError,
  RpcUnavailableError,
  type SendProblem,
} from '../../../chain/rpc-errors.js'
import { LeaseLostError, laneLease } from '../../../sql/leases.js'
import { GasBudgetError } from '../../journal/budgets.js'
import type { Attempt } from '../../journal/settlement-journal.js'
import type { Examiner } from '../examiner.js'
import { bumpFees, type Fees } from '../gas.js'
import type { TrackedJob, TrackedJobs } from '../jobs.js'
import type { OutcomeKeeper } from '../outcomes.js'
import { type JobQueue, RETRY_MS } from '../queue.js'
import type { RelayerContext } from '../relayer-context.js'
import { hashOfTransaction, type Signer, WatchedSigner } from '../signer.js'
import type { Waste } from '../waste.js'
import {
  newestAttempt,
  newSlot,
  openedAt,
  restoreSlot,
  type Slot,
  type SlotCall,
  type Slots,
  steadyMs,
} from './slot.js'

export interface LaneOptions
  extends Omit<RelayerContext, 'sharing' | 'readCoded' | 'hasMulticall3' | 'guard' | 'maxBatch'> {
  signer: Signer
  /** The nonces of this lane, which the examiner closes when a transaction is mined. */
  slots: Slots
  jobs: TrackedJobs
  queue: JobQueue
  keeper: OutcomeKeeper
  examiner: Examiner
  waste: Waste
}

/** The reasons for which a lane sends nothing, as `/ready` shows them. */
export const closedBy = { balance: 'no gas money', block: 'blocked by the chain' } as const
type ClosedBy = (typeof closedBy)[keyof typeof closedBy]

/** A transaction that only fills its slot. */
const NO_OP_GAS = 21_000n
const SEND_TIMEOUT_MS = 5_000
/** Gas money that was read this long ago, milliseconds, is read again. */
const BALANCE_MS = 500
const NOT_TAKEN = 'the chain node answered something other than the hash of the transaction'
/** Refusals after which no node may have the transaction; the others have a repair that sends another at once. */
const mayBeNowhere = new Set<SendProblem>([
  'insufficientFunds',
  'senderBlocked',
  'gasAboveLimit',
  'unknown',
])
/** A refusal without a cause is followed by another send this soon, since every later nonce waits for it. */
const AGAIN_AFTER_MS = [100, 200, 400, 800]
/** A nonce that is used on chain although no node shows a receipt of ours is given up after this. */
const LOST_MS = 1_500

/** Returns why no process sends with the wallet, as far as this one knows; `undefined` while one does. */
export function closedAnywhere(lane: Pick<Lane, 'closedBecause' | 'holder'>): string | undefined {
  return lane.holder() === 'nobody' ? 'no replica holds its lease' : lane.closedBecause()
}

/**
 * One relayer wallet on one network: its nonces and its transactions in flight. `repairs.ts` finds twice a second what no
 * answer of a node showed.
 */
export class Lane {
  readonly address: Address
  /** True while the dispatcher prepares and signs a transaction: nonces of one wallet are signed one after another. */
  isSigning = false
  /** Set while its lease is about to be given up: it takes nothing new. */
  isLeaving = false
  readonly #options: LaneOptions
  readonly #signer: WatchedSigner
  /** The epoch of the lease under which its slots were resumed; `undefined` while another process has the wallet. */
  #epoch: number | undefined
  /** Everything that an earlier process left is resumed. */
  #isReady = false
  #closed: ClosedBy | undefined
  /** The gas money that is read for the next payment, and when that began. */
  #balance: { read: Promise<bigint | undefined>; readAt: number } | undefined
  /** Sends of one wallet go out one after another, so that a node sees its nonces in order. */
  #sending: Promise<void> = Promise.resolve()

  constructor(options: LaneOptions) {
    this.#options = options
    this.#signer = watchForLane(options)
    this.address = options.signer.address
  }

  // What others may know of it.

  /** Returns why the lane takes no payments now; `undefined` while it does. */
  closedBecause(): string | undefined {
    return this.#closed ?? this.#signer.failure()
  }

  /** Why it sends nothing: its wallet cannot pay, or the chain blocks it. */
  get closed(): ClosedBy | undefined {
    return this.#closed
  }

  inFlight(): number {
    return this.#options.slots.open().length
  }

  /** Returns the jobs of each transaction under way. */
  carried(): TrackedJob[][] {
    const { slots, jobs } = this.#options
    return slots.open().map(({ jobIds }) => jobs.findAll(jobIds))
  }

  /** Returns whether a block may hold a transaction that somebody waits for. */
  isAwaited(): boolean {
    return this.#awaited().length > 0
  }

  /** Returns the age of the oldest open slot in milliseconds, 0 when there is none. */
  pendingMs(): number {
    const opened = this.#awaited().map(openedAt)
    return opened.length === 0 ? 0 : this.#options.leases.now() - Math.min(...opened)
  }

  /** Returns the slots that keep somebody waiting: not those of a closed lane that carry no job. */
  #awaited(): Slot[] {
    const isAwaited = ({ jobIds }: Slot) => jobIds.size > 0 || this.#closed === undefined
    return this.#options.slots.open().filter(isAwaited)
  }

  holds(hash: Hex): boolean {
    return this.#options.slots.find(hash) !== undefined
  }

  /** Begins to read the gas money of an idle wallet, for the payment that it is about to get. */
  expectPayment(): void {
    const { slots, rpc } = this.#options
    const isRead = this.#balance !== undefined && steadyMs() - this.#balance.readAt < BALANCE_MS
    if (isRead || slots.open().length > 0) return
    const read = readGasMoney(rpc, this.address).catch(() => undefined)
    this.#balance = { read, readAt: steadyMs() }
  }

  /** Returns the gas money of an idle wallet, 18-decimal units; `undefined` where sending will show it. Never rejects. */
  readBalance(): Promise<bigint | undefined> {
    if (this.#options.slots.open().length > 0) return Promise.resolve(undefined)
    this.expectPayment()
    const read = this.#balance?.read
    this.#balance = undefined
    return read ?? Promise.resolve(undefined)
  }

  // The lease: without it nothing is signed or sent.

  /** Returns whether this process holds the wallet now, and has resumed its transactions. */
  isHeld(): boolean {
    return this.#isReady && this.#mayWork()
  }

  /** Returns where the wallet's lease is held, as far as this process knows. */
  holder(): 'here' | 'elsewhere' | 'nobody' {
    const { network, leases } = this.#options
    return leases.holder(laneLease(network, this.address))
  }

  /** Returns the epoch of the lease under which the lane was resumed. */
  epoch(): number | undefined {
    return this.#epoch
  }

  /** Returns whether a transaction that was begun under this epoch may still be sent. */
  #mayWork(epoch = this.#epoch): boolean {
    const { leases, network } = this.#options
    const held = leases.held(laneLease(network, this.address))
    return epoch !== undefined && this.#epoch === epoch && held === epoch
  }

  #requireEpoch(): number {
    if (this.#epoch === undefined || !this.#mayWork()) {
      throw new LeaseLostError(`another process works for ${this.address}, or may by now`)
    }
    return this.#epoch
  }

  /** Resumes the transactions that an earlier process left, under the lease of this epoch. */
  async resume(epoch: number): Promise<void> {
    const { network, rpc, journal, slots, jobs, examiner } = this.#options
    this.#epoch = epoch
    const attempts = await journal.openAttempts(network, this.address)
    for (const nonce of new Set(attempts.map(({ relayerNonce }) => relayerNonce))) {
      const same = attempts.filter(({ relayerNonce }) => relayerNonce === nonce)
      const slot = restoreSlot(same, epoch)
      slots.add(slot)
      const hashes = same.map(({ hash }) => hash)
      for (const id of slot.jobIds) jobs.hold(id, hashes)
    }
    await this.#alignNonce(epoch)
    const receipts = await readReceipts(
      rpc,
      attempts.map(({ hash }) => hash),
    )
    for (const receipt of receipts) examiner.land(receipt)
    this.#isReady = true
    this.#signer.tryEarly()
    for (const slot of slots.open()) void this.send(slot)
  }

  /** Sets the next nonce: the journal's counter with the chain as its floor, lowered only when no slot is open. */
  async #alignNonce(epoch: number): Promise<void> {
    const { network, journal, slots } = this.#options
    const kept = await journal.findNextNonce(network, this.address)
    const chainNonce = await this.readChainNonce()
    // A nonce that was given back counts as used while a transaction that was signed for it may land.
    const after = slots.open().map(({ nonce }) => nonce + 1)
    slots.nextNonce = Math.max(kept ?? 0, chainNonce, ...after)
    if (kept === undefined || after.length > 0 || chainNonce >= kept) return
    const isLowered = await journal.setNextNonce(network, this.address, kept, chainNonce, epoch)
    if (isLowered) slots.nextNonce = chainNonce
  }

  /** Forgets everything, because another process holds the wallet. Returns the slots that were open. */
  drop(): Slot[] {
    const { slots } = this.#options
    const left = slots.open()
    slots.clear()
    this.#isReady = false
    this.#epoch = undefined
    this.#closed = undefined
    this.#signer.reset()
    this.isLeaving = false
    return left
  }

  // Signing and sending.

  /** Returns whether its signer signs, as far as is known. */
  canSign(): boolean {
    return this.#signer.failure() === undefined
  }

  /** Tries a signer that failed, once that is due, if the wallet is held here. */
  trySigner(): void {
    if (this.#mayWork()) this.#signer.tryAgain()
  }

  /**
   * Signs, keeps and sends. Rejects only when nothing was kept, so nothing was sent: also for a balance that cannot pay,
   * which closes the lane.
   */
  async open(call: SlotCall, jobIds: string[], fees: Fees, balance?: bigint): Promise<void> {
    if (balance !== undefined && balance < call.gasLimit * fees.maxFeePerGas) {
      this.closeIdle()
      throw new Error(`${this.address} cannot pay for the transaction`)
    }
    return this.#openAt(this.#options.slots.takeNonce(), call, jobIds, fees)
  }

  /** Sends a transaction that does nothing under this nonce; rejects when nothing was kept. */
  fill(nonce: number, fees: Fees): Promise<void> {
    return this.#openAt(nonce, this.#noOp(), [], fees)
  }

  async #openAt(nonce: number, call: SlotCall, jobIds: string[], fees: Fees): Promise<void> {
    const { slots, feed } = this.#options
    const epoch = this.#requireEpoch()
    const free = slots.reserve(nonce)
    try {
      const attempt = await this.#sign(nonce, call, fees, jobIds)
      const slot = newSlot(attempt, call, epoch)
      slots.add(slot)
      feed.setBusy(true)
      slots.nextNonce = Math.max(slots.nextNonce, nonce + 1)
      void this.send(slot)
    } finally {
      free()
    }
  }

  /**
   * Signs a transaction and keeps it, before anybody can send it. Rejects when nothing was kept, with `GasBudgetError` where
   * a budget of gas has no room for it, and also where one of its jobs was decided meanwhile. Rejects as well when the wallet
   * went to another process meanwhile, which then has the transaction.
   */
  async #sign(
    nonce: number,
    { to, data, gasLimit }: SlotCall,
    fees: Fees,
    jobIds: string[],
    isReplacement = false,
  ): Promise<Attempt> {
    const { network, chainId, journal, jobs, waste, leases, keccak256 } = this.#options
    const epoch = this.#requireEpoch()
    const { maxFeePerGas, maxPriorityFeePerGas } = fees
    const fields = { gasLimit, maxFeePerGas, maxPriorityFeePerGas }
    const rawTransaction = await this.#signer.sign({ chainId, nonce, to, data, ...fields })
    const attempt: Attempt = {
      hash: bytesToHex(hashOfTransaction(keccak256, rawTransaction)),
      network,
      relayer: this.address,
      relayerNonce: nonce,
      rawTransaction,
      ...fields,
      createdAt: leases.now(),
      jobIds,
    }
    const members = jobs.findAll(jobIds).filter((entry) => jobs.isOpen(entry))
    // Nobody would answer for the gas of a job that is decided.
    if (members.length < jobIds.length)
      throw new Error('a job of the transaction is decided by now')
    const charged = waste.budgetsOf(members, gasLimit, fees, isReplacement)
    await journal.recordAttempt(attempt, epoch, charged)
    jobs.markSigned(attempt)
    // If the lease is lost during the write, the new owner of the wallet finds the transaction in the journal.
    if (this.#epoch !== epoch) throw new LeaseLostError(`${this.address} went to another process`)
    return attempt
  }

  /** Sends the newest transaction of the slot, and repairs the cause of a refusal. */
  send(slot: Slot): Promise<void> {
    this.#sending = this.#sending.then(() => this.#sendNow(slot))
    return this.#sending
  }

  async #sendNow(slot: Slot): Promise<void> {
    const { slots, feed, log } = this.#options
    if (!slots.isOpen(slot) || this.#closed !== undefined) return
    if (!this.#mayWork(slot.epoch)) return
    const { hash } = newestAttempt(slot)
    const refusal = await this.offer(slot)
    let problem = refusal?.problem
    if (refusal !== undefined) {
      const place = { settlementIds: [...slot.jobIds], hash, relayerNonce: slot.nonce }
      log.warn({ ...place, problem, err: refusal.error }, 'send refused')
      const isRefused = refusal.error instanceof RpcResponseError
      if (isRefused && mayBeNowhere.has(refusal.problem) && (await this.#isTakenAnywhere(slot))) {
        problem = undefined
      }
    }
    // A repair that fails is left to the next tick: the signed bytes are kept.
    if (problem !== undefined && slots.isOpen(slot)) {
      await this.#afterRefusal[problem](slot).catch((err) => log.warn({ err }, 'repair failed'))
    }
    feed.poke()
  }

  /** Sends the newest transaction of the slot once; returns the refusal, if there is one. */
  async offer(slot: Slot): Promise<{ problem: SendProblem; error: unknown } | undefined> {
    const { rpc, keeper } = this.#options
    slot.touchedAt = steadyMs()
    const { hash, rawTransaction } = newestAttempt(slot)
    try {
      const timeoutMs = SEND_TIMEOUT_MS
      const answer = await rpc.request('eth_sendRawTransaction', [rawTransaction], { timeoutMs })
      if (String(answer).toLowerCase() !== hash) throw new RpcUnavailableError(NOT_TAKEN)
    } catch (error) {
      const problem = classifySendError(error)
      if (problem !== 'alreadyKnown') return { problem, error }
    }
    slot.refusals = 0
    void keeper.markTaken(newestAttempt(slot))
    return undefined
  }

  /** Asks every node after one refused; a transaction that each of them refuses is nowhere. */
  async #isTakenAnywhere(slot: Slot): Promise<boolean> {
    const { rpc, keeper } = this.#options
    const attempt = newestAttempt(slot)
    const timeoutMs = SEND_TIMEOUT_MS
    const answers = await rpc.everywhere('eth_sendRawTransaction', [attempt.rawTransaction], {
      timeoutMs,
    })
    const problems = answers.map((answer) =>
      answer.ok ? 'alreadyKnown' : classifySendError(answer.error),
    )
    if (problems.includes('alreadyKnown')) {
      void keeper.markTaken(attempt)
      return true
    }
    const isNowhere = answers.every(
      (answer, i) =>
        !answer.ok && answer.error instanceof RpcResponseError && problems[i] !== 'nonceTooLow',
    )
    if (isNowhere) await keeper.markRefused(attempt)
    return false
  }

  /** Signs the slot again with both fee fields up; every earlier hash stays known, because any may land. */
  async replace(slot: Slot): Promise<void> {
    const { slots, feed, jobs, waste, maxFeePerGas, log } = this.#options
    // Without a signer the slot keeps the transactions it has. A later check tries to replace them again.
    if (!this.canSign()) return
    const base = feed.latest()?.baseFeePerGas ?? 0n
    const known = slot.isGivenUp ? [] : jobs.findAll(slot.jobIds)
    const jobIds = known.filter((entry) => jobs.isOpen(entry)).map(({ job }) => job.id)
    const isCarried = jobIds.length > 0 && (await this.#maySignAgain(jobIds))
    const headroom = waste.headroomFor(jobs.findAll(isCarried ? jobIds : []))
    const fees = bumpFees(newestAttempt(slot), base, maxFeePerGas, headroom)
    if (fees === undefined || !slots.isOpen(slot)) return
    const raised = isCarried ? await this.#signWithinBudget(slot, fees, jobIds) : undefined
    const attempt = raised ?? (await this.#signNothing(slot, fees))
    slot.attempts.push(attempt)
    slot.bumpedAt = steadyMs()
    slot.bumpedBlock = feed.latest()?.number ?? 0
    const { hash } = attempt
    log.info({ settlementIds: attempt.jobIds, hash, relayerNonce: slot.nonce }, 'fee raised')
    void this.send(slot)
  }

  /** Returns whether these jobs may be signed together once more: those that share a transaction must be plain. */
  async #maySignAgain(ids: readonly string[]): Promise<boolean> {
    const { jobs, waste } = this.#options
    const entries = jobs.findAll(ids)
    await waste.readCodes(entries)
    return entries.length === 1 || entries.every(({ coded }) => coded.length === 0)
  }

  /** Resolves with `undefined` when a budget of gas has no room for the transaction. */
  #signWithinBudget(slot: Slot, fees: Fees, jobIds: string[]): Promise<Attempt | undefined> {
    return this.#sign(slot.nonce, slot, fees, jobIds, true).catch((error) => {
      if (error instanceof GasBudgetError) return undefined
      throw error
    })
  }

  /** Signs a transaction that only takes the nonce. Jobs that the slot carried are sent elsewhere once the nonce is taken. */
  #signNothing(slot: Slot, fees: Fees): Promise<Attempt> {
    slot.isGivenUp = true
    Object.assign(slot, this.#noOp())
    return this.#sign(slot.nonce, slot, fees, [])
  }

  #noOp(): SlotCall {
    return { to: this.address, data: '0x', gasLimit: NO_OP_GAS }
  }

  // After a refusal.

  /** One answer to each refusal of a node. The next tick finds everything else: see `repairs.ts`. */
  readonly #afterRefusal: Record<SendProblem, (slot: Slot) => Promise<unknown>> = {
    alreadyKnown: async () => {},
    nonceTooLow: (slot) => this.checkConsumed(slot),
    // There is a gap below it, which a tick fills.
    nonceTooHigh: async () => {},
    underpriced: (slot) => this.replace(slot),
    feeBelowBase: (slot) => this.replace(slot),
    intrinsicGas: (slot) => {
      slot.gasLimit = (slot.gasLimit * 3n) / 2n
      return this.replace(slot)
    },
    insufficientFunds: () => this.#closeWith(closedBy.balance),
    senderBlocked: () => this.#closeWith(closedBy.block),
    gasAboveLimit: (slot) => this.giveBack(slot, RETRY_MS),
    unknown: async (slot) => {
      const wait = AGAIN_AFTER_MS[slot.refusals++]
      if (wait !== undefined) setTimeout(() => void this.send(slot), wait)
    },
  }

  /** Closes an idle lane whose wallet cannot pay; for a wallet with transactions under way, the nodes refuse those. */
  closeIdle(): void {
    const { slots, log } = this.#options
    if (!this.#isReady || this.#closed !== undefined || slots.open().length > 0) return
    this.#closed = closedBy.balance
    log.warn({ relayer: this.address, reason: this.#closed }, 'lane closed')
  }

  /** Closes the lane. Its wallet cannot pay for any transaction in flight, or may not send any: all are given back. */
  async #closeWith(reason: ClosedBy): Promise<void> {
    const { slots, log } = this.#options
    if (this.#closed === undefined) {
      log.warn({ relayer: this.address, reason }, 'lane closed')
    }
    this.#closed = reason
    for (const slot of slots.open().reverse()) await this.giveBack(slot)
  }

  reopen(): void {
    this.#closed = undefined
    this.#options.log.info({ relayer: this.address }, 'lane open again')
  }

  /**
   * Gives back a slot of which nodes take no transaction: its jobs are sent elsewhere, after a rest where each wallet would be
   * refused, and its nonce is freed or filled.
   */
  async giveBack(slot: Slot, restMs = 0): Promise<void> {
    const { network, journal, slots, queue } = this.#options
    const jobIds = new Set(slot.jobIds)
    slot.jobIds.clear()
    try {
      if (slots.isOpen(slot) && slot.nonce === slots.nextNonce - 1) {
        const { nextNonce: expected } = slots
        const { nonce, epoch } = slot
        const isLowered = await journal.setNextNonce(network, this.address, expected, nonce, epoch)
        if (isLowered && slots.isOpen(slot)) {
          slots.nextNonce = slot.nonce
          slots.setAside(slot)
        }
      }
    } finally {
      this.#release(jobIds, (entry) => queue.putBack(entry, restMs))
    }
  }

  /** Notes that a slot holds these jobs no longer; those that no other slot holds go on with `next`. */
  #release(ids: Set<string>, next: (entry: TrackedJob) => void): void {
    const { jobs, queue } = this.#options
    for (const entry of jobs.leave(ids)) if (entry.liveSlots === 0) next(entry)
    queue.noteChange()
  }

  // What the chain has of it.

  readChainNonce(): Promise<number> {
    return readTransactionCount(this.#options.rpc, this.address)
  }

  /** Lands receipts that the block feed did not see. */
  async landMissed(stale: Slot[]): Promise<void> {
    const { rpc, examiner } = this.#options
    const hashes = stale.flatMap((slot) => slot.attempts.map(({ hash }) => hash))
    for (const receipt of await readReceipts(rpc, hashes)) examiner.land(receipt)
  }

  /**
   * Asks whether the nonce of the slot is used and lands its receipt; "not found" alone never counts as "failed". Returns
   * the next nonce of the chain.
   */
  async checkConsumed(slot: Slot): Promise<number> {
    const { slots, examiner, log } = this.#options
    const chainNonce = await this.readChainNonce()
    await this.landMissed([slot])
    if (chainNonce <= slot.nonce || !slots.isOpen(slot)) return chainNonce
    // Whichever transaction used this nonce, the next one must not take the same.
    slots.nextNonce = Math.max(slots.nextNonce, chainNonce)
    if (await this.landAnywhere(slot)) return chainNonce
    slot.consumedAt ??= steadyMs()
    if (steadyMs() - slot.consumedAt < LOST_MS || !slots.isOpen(slot)) return chainNonce
    const settlementIds = [...slot.jobIds]
    const place = { relayer: this.address, relayerNonce: slot.nonce }
    log.warn({ settlementIds, ...place }, 'nonce used, and no node shows a transaction of ours')
    slots.setAside(slot)
    this.#release(new Set(slot.jobIds), (entry) => void examiner.examine(entry, {}))
    slot.jobIds.clear()
    return chainNonce
  }

  /** Asks every node for a receipt of the slot, and lands it; returns whether there was one. */
  async landAnywhere(slot: Slot): Promise<boolean> {
    const { rpc, examiner } = this.#options
    for (const { hash } of slot.attempts) {
      const receipt = await findReceiptAnywhere(rpc, hash)
      if (receipt !== undefined) return examiner.land(receipt)
    }
    return false
  }
}

/** Watches the signer: one that fails closes the lane until it signs again. What was sent before stays under way. */
function watchForLane({ signer, chainId, queue, now, log }: LaneOptions): WatchedSigner {
  const relayer = signer.address
  return new WatchedSigner(signer, {
    chainId,
    now,
    onFailure: (reason, err) => log.warn({ relayer, reason, err }, 'lane closed'),
    onRecovery() {
      log.info({ relayer }, 'lane open again')
      queue.noteChange()
    },
  })
}
