import type { JobSharing } from '../store/settlement-journal.js'

/** Waits for outcomes that other processes find. */
export interface DecisionWatch {
  /** Resolves when the job may have an outcome, or after so many milliseconds. */
  untilDecided(id: string, ms: number): Promise<void>
}

/** One question for all who wait; little against a block of half a second. */
const POLL_MS = 50

export function createDecisionWatch(sharing: Pick<JobSharing, 'decidedAmong'>): DecisionWatch {
  const waiting = new Map<string, Set<() => void>>()
  let isLooking = false

  async function look(): Promise<void> {
    // A store that cannot be asked is asked again: who waits has a deadline.
    const decided = await sharing.decidedAmong([...waiting.keys()]).catch(() => [])
    for (const id of decided) for (const wake of waiting.get(id) ?? []) wake()
    isLooking = waiting.size > 0
    if (isLooking) setTimeout(look, POLL_MS)
  }

  return {
    untilDecided(id, ms) {
      return new Promise((resolve) => {
        const listeners = waiting.get(id) ?? new Set()
        waiting.set(id, listeners)
        const late = setTimeout(wake, Math.max(0, ms))
        function wake(): void {
          clearTimeout(late)
          listeners.delete(wake)
          if (listeners.size === 0 && waiting.get(id) === listeners) waiting.delete(id)
          resolve()
        }
        listeners.add(wake)
        if (isLooking) return
        isLooking = true
        setTimeout(look, POLL_MS)
      })
    },
  }
}
