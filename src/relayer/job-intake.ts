import type { Job, JobSharing } from '../store/settlement-journal.js'
import type { Dispatcher } from './dispatcher.js'
import type { Lane } from './lane.js'
import type { LeaseKeeper } from './lease-keeper.js'
import type { TrackedJobs } from './tracked-jobs.js'

export interface JobIntakeOptions {
  network: string
  lanes: readonly Lane[]
  leases: LeaseKeeper
  sharing: JobSharing
  tracked: TrackedJobs
  dispatcher: Dispatcher
  /** Begins to work on a job of this process. */
  begin(job: Job): void
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

/** How jobs come from other processes, and go to them. */
export interface JobIntake {
  /** Lets others have a job that was claimed here, when there is no lane for it; whether it did. */
  passOn(job: Job): boolean
  /** Takes what was left by the dead. */
  takeOrphans(): Promise<void>
  start(): void
  stop(): void
}

/** How often offered jobs are looked for: little against a block of half a second. */
const POLL_MS = 50
/** Alone there is nobody who offers anything, but for what a migration brought along. */
const ALONE_POLL_MS = 1_000
/** A job that has waited this long without a lane is offered. */
const OFFER_AFTER_MS = 1_000
const ORPHANS_EVERY_MS = 1_000
const AT_ONCE = 100

/** Exchanges jobs with the other processes on the database, through the store alone. */
export function createJobIntake(options: JobIntakeOptions): JobIntake {
  const { network, lanes, leases, sharing, tracked, dispatcher, begin, log } = options
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let orphansAt = 0
  let offering: string[] = []

  const hasLane = () => lanes.some((lane) => lane.isHeld() && lane.closedBecause() === undefined)

  async function offer(ids: readonly string[]): Promise<void> {
    await sharing.offer(ids)
    log.info({ settlementIds: ids }, 'offered to the other replicas')
  }

  /** Those that come together are offered together. */
  function offerSoon(id: string): void {
    offering.push(id)
    if (offering.length > 1) return
    setImmediate(() => {
      const ids = offering
      offering = []
      // Not offered in the end, they are found as this process's own that it does not know.
      offer(ids).catch((err) => log.warn({ err }, 'jobs could not be offered'))
    })
  }

  async function takeOrphans(): Promise<void> {
    const known = [...tracked.all()].map(({ job }) => job.id)
    const jobs = await sharing.takeOrphans(network, known, AT_ONCE)
    for (const job of jobs) begin(job)
    if (jobs.length > 0 && leases.isShared) {
      log.info(
        { settlementIds: jobs.map(({ id }) => id) },
        'taken over from a process that is gone',
      )
    }
  }

  async function look(): Promise<void> {
    if (leases.replicas() > 1) {
      const waiting = dispatcher.takeWaiting(OFFER_AFTER_MS).map(({ job }) => job.id)
      for (const id of waiting) tracked.abandon(id)
      if (waiting.length > 0) await offer(waiting)
    }
    if (!hasLane()) return
    if (performance.now() >= orphansAt) {
      orphansAt = performance.now() + ORPHANS_EVERY_MS
      await takeOrphans()
    }
    if (dispatcher.queueLength() > AT_ONCE) return
    for (const job of await sharing.takeOffered(network, AT_ONCE)) begin(job)
  }

  function schedule(): void {
    if (isStopped) return
    const everyMs = leases.replicas() > 1 ? POLL_MS : ALONE_POLL_MS
    timer = setTimeout(() => {
      look()
        .catch((err) => log.warn({ err }, 'jobs could not be exchanged'))
        .finally(schedule)
    }, everyMs)
  }

  return {
    passOn(job) {
      if (leases.replicas() <= 1 || hasLane()) return false
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
