import { setImmediate as nextTurn } from 'node:timers/promises'

/** Below the 5 ms that no work of ours may hold the event loop, with room for the step that is under way. */
const SLICE_MS = 3

/** Makes a pause for long work to await after each small step: it lets others run once a slice is used up. */
export function createPause(sliceMs = SLICE_MS): () => Promise<void> | undefined {
  let startedAt = performance.now()
  return () => {
    if (performance.now() - startedAt < sliceMs) return undefined
    return nextTurn().then(() => {
      startedAt = performance.now()
    })
  }
}
