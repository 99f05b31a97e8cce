import { readFileSync } from 'node:fs'

/** How long the event loop did nothing else, longest turn since the last look and how many were above 5 ms. */
export interface LoopTurns {
  worstMs: number
  over5Ms: number
}

/** What is shorter is the loop turning by itself. */
const LEAST_MS = 0.2
const LONG_MS = 5

/** Watches the event loop of this process from now on; each call of the result starts anew. */
export function watchTurns(): () => LoopTurns {
  let worstMs = 0
  let over5Ms = 0
  let turnedAt = performance.now()
  let delayed = delayedMs()
  setImmediate(function turn() {
    const now = performance.now()
    const delayedNow = delayedMs()
    // On a machine shared with others the clock runs on while this thread waits for a processor.
    const ms = now - turnedAt - (delayedNow - delayed)
    if (ms > LEAST_MS) worstMs = Math.max(worstMs, ms)
    if (ms > LONG_MS) over5Ms++
    turnedAt = now
    delayed = delayedNow
    setImmediate(turn)
  })
  return () => {
    const seen = { worstMs, over5Ms }
    worstMs = 0
    over5Ms = 0
    turnedAt = performance.now()
    delayed = delayedMs()
    return seen
  }
}

/** How long the main thread was ready to run and had no processor, as Linux tells it; 0 elsewhere. */
function delayedMs(): number {
  try {
    const [, ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return Number(ns) / 1e6
  } catch {
    return 0
  }
}
