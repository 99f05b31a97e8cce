import type { TrackedJob } from './jobs.js'

/**
 * Jobs that wait for a lane, in the order they came. Every part of the relayer that finds a job to send adds it here;
 * the dispatcher takes them out.
 */
export interface JobQueue {
  /** Adds a job at the end and dispatches. */
  add(entry: TrackedJob): void
  /** Adds a job that is sent in a transaction of its own from now on. */
  addAlone(entry: TrackedJob): void
  /** Adds a job after a moment. */
  addLater(entry: TrackedJob): void
  /**
   * Takes out the first job that may go: alone if it must be sent alone, else with as many others as may share its
   * transaction; empty when none may go.
   */
  take(maxMembers: number, mayGo?: (entry: TrackedJob) => boolean): TrackedJob[]
  /** Takes this job out; returns whether it waited here. */
  remove(entry: TrackedJob): boolean
  entries(): readonly TrackedJob[]
  length(): number
  /** Hands what waits to the lanes that are free. */
  dispatch(): void
  /** Sets what `dispatch` runs: the dispatcher, which is made after everything that adds jobs. */
  onDispatch(run: () => void): void
}

/** After trouble before the signature the next try waits this long. */
export const RETRY_MS = 200

export function createJobQueue(): JobQueue {
  let queue: TrackedJob[] = []
  let dispatch = () => {}

  function add(entry: TrackedJob): void {
    if (!queue.includes(entry)) queue.push(entry)
    dispatch()
  }

  return {
    add,
    addAlone(entry) {
      entry.isAlone = true
      add(entry)
    },
    addLater(entry) {
      setTimeout(() => add(entry), RETRY_MS)
    },
    take(maxMembers, mayGo = () => true) {
      const head = queue.find(mayGo)
      if (head === undefined) return []
      if (head.isAlone || maxMembers === 1) {
        queue = queue.filter((entry) => entry !== head)
        return [head]
      }
      const batch: TrackedJob[] = []
      queue = queue.filter((entry) => {
        if (batch.length >= maxMembers || entry.isAlone || !mayGo(entry)) return true
        batch.push(entry)
        return false
      })
      return batch
    },
    remove(entry) {
      const at = queue.indexOf(entry)
      if (at >= 0) queue.splice(at, 1)
      return at >= 0
    },
    entries: () => queue,
    length: () => queue.length,
    dispatch: () => dispatch(),
    onDispatch(run) {
      dispatch = run
    },
  }
}
