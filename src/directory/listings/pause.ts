import { setImmediate as nextTurn } from 'node:timers/promises'

/** Below the 5 ms that no work may hold the event loop, with room for the running step. */
const SLICE_MS = 3

/** Creates a pause that long work awaits after each small step. It lets other work run once a slice is used up. */
export function createPause(sliceMs = SLICE_MS): () => Promise<void> | undefined {
  let startedAt = performance.now()
  return () => {
    if (performance.now() - startedAt < sliceMs) return undefined
    return nextTurn().then(() => {
      startedAt = performance.now()
    })
  }
}
