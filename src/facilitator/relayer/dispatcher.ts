import type { ReasonKey, Rejection } from '@arcus/protocol/x402/reasons'
import { StoreUnavailableError } from '../../sql/errors.js'
import { JobsTakenError, LeaseLostError } from '../../sql/leases.js'
import { GasBudgetError, WASTED } from '../journal/budgets.js'
import { blockGasOf, maxMembers } from './batch-size.js'
import type { Examiner } from './examiner.js'
import { type Fees, type GasModel, quoteFees } from './gas.js'
import type { JobProfile, TrackedJob, TrackedJobs } from './jobs.js'
import type { Lane } from './lane/lane.js'
import { failure, type OutcomeKeeper, type RelayerEvents } from './outcomes.js'
import type { Preparation } from './preparation.js'
import { isAlone, type JobQueue, type MayGo, RETRY_MS } from './queue.js'
import type { RelayerContext } from './relayer-context.js'
import { type HasRoom, MAX_IN_FLIGHT, measureShares } from './shares.js'
import { SIGN_TIMEOUT_MS, SignerError } from './signer.js'
import { spentBudget, type Waste } from './waste.js'

/** With this many under way, the next batch waits for more members before it is sent, unless it is full. */
const UNPACED_IN_FLIGHT = 1
/** The time it waits: little against a block of half a second, enough to share one transaction under load. */
const GATHER_MS = 40
/** Jobs wait this long for payments that are being verified: they arrive together, and share a transaction. */
const COMPANY_MS = 40
/** A job that waits until a budget has room for it is tried again this soon: a block of Arc takes half a second. */
const BUDGET_RETRY_MS = 100
/** A sum of plain accounts that is spent is asked again this soon: another day may have begun, or another limit. */
const SPENT_RETRY_MS = 5_000
/** A job that could not even be signed for this long is failed: it was never sent, which is proof enough. */
const GIVE_UP_MS = 4_000
interface DispatcherOptions
  extends Pick<
    RelayerContext,
    'feed' | 'hasMulticall3' | 'guard' | 'maxBatch' | 'maxFeePerGas' | 'now'
  > {
  lanes: readonly Lane[]
  queue: JobQueue
  jobs: TrackedJobs
  preparation: Preparation
  waste: Waste
  examiner: Pick<Examiner, 'examine'>
  keeper: OutcomeKeeper
  gas: GasModel
  events: RelayerEvents
  log: { warn(o: object, m: string): void }
}

/**
 * Hands jobs of the queue to the lanes. It batches naturally: a free lane takes what waits at once; while all are busy the
 * queue grows into the next batch.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  #isStopped = false
  /** When the last batch was taken, Unix milliseconds. */
  #openedAt = 0
  /** The number of jobs that are being verified. */
  #expected = 0
  #gathering: NodeJS.Timeout | undefined
  /** The lanes whose last transaction carried a job that travels alone. */
  readonly #sentSingle = new WeakSet<Lane>()

  constructor(options: DispatcherOptions) {
    this.#options = options
    void this.#follow()
  }

  /** Announces a job that is still being verified; the caller calls back when it was added, or will not be. */
  expect(): () => void {
    this.#expected++
    this.#freeLanes()[0]?.expectPayment()
    return () => {
      this.#expected--
      if (this.#expected === 0) this.#dispatch()
    }
  }

  /** Returns the test whether a job would only wait here for others of its payer, or of its kind, that are under way. */
  heldBack(): (entry: JobProfile) => boolean {
    const hasRoom = this.#shares()
    const open = this.#options.lanes
      .filter(isUsable)
      .map((lane) => ({ lane, hasRoom: hasRoom(lane) }))
    return (entry) => {
      const own = open.filter(({ lane }) => maySend(lane, entry))
      return own.length > 0 && own.every((it) => !it.hasRoom(entry, []))
    }
  }

  /**
   * Removes jobs that have waited this long. It leaves one batch for a working lane, and jobs that only wait for their
   * payer's other jobs.
   */
  takeWaiting(longerThanMs: number): TrackedJob[] {
    const { lanes, queue, now } = this.#options
    const kept = lanes.some(isUsable) ? maxMembers(this.#options) : 0
    const isHeldBack = this.heldBack()
    const isWaiting = (entry: TrackedJob) =>
      entry.liveSlots === 0 && now() - entry.queuedAt >= longerThanMs && !isHeldBack(entry)
    const free = queue.entries().filter(({ senders }) => senders === undefined)
    const isElsewhere = (entry: TrackedJob) =>
      entry.senders !== undefined && !lanes.some((it) => isUsable(it) && maySend(it, entry))
    const waiting = [...free.slice(kept), ...queue.entries().filter(isElsewhere)].filter(isWaiting)
    for (const entry of waiting) queue.takeOut(entry)
    return waiting
  }

  /** Fails jobs that nobody will send because every lane is closed. */
  giveUpStranded(): void {
    const { queue, examiner, feed } = this.#options
    const isStranded = (entry: TrackedJob) => !this.#hasOpenLane(entry)
    const seconds = feed.latest()?.timestamp ?? 0
    for (const entry of queue.entries().filter(isStranded)) {
      if (!this.#isGivenUp(entry) && entry.job.expiresAt > seconds) continue
      queue.takeOut(entry)
      if (!this.#giveUp(entry, 'unexpectedSettleError')) void examiner.examine(entry, {})
    }
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#gathering)
  }

  // Which jobs go to which lane.

  async #follow(): Promise<void> {
    const { queue, log } = this.#options
    while (!this.#isStopped) {
      await queue.untilChange()
      try {
        this.#dispatch()
      } catch (err) {
        log.warn({ err }, 'jobs could not be handed to the lanes')
      }
    }
  }

  #dispatch(): void {
    const { queue, events, now } = this.#options
    while (!this.#isStopped && queue.length() > 0) {
      const taken = this.#takeForAnyLane()
      if (taken === undefined) return
      const { lane, batch } = taken
      events.taken(batch.map(({ job }) => job.id))
      if (batch.every(isAlone)) this.#sentSingle.add(lane)
      else this.#sentSingle.delete(lane)
      lane.isSigning = true
      this.#openedAt = now()
      void this.#carry(lane, batch).finally(() => {
        lane.isSigning = false
        this.#dispatch()
      })
    }
  }

  /** Takes jobs for the free lane with least under way that can send some. */
  #takeForAnyLane(): { lane: Lane; batch: TrackedJob[] } | undefined {
    const { queue, waste } = this.#options
    const free = this.#freeLanes()
    if (free.length === 0) return undefined
    const isWithinBudget = waste.mayGo()
    const hasRoom = this.#shares()
    const next = queue.next()
    for (const lane of free) {
      const isWithinShare = hasRoom(lane)
      // Every rule about which job may leave the queue is here.
      const mayGo: MayGo = (entry, taken) =>
        maySend(lane, entry) && isWithinShare(entry, taken) && isWithinBudget(entry, taken)
      const ready = next.filter((entry) => mayGo(entry, []))
      if (ready.length === 0 || this.#isGathering(lane, ready)) continue
      const mayLead = (entry: TrackedJob) => !(this.#sentSingle.has(lane) && isAlone(entry))
      const batch = queue.take((entry) => maxMembers(this.#options, entry), mayGo, mayLead)
      if (batch.length > 0) return { lane, batch }
    }
    return undefined
  }

  #shares(): (lane: Lane) => HasRoom {
    const { lanes, gas } = this.#options
    const blockGas = blockGasOf(this.#options)
    return measureShares(lanes, { blockGas, gasPerPayment: gas.perPayment() })
  }

  #freeLanes(): Lane[] {
    const isFree = (lane: Lane) =>
      !lane.isSigning && !lane.isLeaving && isUsable(lane) && lane.inFlight() < MAX_IN_FLIGHT
    return this.#options.lanes.filter(isFree).sort((a, b) => a.inFlight() - b.inFlight())
  }

  /** Returns whether the queue should grow a little first; if so, sets the next dispatch itself. */
  #isGathering(lane: Lane, ready: readonly TrackedJob[]): boolean {
    const [head] = ready as [TrackedJob, ...TrackedJob[]]
    // A job that shares its transaction with none has nobody to wait for.
    if (head.isSingle || ready.length >= maxMembers(this.#options, head)) return false
    const left = this.#leaveAt(lane, head) - this.#options.now()
    if (left <= 0) return false
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#dispatch()
    }, left)
    return true
  }

  /** Returns when this job has waited long enough for the lane, Unix milliseconds. */
  #leaveAt(lane: Lane, head: TrackedJob): number {
    const paced = lane.inFlight() >= UNPACED_IN_FLIGHT ? this.#openedAt + GATHER_MS : 0
    return this.#expected > 0 ? Math.max(paced, head.queuedAt + COMPANY_MS) : paced
  }

  // From the queue into a slot.

  /** Prepares, signs, keeps and sends; on trouble before the signature the jobs go back to the queue. */
  async #carry(lane: Lane, batch: TrackedJob[]): Promise<void> {
    const { preparation, queue, events } = this.#options
    if (this.#quote(batch) === undefined) return this.#postpone(batch, 'gasPriceTooHigh')
    let held: TrackedJob[] = []
    try {
      const balance = lane.readBalance()
      const prepared = await preparation.prepare(lane.address, batch)
      if (prepared === undefined) return
      const fees = this.#quote(prepared.members)
      if (fees === undefined) return this.#postpone(prepared.members, 'gasPriceTooHigh')
      held = prepared.members
      for (const entry of held) entry.liveSlots++
      const ids = held.map(({ job }) => job.id)
      await lane.open(prepared, ids, fees, await balance)
      for (const entry of held) queue.letGo(entry)
      const hash = held[0]?.job.transaction
      if (hash != null) events.signed(ids, hash)
    } catch (error) {
      for (const entry of held) entry.liveSlots--
      if (error instanceof GasBudgetError) return this.#stopAtBudget(held, error)
      this.#putBack(batch, error)
    }
  }

  /** Returns the fees of a transaction with these jobs; `undefined` while the base fee is above the cap. */
  #quote(members: readonly TrackedJob[]): Fees | undefined {
    const { feed, maxFeePerGas, waste } = this.#options
    const baseFee = feed.latest()?.baseFeePerGas ?? 0n
    return quoteFees(baseFee, maxFeePerGas, waste.headroomFor(members))
  }

  /** Lets the jobs of a batch wait again of which no transaction was kept, or fails them when they have waited too long. */
  #putBack(batch: readonly TrackedJob[], error: unknown): void {
    const { lanes, queue, jobs, now, log } = this.#options
    const settlementIds = batch.map(({ job }) => job.id)
    log.warn({ err: error, settlementIds }, 'could not prepare a transaction')
    if (error instanceof JobsTakenError) for (const id of error.jobIds) jobs.abandon(id)
    // The others are decided, or the preparation has put them somewhere.
    const left = batch.filter((entry) => jobs.isOpen(entry) && queue.isInHand(entry))
    // The lane has closed, and another signer may do: its lane takes them at once, until each lane had its turn.
    const mayGoElsewhere =
      error instanceof SignerError && lanes.some((it) => isUsable(it) && maySend(it, batch[0]))
    const patienceMs = GIVE_UP_MS + lanes.length * SIGN_TIMEOUT_MS
    for (const entry of left) {
      entry.troubledAt ??= now()
      if (mayGoElsewhere && now() - entry.troubledAt < patienceMs) queue.putBack(entry)
      else this.#postpone([entry], 'unexpectedSettleError', error)
    }
  }

  /** Handles a batch that a budget has no room for, of which nothing was kept: jobs the budget is about wait or are refused. */
  async #stopAtBudget(members: TrackedJob[], error: GasBudgetError): Promise<void> {
    const { waste, queue } = this.#options
    const { budget, burnt } = error
    if (budget.name === WASTED.plain) {
      // Nobody is refused: from now on each caller has one payment under way beyond what is left.
      waste.pause(error, error.isSpent ? SPENT_RETRY_MS : BUDGET_RETRY_MS)
      for (const entry of members) queue.putBack(entry)
      return
    }
    const concerned = waste.concernedBy(budget, members)
    for (const entry of members) if (!concerned.includes(entry)) queue.putBack(entry)
    if (error.isSpent) {
      const { amount, limit = 0n } = budget
      const each = amount / BigInt(Math.max(1, concerned.length))
      // Several jobs may share a budget: as many are sent as it has room for.
      const left = each > 0n ? Math.max(0, Number((limit - burnt) / each)) : 0
      for (const entry of concerned.slice(0, left)) queue.putBack(entry)
      for (const entry of concerned.slice(left)) await this.#refuse(entry, spentBudget(error))
      return
    }
    waste.pause(error, BUDGET_RETRY_MS)
    for (const entry of concerned) queue.putBack(entry, BUDGET_RETRY_MS)
  }

  async #refuse(entry: TrackedJob, refusal: Rejection): Promise<void> {
    const { keeper, examiner } = this.#options
    // A transaction signed before may have landed, or may land yet.
    const isNeverSigned = entry.job.transaction === null
    const outcome = failure(refusal.reason, refusal.message, { gasCost: entry.burntGas })
    if (!(isNeverSigned && (await keeper.refuse(entry, outcome)))) {
      void examiner.examine(entry, { refusal })
    }
  }

  // Jobs that could not be sent.

  #postpone(entries: readonly TrackedJob[], reason: ReasonKey, cause?: unknown): void {
    const { queue, now } = this.#options
    for (const entry of entries) {
      entry.troubledAt ??= now()
      if (!this.#giveUp(entry, reason, cause)) queue.putBack(entry, RETRY_MS)
    }
  }

  /** Fails a job in hand that has waited too long; never sent is proof enough. Returns whether it has waited too long. */
  #giveUp(entry: TrackedJob, reason: ReasonKey, cause?: unknown): boolean {
    if (!this.#isGivenUp(entry)) return false
    const { keeper, queue, log } = this.#options
    keeper
      .refuse(entry, failure(reason, `${this.#explain(entry, reason, cause)}; nothing was sent.`))
      .then((isOver) => isOver || queue.putBack(entry, RETRY_MS))
      .catch((err) => log.warn({ err, settlementId: entry.job.id }, 'job left to the next start'))
    return true
  }

  #isGivenUp(entry: TrackedJob): boolean {
    const { job, isRefusedByAll, liveSlots, queuedAt, troubledAt = queuedAt } = entry
    const isNeverSent = job.transaction === null && !isRefusedByAll && liveSlots === 0
    return isNeverSent && this.#options.now() - troubledAt >= GIVE_UP_MS
  }

  #hasOpenLane(entry: TrackedJob): boolean {
    return this.#options.lanes.some((lane) => isOpen(lane) && maySend(lane, entry))
  }

  #explain(entry: TrackedJob, reason: ReasonKey, cause: unknown): string {
    if (cause instanceof SignerError) return 'The signer of the relayer gave no usable signature'
    if (reason === 'gasPriceTooHigh') {
      return "The chain's base fee is above the cap of this facilitator"
    }
    if (cause instanceof StoreUnavailableError || cause instanceof LeaseLostError) {
      return 'The database of this facilitator does not answer in time'
    }
    if (this.#hasOpenLane(entry)) return 'The chain could not be reached'
    return entry.senders === undefined
      ? 'No relayer of this facilitator can sign and pay for gas now'
      : `Only ${entry.senders.join(', ')} may send the payment, and cannot sign and pay for gas now`
  }
}

/** Returns whether a lane's wallet may send a job; some jobs name the wallets. */
function maySend(lane: Lane, entry: Pick<JobProfile, 'senders'> | undefined): boolean {
  return entry?.senders?.includes(lane.address) ?? true
}

function isOpen(lane: Lane): boolean {
  return lane.closedBecause() === undefined
}

function isUsable(lane: Lane): boolean {
  return isOpen(lane) && lane.isHeld()
}
