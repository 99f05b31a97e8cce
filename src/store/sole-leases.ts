import type { LeaseStore } from './leases.js'

/** Leases where no other process can exist: whatever is asked for is held, for ever. */
export function createSoleLeases(): LeaseStore {
  const epochs = new Map<string, number>()
  return {
    durationMs: undefined,
    beat: async () => ({ epochs, replicas: 1 }),
    async take(names) {
      for (const name of names) epochs.set(name, 0)
      return epochs
    },
    async release(name) {
      epochs.delete(name)
    },
    leave: async () => epochs.clear(),
  }
}
