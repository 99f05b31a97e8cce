import type { TrackedJob } from './tracked-jobs.js'

/** Jobs that wait for a lane, in the order they came. */
export interface JobQueue {
  add(entry: TrackedJob): void
  /** The first that may go: alone if it must travel alone, else with as many as may ride along; empty when nobody may. */
  take(maxMembers: number, mayGo?: (entry: TrackedJob) => boolean): TrackedJob[]
  remove(entry: TrackedJob): boolean
  entries(): readonly TrackedJob[]
}

export function createJobQueue(): JobQueue {
  let queue: TrackedJob[] = []
  return {
    add(entry) {
      if (!queue.includes(entry)) queue.push(entry)
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
  }
}
