import { isDecided, type Job } from '../store/settlement-journal.js'
import type { GasBounds, JobKind } from './job-kind.js'

/** A job on its way: what the relayer remembers of it beside its row. */
export interface TrackedJob {
  job: Job
  kind: JobKind
  /** Travels in a transaction of its own. */
  isAlone: boolean
  /** Its payer's own code decides: what passed the simulation may still fail on chain, and burn gas on purpose. */
  runsPayerCode: boolean
  payTo: string
  payer: string
  gas?: GasBounds
  /** 18-decimal units burnt by transactions that did not settle it. */
  burntGas: bigint
  /** Slots that still hold a transaction with this job. */
  liveSlots: number
  /** New transactions sent because an earlier one did not decide it. */
  resends: number
  queuedAt: number
  /** Nobody waits for it any more: it must not be signed if it has not been. */
  isWithdrawn: boolean
  isBeingExamined: boolean
}

export interface TrackedJobs {
  add(job: Job, kind: JobKind): TrackedJob
  find(id: string): TrackedJob | undefined
  /** Those of these that are not decided. */
  findAll(ids: Iterable<string>): TrackedJob[]
  all(): Iterable<TrackedJob>
  /** One more slot of an earlier process still holds it. */
  hold(id: string): void
  /** Says that a row changed: resolves those who wait, and forgets the job when it is decided. */
  update(job: Job): void
  /** Forgets a job that another process works on. */
  abandon(id: string): void
  /** Resolves with the row once `test` holds for it, or with `undefined` when it is abandoned. */
  until(id: string, test: (job: Job) => boolean): Promise<Job | undefined>
  size(): number
}

export function createTrackedJobs(now: () => number): TrackedJobs {
  const tracked = new Map<string, TrackedJob>()
  const waiting = new Map<string, Set<(job: Job | undefined) => void>>()

  return {
    add(job, kind) {
      const ride = kind.ride(job)
      const entry: TrackedJob = {
        job,
        kind,
        ...ride,
        runsPayerCode: ride.isAlone && ride.gas === undefined,
        burntGas: 0n,
        liveSlots: 0,
        resends: 0,
        queuedAt: now(),
        isWithdrawn: false,
        isBeingExamined: false,
      }
      tracked.set(job.id, entry)
      return entry
    },
    find: (id) => tracked.get(id),
    findAll: (ids) => [...ids].flatMap((id) => tracked.get(id) ?? []),
    all: () => tracked.values(),
    hold(id) {
      const entry = tracked.get(id)
      if (entry !== undefined) entry.liveSlots++
    },
    update(job) {
      const entry = tracked.get(job.id)
      if (entry !== undefined) entry.job = job
      if (isDecided(job)) tracked.delete(job.id)
      for (const notify of waiting.get(job.id) ?? []) notify(job)
    },
    abandon(id) {
      tracked.delete(id)
      for (const notify of waiting.get(id) ?? []) notify(undefined)
    },
    until(id, test) {
      const entry = tracked.get(id)
      if (entry !== undefined && test(entry.job)) return Promise.resolve(entry.job)
      return new Promise((resolve) => {
        const listeners = waiting.get(id) ?? new Set()
        waiting.set(id, listeners)
        const notify = (job: Job | undefined) => {
          if (job !== undefined && !test(job)) return
          listeners.delete(notify)
          if (listeners.size === 0) waiting.delete(id)
          resolve(job)
        }
        listeners.add(notify)
      })
    },
    size: () => tracked.size,
  }
}
