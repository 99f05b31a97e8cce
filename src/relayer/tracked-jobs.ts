import type { Hex } from 'viem'
import { isDecided, type Job } from '../store/settlement-journal.js'
import type { GasBounds, JobKind } from './job-kind.js'

/** A job on its way: what the relayer remembers of it beside its row. */
export interface TrackedJob {
  job: Job
  kind: JobKind
  /** Travels in a transaction of its own. */
  isAlone: boolean
  payTo: string
  payer: string
  gas?: GasBounds
  /** The accounts whose code runs in it, if they have any. */
  runners: readonly string[]
  /** Those of them that have code: what passed the simulation may still fail on chain, and burn gas on purpose. */
  coded: readonly string[]
  /** What it moves, 6-decimal units; `undefined` where it must move what its gas costs. */
  value: bigint | undefined
  /** 18-decimal units burnt by transactions that did not settle it. */
  burntGas: bigint
  /** Slots that still hold a transaction with this job. */
  liveSlots: number
  /** Hashes of what was signed for it, but for those that every node refused. */
  mayBeOut: Set<Hex>
  /** It was signed, and every node refused all of it: its row names no transaction. */
  isUntaken: boolean
  /** New transactions sent because an earlier one did not decide it. */
  resends: number
  queuedAt: number
  /** A receipt bears it out, and that is being kept. */
  isSettled: boolean
  /** Nobody waits for it any more: it must not be signed if it has not been. */
  isWithdrawn: boolean
  isBeingExamined: boolean
}

/** One try at a job; a job that failed and was opened again is in the next. */
export type Round = Pick<Job, 'id' | 'round'>

interface Waiter {
  round: number
  notify(job: Job | undefined): void
}

export interface TrackedJobs {
  add(job: Job, kind: JobKind): TrackedJob
  find(id: string): TrackedJob | undefined
  /** Those of these that are not decided. */
  findAll(ids: Iterable<string>): TrackedJob[]
  all(): Iterable<TrackedJob>
  /** One more slot of an earlier process still holds it, with these transactions. */
  hold(id: string, hashes: readonly Hex[]): void
  /**
   * Says that a row changed: resolves those who wait, and forgets the job when it is decided. What is said of an earlier
   * round neither decides the job that was opened again meanwhile nor is told to those who wait for it.
   */
  update(job: Job): void
  /** Forgets a job that another process works on, unless it is in a later round than this. */
  abandon(id: string, round?: number): void
  /** Resolves with the row once `test` holds for it in this round or a later one, or with `undefined` when it is abandoned. */
  until(job: Round, test: (job: Job) => boolean): Promise<Job | undefined>
  size(): number
}

export function createTrackedJobs(now: () => number): TrackedJobs {
  const tracked = new Map<string, TrackedJob>()
  const waiting = new Map<string, Set<Waiter>>()

  function tell(id: string, round: number, job: Job | undefined): void {
    for (const waiter of waiting.get(id) ?? []) if (waiter.round <= round) waiter.notify(job)
  }

  return {
    add(job, kind) {
      const ride = kind.ride(job)
      const entry: TrackedJob = {
        job,
        kind,
        ...ride,
        // A payment travels alone because its payer had code when it was judged.
        coded: ride.isAlone && ride.gas === undefined ? ride.runners : [],
        burntGas: 0n,
        liveSlots: 0,
        mayBeOut: new Set(job.transaction === null ? [] : [job.transaction]),
        isUntaken: false,
        resends: 0,
        queuedAt: now(),
        isSettled: false,
        isWithdrawn: false,
        isBeingExamined: false,
      }
      tracked.set(job.id, entry)
      return entry
    },
    find: (id) => tracked.get(id),
    findAll: (ids) => [...ids].flatMap((id) => tracked.get(id) ?? []),
    all: () => tracked.values(),
    hold(id, hashes) {
      const entry = tracked.get(id)
      if (entry === undefined) return
      entry.liveSlots++
      for (const hash of hashes) entry.mayBeOut.add(hash)
    },
    update(job) {
      const entry = tracked.get(job.id)
      if (entry !== undefined && entry.job.round <= job.round) {
        entry.job = job
        if (isDecided(job)) tracked.delete(job.id)
      }
      tell(job.id, job.round, job)
    },
    abandon(id, round = Number.POSITIVE_INFINITY) {
      const entry = tracked.get(id)
      if (entry !== undefined && entry.job.round <= round) tracked.delete(id)
      tell(id, round, undefined)
    },
    until({ id, round }, test) {
      const entry = tracked.get(id)
      if (entry !== undefined && entry.job.round >= round && test(entry.job)) {
        return Promise.resolve(entry.job)
      }
      return new Promise((resolve) => {
        const waiters = waiting.get(id) ?? new Set()
        waiting.set(id, waiters)
        const waiter: Waiter = {
          round,
          notify(job) {
            if (job !== undefined && !test(job)) return
            waiters.delete(waiter)
            if (waiters.size === 0 && waiting.get(id) === waiters) waiting.delete(id)
            resolve(job)
          },
        }
        waiters.add(waiter)
      })
    },
    size: () => tracked.size,
  }
}
