import type { Worker } from 'node:worker_threads'
import { scriptBeside, startThread } from '../thread.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

export interface CheckpointsOptions {
  database: Database
  commit: Pick<GroupCommit, 'hold'>
  /** Told what went wrong; checkpoints go on, on this thread while there is no other. */
  onFault: (error: unknown) => void
  /** For tests; the script beside this module otherwise. */
  script?: URL
}

/** From the thread. `hold` asks for a moment without commits, `release` ends it. */
export type CheckpointWord =
  | { kind: 'ready' | 'hold' | 'release' }
  | { kind: 'fault'; error: unknown }

/** To the thread; `stop` is the last one. */
export type CheckpointQuestion = 'held' | 'stop'

/** SQLite's own measure, for as long as no thread does it. */
const AUTOCHECKPOINT_PAGES = 1_000
/** Commits are held no longer than this, whatever the thread does. */
const MAX_HOLD_MS = 500
const RESTART_MS = 1_000
const STOP_MS = 2_000
const MAX_HEAP_MB = 32

/**
 * Has a thread of its own carry SQLite's log over into the file, which writes and waits for the disk for tens of
 * milliseconds: on the main thread every payment would wait for it. What is durable, and when, is not touched: a commit
 * still counts once the log is on disk, and SQLite's locks keep the log until the file has what is in it. When the
 * thread dies, SQLite does checkpoints with commits as by default, until another thread is up.
 */
export function startCheckpoints(options: CheckpointsOptions): { stop(): Promise<void> } {
  const { database, commit, onFault } = options
  const script = options.script ?? scriptBeside(import.meta.url, 'checkpoint-thread')
  let thread: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let isStopped = false
  let release = () => {}
  if (database.memory) return { stop: async () => {} }

  function start(): void {
    const started = startThread(script, { maxHeapMb: MAX_HEAP_MB, data: { file: database.name } })
    thread = started
    started.on('message', (word: CheckpointWord) => hear(word, started))
    started.on('error', onFault)
    started.once('exit', () => {
      thread = undefined
      release()
      checkpointHere(true)
      if (!isStopped) restart = setTimeout(start, RESTART_MS).unref()
    })
    // Last: a listener takes it back.
    started.unref()
  }

  function hear(word: CheckpointWord, from: Worker): void {
    if (word.kind === 'fault') onFault(word.error)
    if (word.kind === 'ready') checkpointHere(false)
    if (word.kind === 'release') release()
    if (word.kind !== 'hold') return
    release()
    release = holdCommits()
    from.postMessage('held' satisfies CheckpointQuestion)
  }

  function holdCommits(): () => void {
    const goOn = commit.hold()
    const timer = setTimeout(goOn, MAX_HOLD_MS)
    return () => {
      clearTimeout(timer)
      goOn()
    }
  }

  function checkpointHere(isHere: boolean): void {
    if (database.open) {
      database.pragma(`wal_autocheckpoint = ${isHere ? AUTOCHECKPOINT_PAGES : 0}`)
    }
  }

  start()
  return {
    async stop() {
      isStopped = true
      clearTimeout(restart)
      const ending = thread
      if (ending === undefined) return
      const ended = new Promise<void>((resolve) => ending.once('exit', () => resolve()))
      ending.postMessage('stop' satisfies CheckpointQuestion)
      const timer = setTimeout(() => void ending.terminate(), STOP_MS)
      await ended
      clearTimeout(timer)
    },
  }
}
