import type { Address } from 'viem'
import { singleFlight } from '../../async/single-flight.js'
import { createWaiters } from '../../async/waiters.js'
import { laneLease } from '../../sql/leases.js'
import type { Job, JobSharing } from '../journal/settlement-journal.js'
import type { Dispatcher } from './dispatcher.js'
import type { Examiner } from './examiner.js'
import type { TrackedJobs } from './jobs.js'
import type { Lane } from './lane.js'
import type { JobQueue } from './queue.js'
import type { RelayerContext } from './relayer-context.js'

/** Takes lanes and jobs over from the other processes on the database, and gives lanes and jobs to them. */
interface Intake {
  /** Takes lanes whose lease was gained and drops lanes whose lease was lost. Rejects when a lane could not be resumed. */
  followLeases(): Promise<void>
  /** Offers a job that was claimed here to the others when there is no lane for it; returns whether it did. */
  passOn(job: Job): boolean
  /** Takes jobs of processes that are gone. */
  takeOrphans(): Promise<void>
  /** Resolves when a job of another process may have an outcome, or after so many milliseconds. */
  untilDecidedElsewhere(id: string, ms: number): Promise<void>
  start(): void
  stop(): void
}

interface IntakeOptions extends Pick<RelayerContext, 'network' | 'leases' | 'sharing' | 'log'> {
  lanes: readonly Lane[]
  jobs: TrackedJobs
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

export function createIntake(options: IntakeOptions): Intake {
  const jobExchange = createJobExchange(options)
  return {
    followLeases: createLaneExchange(options),
    untilDecidedElsewhere: createDecisionWatch(options.sharing),
    ...jobExchange,
  }
}

/** Exchanges jobs with the other processes on the database, through the store alone. */
function createJobExchange(options: IntakeOptions) {
  const { network, lanes, leases, sharing, jobs, queue, dispatcher, examiner, log } = options
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let orphansAt = 0
  let offering: string[] = []

  /** Returns whether a lane is at work here; for a job that names its wallets it must be the lane of one of them. */
  const hasLane = (senders?: readonly Address[]) =>
    lanes.some(
      (lane) =>
        lane.isHeld() &&
        lane.closedBecause() === undefined &&
        (senders?.includes(lane.address) ?? true),
    )

  async function offer(ids: readonly string[]): Promise<void> {
    await sharing.offer(ids)
    log.info({ settlementIds: ids }, 'offered to the other replicas')
  }

  /** Offers jobs that come together in one write. */
  function offerSoon(id: string): void {
    offering.push(id)
    if (offering.length > 1) return
    setImmediate(() => {
      const ids = offering
      offering = []
      // If the offer fails, the jobs are found as orphans: jobs of this process that it does not know.
      offer(ids).catch((err) => log.warn({ err }, 'jobs could not be offered'))
    })
  }

  /** Works on a job: a queued one is sent; one that was signed and is in no slot is examined. */
  function begin(job: Job): void {
    if (jobs.isTracking(job)) return
    const entry = jobs.track(job)
    if (entry.job.state === 'queued') queue.add(entry)
    else void examiner.examine(entry, {})
  }

  async function takeOrphans(): Promise<void> {
    // All of them: what one payer left behind must not keep those of others waiting.
    for (let count = AT_ONCE; count === AT_ONCE; ) {
      const known = [...jobs.all()].map(({ job }) => job.id)
      const orphans = await sharing.takeOrphans(network, known, AT_ONCE)
      count = orphans.length
      for (const job of orphans) begin(job)
      if (count === 0 || !leases.isShared) continue
      const settlementIds = orphans.map(({ id }) => id)
      log.info({ settlementIds }, 'taken over from a process that is gone')
    }
  }

  async function exchange(): Promise<void> {
    const isAlone = leases.replicas() <= 1
    const waiting = isAlone ? [] : dispatcher.takeWaiting(OFFER_AFTER_MS).map(({ job }) => job.id)
    for (const id of waiting) jobs.abandon(id)
    if (waiting.length > 0) await offer(waiting)
    if (!hasLane()) return
    if (performance.now() >= orphansAt) {
      orphansAt = performance.now() + ORPHANS_EVERY_MS
      await takeOrphans()
    }
    // What has just been offered is for the others.
    if (waiting.length > 0) return
    const isHeldBack = dispatcher.heldBack()
    if (queue.entries().filter((entry) => !isHeldBack(entry)).length > AT_ONCE) return
    const mayTake = (job: Job) => {
      const profile = jobs.profileOf(job)
      return hasLane(profile.senders) && !isHeldBack(profile)
    }
    for (const job of await sharing.takeOffered(network, AT_ONCE, mayTake)) begin(job)
  }

  function schedule(): void {
    if (isStopped) return
    const everyMs = leases.replicas() > 1 ? POLL_MS : ALONE_POLL_MS
    timer = setTimeout(() => {
      exchange()
        .catch((err) => log.warn({ err }, 'jobs could not be exchanged'))
        .finally(schedule)
    }, everyMs)
  }

  return {
    passOn(job: Job): boolean {
      if (leases.replicas() <= 1 || hasLane(jobs.profileOf(job).senders)) return false
      offerSoon(job.id)
      return true
    },
    takeOrphans,
    start() {
      if (!sharing.isSole) schedule()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** Keeps the lanes of this process in step with its leases. */
function createLaneExchange(options: IntakeOptions): () => Promise<void> {
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

/** Waits for outcomes that other processes find, with one question for all that wait. */
function createDecisionWatch(sharing: Pick<JobSharing, 'decidedAmong'>) {
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
