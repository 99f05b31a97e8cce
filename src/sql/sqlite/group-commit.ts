import { closeSync, fdatasync, openSync, realpathSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { persist } from '../../async/persist.js'
import { StoreUnavailableError } from '../errors.js'
import type { SqliteDatabase } from './database.js'
import { soleTurns, type WriteTurns } from './write-turns.js'

export interface GroupCommit {
  /**
   * Runs `write` in the next commit and resolves with its result once that commit is on disk. When another write of the
   * commit throws, this one is rolled back and run again, so it does nothing but read and write rows.
   */
  write<Result>(write: () => Result): Promise<Result>
  /**
   * The same, but resolves once it is committed. The end of the process loses nothing of it. A power cut may, unless a
   * `write` has resolved since: that puts everything before it on disk too.
   */
  writeUnsynced<Result>(write: () => Result): Promise<Result>
  /** Holds all commits until the returned function is called: writes wait, nothing is lost. */
  hold(): () => void
  /** Commits what waits and resolves when all of it is on disk; the last call, before the database is closed. */
  close(): Promise<void>
}

/** Makes committed pages survive a power cut. */
interface Disk {
  /** Resolves once everything that was committed before the call is on disk. */
  sync(): Promise<void>
  close(): void
}

interface GroupCommitOptions {
  /** The longest wait of writes while another process has the file locked; 5 s by default. Tests set it. */
  busyPatienceMs?: number
  /** Says when this thread may write; at any time unless given. */
  turns?: WriteTurns | undefined
  /** The disk of the database by default. For tests. */
  disk?: Disk
}

interface QueuedWrite {
  write: () => unknown
  /** True if the write waits for the disk. */
  isSynced: boolean
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** A write that is committed, and the call that gives its result to the caller. */
interface Committed {
  member: QueuedWrite
  answer(): void
}

/** The longest time that another process may hold the file, such as a command of the operator or a `VACUUM`. */
const PATIENCE_MS = 5_000
const pauses = { firstMs: 1, lastMs: 25 }

/**
 * Makes one commit, and one wait for the disk, for all writes that come together. The commit itself only writes pages. The
 * disk is awaited on another thread, and the writes that come meanwhile form the next group.
 *
 * The invariant: **a `write` resolves only after an `fdatasync` of the log that began after its commit.** SQLite in WAL mode
 * appends each commit to the log in order, and a log that is on disk up to some commit brings back that commit and all
 * before it. `test/unit/sql/sqlite/power-cut.test.ts` holds it: it cuts the power after every wait for the disk and looks for
 * each write that had resolved.
 *
 * A write that throws is rolled back alone. A commit that fails rejects every write in it, and a disk that fails rejects
 * all that wait for it. While another process has the file locked, writes wait and the event loop goes on; if it stays
 * locked, they reject with `StoreUnavailableError`.
 */
export function createGroupCommit(
  database: SqliteDatabase,
  { busyPatienceMs, turns = soleTurns, disk = openDisk(database) }: GroupCommitOptions = {},
): GroupCommit {
  // SQLite itself does not wait for a lock from here on: it would hold the event loop.
  database.pragma('busy_timeout = 0')
  let waiting: QueuedWrite[] = []
  let unsynced: Committed[] = []
  let committing: Promise<void> | undefined
  let syncing: Promise<void> | undefined
  let held: Promise<void> | undefined
  const inSavepoint = database.transaction((write: () => unknown) => write())

  const commitTogether = database.transaction((group: QueuedWrite[]) =>
    group.map((member): Committed => {
      const result = member.write()
      return { member, answer: () => member.resolve(result) }
    }),
  )
  const commitApart = database.transaction((group: QueuedWrite[]) =>
    group.map((member): Committed => {
      try {
        const result = inSavepoint(member.write)
        return { member, answer: () => member.resolve(result) }
      } catch (error) {
        // A full disk rolls back the whole transaction: then nothing of this group is kept.
        if (!database.inTransaction) throw error
        return { member, answer: () => member.reject(error) }
      }
    }),
  )

  /** Uses savepoints only after a write has thrown: they are two more statements for each write. */
  function commit(group: QueuedWrite[]): Committed[] {
    try {
      return commitTogether.immediate(group)
    } catch {
      return commitApart.immediate(group)
    }
  }

  async function commitWaiting(): Promise<void> {
    // The rest of this tick of the event loop may bring more writes.
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (held !== undefined) await held
    await turns.take()
    const group = waiting
    waiting = []
    try {
      const done = await whenFree(() => commit(group), busyPatienceMs).finally(turns.give)
      for (const committed of done) {
        if (committed.member.isSynced) unsynced.push(committed)
        else committed.answer()
      }
    } catch (error) {
      for (const member of group) member.reject(error)
    }
    committing = undefined
    if (unsynced.length > 0) syncing ??= syncCommitted()
    schedule()
  }

  async function syncCommitted(): Promise<void> {
    while (unsynced.length > 0) {
      const covered = unsynced
      unsynced = []
      try {
        await disk.sync()
        for (const { answer } of covered) answer()
      } catch (error) {
        for (const { member } of covered) member.reject(error)
      }
      if (waiting.length > 0) {
        committing ??= commitWaiting()
        await committing
      }
    }
    syncing = undefined
    schedule()
  }

  /** Starts the next commit. While the disk is awaited the next group grows, unless one of its writes needs no disk. */
  function schedule(): void {
    if (waiting.length === 0) return
    if (syncing !== undefined && waiting.every(({ isSynced }) => isSynced)) return
    committing ??= commitWaiting()
  }

  function enqueue<Result>(write: () => Result, isSynced: boolean): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.push({ write, isSynced, resolve: resolve as (result: unknown) => void, reject })
      schedule()
    })
  }

  return {
    write: (write) => enqueue(write, true),
    writeUnsynced: (write) => enqueue(write, false),
    hold() {
      let goOn = () => {}
      const holding = new Promise<void>((resolve) => {
        goOn = resolve
      })
      held = holding
      return () => {
        if (held === holding) held = undefined
        goOn()
      }
    },
    async close() {
      while (committing !== undefined || syncing !== undefined) await (committing ?? syncing)
      await disk.sync()
      disk.close()
    },
  }
}

/** Syncs the log by `fdatasync` on another thread, as `synchronous=FULL` would on the calling one. */
function openDisk(database: SqliteDatabase): Disk {
  if (database.memory) return { sync: async () => {}, close() {} }
  // SQLite keeps the log next to the file itself, even if the path is a link to it.
  const log = openSync(`${realpathSync(database.name)}-wal`, 'r')
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => (error === null ? resolve() : reject(error)))
      }),
    close: () => closeSync(log),
  }
}

/**
 * Runs `attempt` until no other process keeps it from writing. It waits outside the event loop, because a wait inside SQLite
 * would hold up every payment. Rejects with `StoreUnavailableError` when the file stays locked, else with the error of
 * `attempt`.
 */
function whenFree<Result>(attempt: () => Result, patienceMs = PATIENCE_MS): Promise<Result> {
  const deadline = performance.now() + patienceMs
  return persist(attempt, {
    ...pauses,
    onFailure(error) {
      if (!isBusy(error)) throw error
      if (performance.now() < deadline) return
      const message = `another process has kept the database locked for ${patienceMs / 1_000} s: let it end, then try again`
      throw new StoreUnavailableError(message, { cause: error })
    },
  })
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
