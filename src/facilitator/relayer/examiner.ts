import type { Rejection } from '@arcus/protocol/x402/reasons'
import type { Receipt } from '../../chain/receipts.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { Attempt } from '../journal/settlement-journal.js'
import type { GasModel } from './gas.js'
import { findGasCharge, type GasChargeOptions } from './gas-charge.js'
import type { Examination, TrackedJob, TrackedJobs } from './jobs.js'
import type { FoundSlot, Slots } from './lane/slot.js'
import {
  confirmation,
  failure,
  type OutcomeKeeper,
  type RelayerEvents,
  readSlotResult,
  type SlotResult,
} from './outcomes.js'
import type { JobQueue } from './queue.js'
import type { Waste } from './waste.js'

/** Why a job is examined. */
interface Cause {
  /** The text with which its simulation was refused. */
  revert?: string | undefined
  /** Why no gas is risked on it any more. */
  refusal?: Rejection
  /** The mined transaction that did not settle it. */
  receipt?: Receipt
  /** Answers of nodes behind this block do not count. */
  atLeastBlock?: number
}

interface ExaminerOptions extends GasChargeOptions {
  keeper: OutcomeKeeper
  jobs: TrackedJobs
  queue: JobQueue
  gas: GasModel
  waste: Pick<Waste, 'noteBurnt' | 'noteEnd'>
  events: RelayerEvents
  /** The nonces of every lane. */
  slots: readonly Slots[]
  log: { warn(o: object, m: string): void }
}

/** A job is sent again at most this often after transactions that did not decide it. */
const MAX_RESENDS = 3
/** A wallet that accepts the simulation and refuses on chain is believed once more. */
const MAX_WALLET_RESENDS = 1
/** A job that only a transaction under way may still decide is examined again after this. */
const LATER_MS = 1_000
/** The outcome of an uncertain job waits for a node that traces, which nothing announces. */
const UNCERTAIN_MS = 30_000

/** Finds out what became of jobs. */
export class Examiner {
  readonly #options: ExaminerOptions
  /** The last examination of each job that is being examined: a job is examined by one at a time. */
  readonly #underWay = new WeakMap<TrackedJob, Promise<void>>()

  constructor(options: ExaminerOptions) {
    this.#options = options
  }

  /**
   * Finds the truth about a job that no transaction of ours can decide any more, however long the nodes take: paid by
   * somebody, failed for a reason that is proven, or to be sent again. While a transaction that was signed for it may
   * land, only a final state decides it. The caller had the job, in hand or in a slot, and has it no longer.
   */
  examine(entry: TrackedJob, cause: Cause): Promise<void> {
    this.#options.queue.letGo(entry)
    return this.#inOrder(entry, () => this.#examineOnce(entry, cause, (it) => this.#isFree(it)))
  }

  /** Looks whether the state of a job is final that others work on; anything else is left to them. */
  async watch(entry: TrackedJob, atLeastBlock: number): Promise<void> {
    if (this.#underWay.has(entry)) return
    return this.#inOrder(entry, () => this.#examineOnce(entry, { atLeastBlock }, () => false))
  }

  /**
   * Closes the slot of this receipt, if it is of a transaction of ours; returns whether it was. Then its jobs are decided,
   * each with its share of the gas, and those that the receipt does not settle are examined.
   */
  land(receipt: Receipt): boolean {
    for (const slots of this.#options.slots) {
      const landed = slots.land(receipt.transactionHash)
      if (landed === undefined) continue
      this.#settleSlot(landed, receipt).catch((err) => {
        // Only a relayer that stops gives up writing: its next start finds the receipt again.
        const settlementIds = landed.attempt.jobIds
        this.#options.log.warn({ err, settlementIds }, 'outcome left to the next start')
      })
      return true
    }
    return false
  }

  /** Runs an examination of a job after those that were asked for before. Never rejects. */
  #inOrder(entry: TrackedJob, run: () => Promise<void>): Promise<void> {
    const examination = (this.#underWay.get(entry) ?? Promise.resolve())
      .then(run)
      .catch((err) => {
        // Only a relayer that stops gives up asking; the next start asks again.
        const settlementId = entry.job.id
        this.#options.log.warn({ err, settlementId }, 'outcome left to the next start')
      })
      .finally(() => {
        if (this.#underWay.get(entry) === examination) this.#underWay.delete(entry)
      })
    this.#underWay.set(entry, examination)
    return examination
  }

  /** Returns whether nobody else works on the job: no slot carries it, and no lane is about to. */
  #isFree(entry: TrackedJob): boolean {
    return entry.liveSlots === 0 && !this.#options.queue.has(entry)
  }

  /** Decides a job whose state is final; refuses it or has it sent again only if `mayDecide` says so once it is known. */
  async #examineOnce(
    entry: TrackedJob,
    cause: Cause,
    mayDecide: (entry: TrackedJob) => boolean,
  ): Promise<void> {
    const { jobs, keeper } = this.#options
    if (!jobs.isOpen(entry)) return
    const { revert, receipt, atLeastBlock = receipt?.blockNumber ?? 0 } = cause
    const { kind, job } = entry
    const simulated = revert === undefined ? undefined : kind.rejectionOf(job, revert)
    const found = await keeper.persistently(async () => {
      const examination = await kind.examine(job, atLeastBlock, receipt)
      const isUnused = examination.state === 'open' || examination.state === 'refused'
      if (isUnused && simulated?.reason === 'nonceAlreadyUsed') {
        throw new RpcUnavailableError('the simulation saw a newer block than the read')
      }
      return examination
    })
    if (!jobs.isOpen(entry)) return
    const transaction = receipt?.transactionHash ?? null
    const failedBy = ({ reason, message }: Rejection, hash = transaction) =>
      failure(reason, message, { transaction: hash, gasCost: entry.burntGas })
    if (found.state === 'confirmed') return this.#confirm(entry, found)
    if (found.state === 'failed') {
      return keeper.decide(entry, failedBy(found, found.transaction ?? transaction))
    }
    if (found.state === 'uncertain') {
      await keeper.markUncertain(entry, found)
      return mayDecide(entry) ? this.#examineLater(entry, cause, UNCERTAIN_MS) : undefined
    }
    if (!mayDecide(entry)) return
    const { refusal } = cause
    const against =
      found.state === 'refused' ? found : (refusal ?? simulated ?? refuseResend(entry))
    if (against === undefined) return this.#resend(entry, receipt)
    const outcome = failedBy(against, against === refusal ? job.transaction : transaction)
    if (!(await keeper.refuse(entry, outcome))) this.#examineLater(entry, cause, LATER_MS)
  }

  /** Decides a job that a mined transaction settled, of ours or of others. */
  async #confirm(
    entry: TrackedJob,
    found: Extract<Examination, { state: 'confirmed' }>,
  ): Promise<void> {
    const { kind, job, burntGas } = entry
    const isOwn = kind.findSettled(job, found.receipt) !== undefined
    if (isOwn && this.land(found.receipt)) return
    // Others paid for this transaction: its gas is not ours.
    const gasCost = burntGas > 0n ? burntGas : null
    // Only what we brought on chain is attested: nobody knows what others were given for it.
    const attestation = found.isOwn ? kind.attest?.(job, found.receipt) : undefined
    const outcome = confirmation(found.receipt, found, gasCost, attestation)
    return this.#options.keeper.decide(entry, outcome)
  }

  #resend(entry: TrackedJob, receipt: Receipt | undefined): void {
    entry.resends++
    if (receipt !== undefined) entry.isAlone = true
    this.#options.queue.add(entry)
  }

  /** Examines the job again, without the revert text, which may not hold then; somebody may work on it by then. */
  #examineLater(entry: TrackedJob, cause: Cause, ms: number): void {
    const timer = setTimeout(() => {
      if (this.#isFree(entry)) void this.examine(entry, { ...cause, revert: undefined })
    }, ms)
    timer.unref()
  }

  async #settleSlot({ slot, attempt }: FoundSlot, receipt: Receipt): Promise<void> {
    const { keeper, jobs, queue, waste, events } = this.#options
    // Jobs that the slot gave back are sent elsewhere, and its transaction may settle them all the same.
    const entries = new Set([...jobs.leave(slot.jobIds), ...jobs.findAll(attempt.jobIds)])
    const result = readSlotResult([...entries], attempt.jobIds, receipt)
    const { settled, unsettled } = result
    for (const { entry } of settled) {
      entry.isSettled = true
      queue.takeOut(entry)
    }
    this.#learnGas(result, attempt, receipt)
    for (const { entry, burnt } of unsettled) entry.burntGas += burnt
    queue.noteChange()
    const gasCharge = await keeper.persistently(() =>
      findGasCharge(this.#options, attempt, receipt, result),
    )
    const { total, wasted, sums } = gasCharge
    waste.noteBurnt(sums)
    for (const { entry } of settled) waste.noteEnd(entry.caller, true)
    for (const { entry } of unsettled) {
      if (sums.has(entry.payer)) waste.noteEnd(entry.caller, false)
    }
    await keeper.keep(settled, { ...attempt, epoch: slot.epoch, charge: gasCharge })
    events.spent(total, wasted)
    for (const { entry } of unsettled) {
      if (!this.#isFree(entry)) continue
      const wasIn = attempt.jobIds.includes(entry.job.id)
      void this.examine(entry, wasIn ? { receipt } : { atLeastBlock: receipt.blockNumber })
    }
  }

  /** Learns what payments take from a transaction that settled all of its jobs, if each of them is a plain payment. */
  #learnGas({ settled }: SlotResult, { jobIds }: Attempt, { gasUsed }: Receipt): void {
    const isUsual = ({ entry }: (typeof settled)[number]) =>
      !entry.gas && !entry.expectedGas && entry.coded.length === 0
    if (!settled.every(isUsual) || settled.length !== jobIds.length) return
    this.#options.gas.learn(
      gasUsed,
      settled.map(({ entry }) => entry.payTo),
    )
  }
}

/** Returns why the job is not sent again, once it was sent as often as it may be. */
function refuseResend({ resends, coded }: TrackedJob): Rejection | undefined {
  if (resends < (coded.length > 0 ? MAX_WALLET_RESENDS : MAX_RESENDS)) return undefined
  const message = `The transaction failed ${resends + 1} times without a cause the token names.`
  return { reason: 'transactionFailed', message }
}
