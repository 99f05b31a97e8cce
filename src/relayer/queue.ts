import type { TrackedJob } from './jobs.js'

/**
 * Jobs that wait for a lane, in the order they came. A job is in one place at a time: it waits here, it rests until it
 * waits again, somebody has it in hand, or else a slot carries it or the examiner has it. So no two lanes get the same job.
 */
export interface JobQueue {
  /** Adds a job at the end and dispatches; one that waits, rests or is in hand stays where it is. */
  add(entry: TrackedJob): void
  /**
   * Takes in hand the first job that may go: alone if it must be sent alone, else with as many others as may share its
   * transaction; empty when none may go.
   */
  take(maxMembers: (head: TrackedJob) => number, mayGo?: MayGo): TrackedJob[]
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
  entries(): readonly TrackedJob[]
  length(): number
  /** Hands what waits to the lanes that are free. */
  dispatch(): void
  /** Sets what `dispatch` runs: the dispatcher, which is made after everything that adds jobs. */
  onDispatch(run: () => void): void
}

/** After trouble before the signature the next try waits this long. */
export const RETRY_MS = 200

/** Returns whether a job may leave the queue now, in a transaction with those that are taken for it already. */
export type MayGo = (entry: TrackedJob, taken: readonly TrackedJob[]) => boolean

function isAlone(entry: TrackedJob): boolean {
  return entry.isAlone || entry.isSingle === true
}

export function createJobQueue(): JobQueue {
  let waiting: TrackedJob[] = []
  const inHand = new WeakSet<TrackedJob>()
  const resting = new WeakSet<TrackedJob>()
  let dispatch = () => {}

  const has = (entry: TrackedJob) =>
    inHand.has(entry) || resting.has(entry) || waiting.includes(entry)

  function takeWhere(isTaken: MayGo): TrackedJob[] {
    const taken: TrackedJob[] = []
    waiting = waiting.filter((entry) => {
      if (!isTaken(entry, taken)) return true
      inHand.add(entry)
      taken.push(entry)
      return false
    })
    return taken
  }

  function add(entry: TrackedJob): void {
    if (!has(entry)) waiting.push(entry)
    dispatch()
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
    take(maxMembers, mayGo = () => true) {
      const head = waiting.find((entry) => mayGo(entry, []))
      if (head === undefined) return []
      let room = isAlone(head) ? 1 : maxMembers(head)
      if (room === 1) return takeWhere((entry) => entry === head)
      const mayShare = (entry: TrackedJob) => !isAlone(entry) && entry.through === head.through
      return takeWhere(
        (entry, taken) => room > 0 && mayShare(entry) && mayGo(entry, taken) && room-- > 0,
      )
    },
    takeOut: (entry) => takeWhere((it) => it === entry).length > 0,
    putBack,
    putBackAlone(entry) {
      entry.isAlone = true
      putBack(entry)
    },
    letGo: (entry) => void inHand.delete(entry),
    isInHand: (entry) => inHand.has(entry),
    has,
    entries: () => waiting,
    length: () => waiting.length,
    dispatch: () => dispatch(),
    onDispatch(run) {
      dispatch = run
    },
  }
}
