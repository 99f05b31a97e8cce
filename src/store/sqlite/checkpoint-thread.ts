import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import type { CheckpointQuestion, CheckpointWord } from './checkpoints.js'

/** The thread of `startCheckpoints`: carries the log over into the file through a connection of its own. */
const { file } = workerData as { file: string }

/** How often it is looked how long the log is. */
const LOOK_MS = 100
/** Pages not carried over yet that are worth the work: SQLite's own measure, 4 MiB. */
const WORTHWHILE_PAGES = 1_000
/** A log of so many pages must begin anew, even if writers never let it be carried over whole: 16 MiB. */
const LONG_PAGES = 4_000
/** Somebody still reads what the log began with; asked again after this. */
const PATIENCE_MS = 1_000
const BUSY_TIMEOUT_MS = 200

const database = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS })
let isAsked = false
let restNotBefore = 0

const timer = setInterval(look, LOOK_MS)
parentPort?.on('message', (word: CheckpointQuestion) => {
  if (word === 'held') restart()
  else stop()
})
say({ kind: 'ready' })

function look(): void {
  const before = checkpoint('NOOP')
  const open = before.log - before.done
  const isLong = before.log >= LONG_PAGES && open > 0
  if (open < WORTHWHILE_PAGES && !isLong) return
  checkpoint('PASSIVE')
  // Carried over whole, it begins anew with the next commit by itself; under constant writing it never is.
  const { log, done } = checkpoint('NOOP')
  const mustRestart = log >= LONG_PAGES && log > done
  if (!mustRestart || isAsked || performance.now() < restNotBefore) return
  isAsked = true
  say({ kind: 'hold' })
}

/** Writers are held for as long as this takes: little is left to carry over, and the next one begins the log anew. */
function restart(): void {
  const { isBusy } = checkpoint('RESTART')
  if (isBusy) restNotBefore = performance.now() + PATIENCE_MS
  isAsked = false
  say({ kind: 'release' })
}

/** `log` and `done` in pages: how long the log is, and how much of it stands in the file. */
function checkpoint(mode: 'NOOP' | 'PASSIVE' | 'RESTART') {
  try {
    const [row] = database.pragma(`wal_checkpoint(${mode})`) as [
      { busy: number; log: number; checkpointed: number },
    ]
    return { isBusy: row.busy === 1, log: row.log, done: row.checkpointed }
  } catch (error) {
    // A full or failing disk: the log keeps what was written, and another try comes.
    say({ kind: 'fault', error })
    return { isBusy: true, log: 0, done: 0 }
  }
}

function say(word: CheckpointWord): void {
  parentPort?.postMessage(word)
}

function stop(): void {
  clearInterval(timer)
  database.close()
  parentPort?.close()
}
