import type { Address } from 'viem'
import { singleFlight } from '../../async/single-flight.js'
import { createWaiters } from '../../async/waiters.js'
import { laneLease } from '../../sql/leases.js'
import type { Job, JobSharing } from '../journal/settlement-journal.js'
import type { Dispatcher } from './dispatcher.js'
import type { Examiner } from './examiner.js'
import type { TrackedJobs } from './jobs.js'
import type { Lane } from './lane/lane.js'
import type { JobQueue } from './queue.js'
import type { RelayerContext } from './relayer-context.js'

interface LaneExchangeOptions
  extends Pick<RelayerContext, 'network' | 'leases' | 'sharing' | 'log'> {
  lanes: readonly Lane[]
  jobs: TrackedJobs
}

interface JobExchangeOptions extends LaneExchangeOptions {
  queue: JobQueue
  dispatcher: Dispatcher
  examiner: Examiner
}

/** Milliseconds between two reads of offered jobs, or of outcomes of others: little against a block of half a second. */
const POLL_MS = 50
/** A process that is alone is offered only what `arcus migrate` brought along. */
const ALONE_POLL_MS = 1_000
/** A job that has waited this long without a lane is offered. */
const OFFER_AFTER_MS = 1_000
const ORPHANS_EVERY_MS = 1_000
const AT_ONCE = 100

/** Exchanges jobs with the other processes on the database, through the store alone. */
export class JobExchange {
  readonly #options: JobExchangeOptions
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  /** By the clock of `performance`. */
  #orphansAt = 0
  /** Jobs that the next write offers. */
  #offering: string[] = []

  constructor(options: JobExchangeOptions) {
    this.#options = options
  }

  start(): void {
    if (!this.#options.sharing.isSole) this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /** Offers a job that was claimed here to the others when there is no lane for it; returns whether it did. */
  passOn(job: Job): boolean {
    const { leases, jobs } = this.#options
    if (leases.replicas() <= 1 || this.#hasLane(jobs.profileOf(job).senders)) return false
    this.#offerSoon(job.id)
    return true
  }

  /** Takes jobs of processes that are gone. */
  async takeOrphans(): Promise<void> {
    const { network, leases, sharing, jobs, log } = this.#options
    // All of them: what one payer left behind must not keep those of others waiting.
    for (let count = AT_ONCE; count === AT_ONCE; ) {
      const known = [...jobs.all()].map(({ job }) => job.id)
      const orphans = await sharing.takeOrphans(network, known, AT_ONCE)
      count = orphans.length
      for (const job of orphans) this.#begin(job)
      if (count === 0 || !leases.isShared) continue
      const settlementIds = orphans.map(({ id }) => id)
      log.info({ settlementIds }, 'taken over from a process that is gone')
    }
  }

  #schedule(): void {
    const { leases, log } = this.#options
    if (this.#isStopped) return
    const everyMs = leases.replicas() > 1 ? POLL_MS : ALONE_POLL_MS
    this.#timer = setTimeout(() => {
      this.#exchange()
        .catch((err) => log.warn({ err }, 'jobs could not be exchanged'))
        .finally(() => this.#schedule())
    }, everyMs)
  }

  async #exchange(): Promise<void> {
    const { network, leases, sharing, jobs, queue, dispatcher } = this.#options
    const isAlone = leases.replicas() <= 1
    const waiting = isAlone ? [] : dispatcher.takeWaiting(OFFER_AFTER_MS).map(({ job }) => job.id)
    for (const id of waiting) jobs.abandon(id)
    if (waiting.length > 0) await this.#offer(waiting)
    if (!this.#hasLane()) return
    if (performance.now() >= this.#orphansAt) {
      this.#orphansAt = performance.now() + ORPHANS_EVERY_MS
      await this.takeOrphans()
    }
    // What has just been offered is for the others.
    if (waiting.length > 0) return
    const isHeldBack = dispatcher.heldBack()
    if (queue.entries().filter((entry) => !isHeldBack(entry)).length > AT_ONCE) return
    const mayTake = (job: Job) => {
      const profile = jobs.profileOf(job)
      return this.#hasLane(profile.senders) && !isHeldBack(profile)
    }
    for (const job of await sharing.takeOffered(network, AT_ONCE, mayTake)) this.#begin(job)
  }

  /** Returns whether a lane is at work here; for a job that names its wallets it must be the lane of one of them. */
  #hasLane(senders?: readonly Address[]): boolean {
    return this.#options.lanes.some(
      (lane) =>
        lane.isHeld() &&
        lane.closedBecause() === undefined &&
        (senders?.includes(lane.address) ?? true),
    )
  }

  /** Offers jobs that come together in one write. */
  #offerSoon(id: string): void {
    this.#offering.push(id)
    if (this.#offering.length > 1) return
    setImmediate(() => {
      const ids = this.#offering
      this.#offering = []
      // If the offer fails, the jobs are found as orphans: jobs of this process that it does not know.
      this.#offer(ids).catch((err) => this.#options.log.warn({ err }, 'jobs could not be offered'))
    })
  }

  async #offer(ids: readonly string[]): Promise<void> {
    const { sharing, log } = this.#options
    await sharing.offer(ids)
    log.info({ settlementIds: ids }, 'offered to the other replicas')
  }

  /** Works on a job: a queued one is sent; one that was signed and is in no slot is examined. */
  #begin(job: Job): void {
    const { jobs, queue, examiner } = this.#options
    if (jobs.isTracking(job)) return
    const entry = jobs.track(job)
    if (entry.job.state === 'queued') queue.add(entry)
    else void examiner.examine(entry, {})
  }
}

/**
 * Makes the function that takes lanes whose lease was gained and drops lanes whose lease was lost. It rejects when a lane
 * could not be resumed.
 */
export function createLaneExchange(options: LaneExchangeOptions): () => Promise<void> {
  const { network, lanes, leases, sharing, jobs, log } = options
  const group = lanes.map(({ address }) => laneLease(network, address))

  async function follow(): Promise<void> {
    for (const lane of lanes) {
      const epoch = leases.known(laneLease(network, lane.address))
      if (lane.epoch() !== undefined && lane.epoch() !== epoch) letGo(lane)
      if (lane.epoch() === undefined && epoch !== undefined) await takeUp(lane, epoch)
    }
    if (leases.isShared) await giveUpSurplus()
  }

  /** Resumes a lane; the jobs in its transactions come with it, whichever process worked on them. */
  async function takeUp(lane: Lane, epoch: number): Promise<void> {
    for (const job of await sharing.takeOfLane(network, lane.address)) {
      jobs.track(job)
    }
    try {
      await lane.resume(epoch)
    } catch (error) {
      letGo(lane)
      throw error
    }
    if (leases.isShared) {
      log.info({ relayer: lane.address, epoch, transactions: lane.inFlight() }, 'lane taken')
    }
  }

  function letGo(lane: Lane): void {
    const ids = new Set(lane.drop().flatMap(({ jobIds }) => [...jobIds]))
    for (const id of ids) jobs.abandon(id)
    if (leases.isShared) log.warn({ relayer: lane.address, settlements: ids.size }, 'lane let go')
  }

  /** Gives lanes to processes that have too few: such a lane takes nothing new and is released once it is idle. */
  async function giveUpSurplus(): Promise<void> {
    const surplus = new Set(leases.surplus(group))
    for (const lane of lanes) {
      const name = laneLease(network, lane.address)
      lane.isLeaving = surplus.has(name)
      if (!lane.isLeaving || !lane.isHeld() || lane.isSigning || lane.inFlight() > 0) continue
      lane.drop()
      await leases.release(name)
      log.info({ relayer: lane.address }, 'lane passed on')
    }
  }

  return singleFlight(follow)
}

/**
 * Makes the function that resolves when a job of another process may have an outcome, or after so many milliseconds. There
 * is one question for all that wait.
 */
export function createDecisionWatch(sharing: Pick<JobSharing, 'decidedAmong'>) {
  const waiting = createWaiters<void>()
  let isAsking = false

  async function ask(): Promise<void> {
    // A store that cannot be asked is asked again: every caller has a deadline.
    const decided = await sharing.decidedAmong(waiting.keys()).catch(() => [])
    for (const id of decided) waiting.wake(id)
    isAsking = waiting.keys().length > 0
    if (isAsking) setTimeout(ask, POLL_MS)
  }

  return (id: string, ms: number): Promise<void> => {
    const decided = waiting.until(id, { ms: Math.max(0, ms) })
    if (!isAsking) {
      isAsking = true
      setTimeout(ask, POLL_MS)
    }
    return decided
  }
}
