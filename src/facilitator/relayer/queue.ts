import { createWaiters } from '../../async/waiters.js'
import type { TrackedJob } from './jobs.js'

/**
 * Jobs that wait for a lane. Payers take turns: a round has one job of each of them, and the payer that was served last
 * comes last in the next. A job is in one place at a time: it waits here, it rests until it waits again, somebody has it
 * in hand, or else a slot carries it or the examiner has it. So no two lanes get the same job.
 */
export interface JobQueue {
  /** Adds a job behind the others of its payer; one that waits, rests or is in hand stays where it is. */
  add(entry: TrackedJob): void
  /**
   * Takes in hand the first job that may go: alone if it must be sent alone, else with as many others as may share its
   * transaction; empty when none may go. With `mayLead`, a job that passes it comes before those that do not.
   */
  take(
    maxMembers: (head: TrackedJob) => number,
    mayGo?: MayGo,
    mayLead?: (entry: TrackedJob) => boolean,
  ): TrackedJob[]
  /** Takes this job in hand; returns whether it waited here. */
  takeOut(entry: TrackedJob): boolean
  /** Lets a job wait again that the caller has in hand, at once or after a rest of so many milliseconds. */
  putBack(entry: TrackedJob, afterMs?: number): void
  /** Lets it wait again, and has it sent in a transaction of its own from now on. */
  putBackAlone(entry: TrackedJob): void
  /** Notes that the caller has a job in hand no longer: a slot or the examiner has it. */
  letGo(entry: TrackedJob): void
  isInHand(entry: TrackedJob): boolean
  /** Returns whether the job waits, rests or is in hand. */
  has(entry: TrackedJob): boolean
  /** Returns the jobs that may be taken next, in the order of the turns: the first ones of each payer. */
  next(): readonly TrackedJob[]
  /** Returns the jobs that wait, in the order of the turns. */
  entries(): readonly TrackedJob[]
  length(): number
  /** Notes that a job may be able to go that could not before, because a lane can take more by now. */
  noteChange(): void
  /** Resolves when a job waits that did not wait before, or may be able to go now. */
  untilChange(): Promise<void>
}

/** The jobs of a payer that are looked at for one transaction: a crowd of thousands costs no more to pass by. */
const LOOK_AHEAD = 200

const CHANGE = 'change'

/** After trouble before the signature the next try waits this long. */
export const RETRY_MS = 200

/** Returns whether a job may leave the queue now, in a transaction with those that are taken for it already. */
export type MayGo = (entry: TrackedJob, taken: readonly TrackedJob[]) => boolean

/** Returns whether a job takes a transaction of its own. */
export function isAlone(entry: Pick<TrackedJob, 'isAlone' | 'isSingle'>): boolean {
  return entry.isAlone || entry.isSingle === true
}

function firstOf(jobs: ReadonlySet<TrackedJob>, most: number): TrackedJob[] {
  if (jobs.size <= most) return [...jobs]
  const found: TrackedJob[] = []
  for (const entry of jobs) if (found.push(entry) >= most) break
  return found
}

export function createJobQueue(): JobQueue {
  // The payers stand in the order of their turns, and the jobs of each in the order they came.
  const waiting = new Map<string, Set<TrackedJob>>()
  let count = 0
  const inHand = new WeakSet<TrackedJob>()
  const resting = new WeakSet<TrackedJob>()
  const changes = createWaiters<void>()

  const noteChange = () => changes.wake(CHANGE)
  const isWaiting = (entry: TrackedJob) => waiting.get(entry.payer)?.has(entry) ?? false
  const has = (entry: TrackedJob) => inHand.has(entry) || resting.has(entry) || isWaiting(entry)

  /** Returns the jobs in the order of the turns, at most so many of each payer. */
  function inTurn(most: number): TrackedJob[] {
    const lines = [...waiting.values()].map((jobs) => firstOf(jobs, most))
    const rounds = lines.reduce((longest, line) => Math.max(longest, line.length), 0)
    const found: TrackedJob[] = []
    for (let i = 0; i < rounds; i++) {
      for (const line of lines) {
        const entry = line[i]
        if (entry !== undefined) found.push(entry)
      }
    }
    return found
  }

  function takeOut(entry: TrackedJob): boolean {
    const jobs = waiting.get(entry.payer)
    if (!jobs?.delete(entry)) return false
    count--
    inHand.add(entry)
    if (jobs.size === 0) waiting.delete(entry.payer)
    return true
  }

  /** Takes a job out for a transaction; the turn of its payer is over. */
  function serve(entry: TrackedJob): void {
    takeOut(entry)
    const others = waiting.get(entry.payer)
    if (others === undefined) return
    waiting.delete(entry.payer)
    waiting.set(entry.payer, others)
  }

  function add(entry: TrackedJob): void {
    if (!has(entry)) {
      const jobs = waiting.get(entry.payer) ?? new Set()
      waiting.set(entry.payer, jobs.add(entry))
      count++
    }
    noteChange()
  }

  function putBack(entry: TrackedJob, afterMs = 0): void {
    inHand.delete(entry)
    if (afterMs === 0 || has(entry)) {
      add(entry)
      return
    }
    resting.add(entry)
    setTimeout(() => {
      resting.delete(entry)
      add(entry)
    }, afterMs)
  }

  return {
    add,
    take(maxMembers, mayGo = () => true, mayLead = () => true) {
      const next = inTurn(LOOK_AHEAD)
      const first = next.find((entry) => mayLead(entry) && mayGo(entry, []))
      const head = first ?? next.find((entry) => mayGo(entry, []))
      if (head === undefined) return []
      const taken = [head]
      const room = isAlone(head) ? 1 : maxMembers(head)
      for (const entry of next) {
        if (taken.length >= room) break
        const mayShare = !isAlone(entry) && entry.through === head.through
        if (entry !== head && mayShare && mayGo(entry, taken)) taken.push(entry)
      }
      for (const entry of taken) serve(entry)
      return taken
    },
    takeOut,
    putBack,
    putBackAlone(entry) {
      entry.isAlone = true
      putBack(entry)
    },
    letGo: (entry) => void inHand.delete(entry),
    isInHand: (entry) => inHand.has(entry),
    has,
    next: () => inTurn(LOOK_AHEAD),
    entries: () => inTurn(Number.POSITIVE_INFINITY),
    length: () => count,
    noteChange,
    untilChange: () => changes.until(CHANGE),
  }
}
