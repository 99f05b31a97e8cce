import { scriptBeside, superviseThread } from '../thread.js'
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
  let release = () => {}
  if (database.memory) return { stop: async () => {} }
  const thread = superviseThread<CheckpointQuestion, CheckpointWord>(script, {
    maxHeapMb: MAX_HEAP_MB,
    data: { file: database.name },
    onMessage: hear,
    onFault,
    onEnd() {
      release()
      checkpointHere(true)
    },
  })

  function hear(word: CheckpointWord): void {
    if (word.kind === 'fault') onFault(word.error)
    if (word.kind === 'ready') checkpointHere(false)
    if (word.kind === 'release') release()
    if (word.kind !== 'hold') return
    release()
    release = holdCommits()
    thread.post('held')
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

  thread.start()
  return { stop: thread.stop }
}
