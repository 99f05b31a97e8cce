import { closeSync, openSync, readSync } from 'node:fs'

/** How long the event loop did nothing else, since the last look. */
export interface LoopTurns {
  /** Longest turn by the clock, without what the thread waited for a processor. */
  worstMs: number
  /** How many turns by the clock were above 5 ms. */
  over5Ms: number
  /** Most processor time that one turn took; the clock of a machine shared with others stands still at times. */
  worstWorkMs: number
  /** How many turns took more processor time than 5 ms. */
  over5MsOfWork: number
}

/** Milliseconds between two looks at the loop. A turn is reported up to two of these too long, and never too short. */
const LOOK_MS = 1
const LONG_MS = 5

/** Watches the event loop of this process from now on, at a few per cent of a processor; each call of the result starts anew. */
export function watchTurns(): () => LoopTurns {
  const readThread = mainThreadTimes()
  const none: LoopTurns = { worstMs: 0, over5Ms: 0, worstWorkMs: 0, over5MsOfWork: 0 }
  let seen = { ...none }
  let last = { now: performance.now(), ...readThread() }

  function look(): void {
    const before = last
    last = { now: performance.now(), ...readThread() }
    const ms = last.now - before.now - (last.waitedMs - before.waitedMs)
    const workMs = last.workedMs - before.workedMs
    seen.worstMs = Math.max(seen.worstMs, ms)
    seen.worstWorkMs = Math.max(seen.worstWorkMs, workMs)
    if (ms > LONG_MS) seen.over5Ms++
    if (workMs > LONG_MS) seen.over5MsOfWork++
  }

  setInterval(look, LOOK_MS).unref()
  return () => {
    const told = seen
    seen = { ...none }
    last = { now: performance.now(), ...readThread() }
    return told
  }
}

/** Processor time of the main thread, and how long it was ready to run and had no processor, as Linux reports them; zeros elsewhere. */
function mainThreadTimes(): () => { workedMs: number; waitedMs: number } {
  let file: number
  try {
    file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  } catch {
    return () => ({ workedMs: 0, waitedMs: 0 })
  }
  process.once('exit', () => closeSync(file))
  const text = Buffer.alloc(64)
  return () => {
    const length = readSync(file, text, 0, text.length, 0)
    const [worked, waited] = text.toString('latin1', 0, length).split(' ')
    return { workedMs: Number(worked) / 1e6, waitedMs: Number(waited) / 1e6 }
  }
}
