import { scriptBeside, superviseThread } from '../thread.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'
import type { ThreadedReader } from './reader.js'

export interface CheckpointsOptions {
  database: Database
  commit: Pick<GroupCommit, 'hold'>
  /** Readers on other threads, which keep the log from beginning anew while one of them reads. */
  reads?: Pick<ThreadedReader, 'hold'> | undefined
  /** Receives errors. Checkpoints go on regardless: on this thread, while there is no other. */
  onFault: (error: unknown) => void
  /** The script next to this module by default. For tests. */
  script?: URL
}

/**
 * A message from the thread. `hold` asks for a moment without commits, `release` ends it. `isRead` is true when a reader
 * was in the way: then no other read begins before the next try.
 */
export type CheckpointMessage =
  | { kind: 'ready' | 'hold' }
  | { kind: 'release'; isRead: boolean }
  | { kind: 'fault'; error: unknown }

/** A message to the thread; `stop` is the last one. */
export type CheckpointCommand = 'held' | 'stop'

/** SQLite's own default, used while no thread makes checkpoints. */
const AUTOCHECKPOINT_PAGES = 1_000
/** Commits are held no longer than this, whatever the thread does. */
const MAX_HOLD_MS = 500
/** Reads wait no longer than this for a longer one, and for the next try of a checkpoint after it. */
const MAX_READ_HOLD_MS = 5_000
const MAX_HEAP_MB = 32

/**
 * Makes checkpoints on a thread of their own: they copy SQLite's log into the file, which writes and waits for the disk for
 * tens of milliseconds, and on the main thread every payment would wait for that.
 *
 * The invariant: **a checkpoint never takes part of the log away before the file on disk has it.** SQLite keeps it by its
 * own locks and its own syncs (`synchronous=NORMAL`), so the durability of a commit depends on the log alone, as the group
 * commit says. `test/faults/kill.test.ts` kills the whole process at random moments; `test/unit/store/checkpoints.test.ts`
 * kills the thread while commits are held. When the thread dies, SQLite makes checkpoints within commits, as is its
 * default, until another thread is up.
 */
export function startCheckpoints(options: CheckpointsOptions): { stop(): Promise<void> } {
  const { database, commit, reads, onFault } = options
  const script = options.script ?? scriptBeside(import.meta.url, 'checkpoint-thread')
  let release = () => {}
  let releaseReads = () => {}
  if (database.memory) return { stop: async () => {} }
  const thread = superviseThread<CheckpointCommand, CheckpointMessage>(script, {
    maxHeapMb: MAX_HEAP_MB,
    data: { file: database.name },
    onMessage: hear,
    onFault,
    onEnd() {
      release()
      releaseReads()
      checkpointHere(true)
    },
  })

  function hear(message: CheckpointMessage): void {
    if (message.kind === 'fault') onFault(message.error)
    if (message.kind === 'ready') checkpointHere(false)
    if (message.kind === 'release') {
      release()
      releaseReads()
      if (message.isRead && reads !== undefined) releaseReads = atMost(MAX_READ_HOLD_MS, reads)
    }
    if (message.kind !== 'hold') return
    release()
    release = atMost(MAX_HOLD_MS, commit)
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

/** Holds until the returned function is called, or for so long. */
function atMost(ms: number, { hold }: { hold(): () => void }): () => void {
  const goOn = hold()
  const timer = setTimeout(goOn, ms)
  return () => {
    clearTimeout(timer)
    goOn()
  }
}
