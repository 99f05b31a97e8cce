import { scriptBeside, superviseThread } from '../thread.js'
import type { SqliteDatabase } from './database.js'
import type { GroupCommit } from './group-commit.js'

interface CheckpointsOptions {
  database: SqliteDatabase
  commit: Pick<GroupCommit, 'hold'>
  /** Receives errors. Checkpoints go on regardless: on this thread, while there is no other. */
  onFault: (error: unknown) => void
  /** The script next to this module by default. For tests. */
  script?: URL
}

/** A message from the thread. `hold` asks for a moment without commits, `release` ends it. */
export type CheckpointMessage =
  | { kind: 'ready' | 'hold' | 'release' }
  | { kind: 'fault'; error: unknown }

/** A message to the thread; `stop` is the last one. */
export type CheckpointCommand = 'held' | 'stop'

/** SQLite's own default, used while no thread makes checkpoints. */
const AUTOCHECKPOINT_PAGES = 1_000
/** Commits are held no longer than this, whatever the thread does. */
const MAX_HOLD_MS = 500
const MAX_HEAP_MB = 32

/**
 * Makes checkpoints on a thread of their own: they copy SQLite's log into the file, which writes and waits for the disk for
 * tens of milliseconds, and on the main thread every payment would wait for that.
 *
 * The invariant: **a checkpoint never takes part of the log away before the file on disk has it.** SQLite keeps it by its
 * own locks and its own syncs (`synchronous=NORMAL`), so the durability of a commit depends on the log alone, as the group
 * commit says. `test/faults/kill.test.ts` kills the whole process at random moments; `test/unit/sql/sqlite/checkpoints.test.ts`
 * kills the thread while commits are held. When the thread dies, SQLite makes checkpoints within commits, as is its
 * default, until another thread is up.
 */
export function startCheckpoints(options: CheckpointsOptions): { stop(): Promise<void> } {
  const { database, commit, onFault } = options
  const script = options.script ?? scriptBeside(import.meta.url, 'checkpoint-thread')
  let release = () => {}
  if (database.memory) return { stop: async () => {} }
  const thread = superviseThread<CheckpointCommand, CheckpointMessage>(script, {
    maxHeapMb: MAX_HEAP_MB,
    maxYoungMb: 2,
    data: { file: database.name },
    onMessage: hear,
    onFault,
    onEnd() {
      release()
      checkpointHere(true)
    },
  })

  function hear(message: CheckpointMessage): void {
    if (message.kind === 'fault') onFault(message.error)
    if (message.kind === 'ready') checkpointHere(false)
    if (message.kind === 'release') release()
    if (message.kind !== 'hold') return
    release()
    release = holdBriefly(commit)
    thread.post('held')
  }

  function checkpointHere(isHere: boolean): void {
    if (database.open) {
      database.pragma(`wal_autocheckpoint = ${isHere ? AUTOCHECKPOINT_PAGES : 0}`)
    }
  }

  thread.start()
  return { stop: thread.stop }
}

/** Holds commits until the returned function is called, or for `MAX_HOLD_MS`. */
function holdBriefly({ hold }: Pick<GroupCommit, 'hold'>): () => void {
  const goOn = hold()
  const timer = setTimeout(goOn, MAX_HOLD_MS)
  return () => {
    clearTimeout(timer)
    goOn()
  }
}
