import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import type { CheckpointCommand, CheckpointMessage } from './checkpoints.js'

/** The thread of `startCheckpoints`: copies the log into the file over a connection of its own. */
const { file } = workerData as { file: string }

/** Milliseconds between two checks of the size of the write-ahead log. */
const CHECK_MS = 100
/** Pages not copied yet that are worth a checkpoint: SQLite's own default, 4 MiB. */
const WORTHWHILE_PAGES = 1_000
/** A log of this number of pages (16 MiB) must begin anew, even if writers never let the whole of it be copied. */
const LONG_PAGES = 4_000
/** Pause before the next try when a reader still uses the beginning of the log. */
const PATIENCE_MS = 1_000
/** Commits are held meanwhile, so only short reads are waited for. */
const BUSY_TIMEOUT_MS = 25

const database = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS })
let isAsked = false
let restNotBefore = 0

const timer = setInterval(check, CHECK_MS)
parentPort?.on('message', (command: CheckpointCommand) => {
  if (command === 'held') restart()
  else stop()
})
say({ kind: 'ready' })

function check(): void {
  const before = checkpoint('NOOP')
  const open = before.log - before.done
  const isLong = before.log >= LONG_PAGES && open > 0
  if (open < WORTHWHILE_PAGES && !isLong) return
  checkpoint('PASSIVE')
  // A log that is copied as a whole begins anew with the next commit. Under constant writing it never is.
  const { log, done } = checkpoint('NOOP')
  const mustRestart = log >= LONG_PAGES && log > done
  if (!mustRestart || isAsked || performance.now() < restNotBefore) return
  isAsked = true
  say({ kind: 'hold' })
}

/** Copies the little that is left while writers are held, so that the next commit begins the log anew. */
function restart(): void {
  const { isBusy } = checkpoint('RESTART')
  if (isBusy) restNotBefore = performance.now() + PATIENCE_MS
  isAsked = false
  say({ kind: 'release' })
}

/** Makes a checkpoint. Returns the length of the log (`log`) and how much of it is in the file (`done`), in pages. */
function checkpoint(mode: 'NOOP' | 'PASSIVE' | 'RESTART') {
  try {
    const [row] = database.pragma(`wal_checkpoint(${mode})`) as [
      { busy: number; log: number; checkpointed: number },
    ]
    return { isBusy: row.busy === 1, log: row.log, done: row.checkpointed }
  } catch (error) {
    // The disk is full or fails: the log keeps what was written, and another try follows.
    say({ kind: 'fault', error })
    return { isBusy: true, log: 0, done: 0 }
  }
}

function say(message: CheckpointMessage): void {
  parentPort?.postMessage(message)
}

function stop(): void {
  clearInterval(timer)
  database.close()
  parentPort?.close()
}
