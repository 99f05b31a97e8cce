import { closeSync, fdatasync, openSync, realpathSync } from 'node:fs'
import type { Database } from './database.js'
import { whenFree } from './when-free.js'

export interface GroupCommit {
  /**
   * Runs `write` in the next commit; resolves with its result once that commit is on disk. When another write of the
   * commit throws, it is rolled back and run again, so it must do nothing but read and write rows.
   */
  write<Result>(write: () => Result): Promise<Result>
  /**
   * The same, but resolves once it is committed. A process that dies loses nothing of it; a power cut may, unless a
   * `write` has resolved since, which puts all before it on disk too.
   */
  writeUnsynced<Result>(write: () => Result): Promise<Result>
  /** Runs `write` a little later, many in one commit; for what may be lost at a power cut. */
  defer(write: () => void): void
  /** From now on nothing is committed, until what it answers is called: writes wait, nothing is lost. */
  hold(): () => void
  /** Commits what waits and resolves when all of it is on disk; the last call, before the database is closed. */
  close(): Promise<void>
}

export interface GroupCommitOptions {
  /** How long writes wait while another process has the file locked; for tests, 5 s otherwise. */
  busyPatienceMs?: number
}

interface Waiting {
  write: () => unknown
  /** Whether it waits for the disk. */
  isSynced: boolean
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Committed, with what it answers. */
interface Committed {
  member: Waiting
  answer(): void
}

/** Deferred writes wait this long for company: at thousands a second a commit of their own each would be felt. */
const DEFER_MS = 50

/**
 * One commit and one wait for the disk for all writes that come together. The commit itself only writes; the disk is
 * awaited beside the event loop, and what comes meanwhile forms the next group. A write that throws is rolled back
 * alone; a commit that fails rejects every write in it, a disk that fails all that wait for it. While another process
 * has the file locked, writes wait and the event loop goes on; with `StoreUnavailableError` they reject when it stays so.
 */
export function createGroupCommit(
  database: Database,
  { busyPatienceMs }: GroupCommitOptions = {},
): GroupCommit {
  // SQLite itself waits for nobody from here on.
  database.pragma('busy_timeout = 0')
  const disk = openDisk(database)
  let waiting: Waiting[] = []
  let unsynced: Committed[] = []
  let deferred: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined
  let committing: Promise<void> | undefined
  let syncing: Promise<void> | undefined
  let held: Promise<void> | undefined
  const inSavepoint = database.transaction((write: () => unknown) => write())

  const commitTogether = database.transaction((group: Waiting[]) =>
    group.map((member): Committed => {
      const result = member.write()
      return { member, answer: () => member.resolve(result) }
    }),
  )
  const commitApart = database.transaction((group: Waiting[]) =>
    group.map((member): Committed => {
      try {
        const result = inSavepoint(member.write)
        return { member, answer: () => member.resolve(result) }
      } catch (error) {
        // A full disk rolls back the whole transaction: nothing of this group may count as kept.
        if (!database.inTransaction) throw error
        return { member, answer: () => member.reject(error) }
      }
    }),
  )

  /** Savepoints are two more statements for each write, so they come only after one has thrown. */
  function commit(group: Waiting[]): Committed[] {
    try {
      return commitTogether.immediate(group)
    } catch {
      return commitApart.immediate(group)
    }
  }

  async function commitWaiting(): Promise<void> {
    // The rest of this turn of the event loop may bring more.
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (held !== undefined) await held
    const group = waiting
    waiting = []
    try {
      for (const committed of await whenFree(() => commit(group), busyPatienceMs)) {
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

  /** While the disk is awaited the next group grows, unless one in it needs no disk. */
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

  function flushDeferred(): void {
    clearTimeout(timer)
    timer = undefined
    const writes = deferred
    deferred = []
    const writeAll = () => {
      for (const write of writes) write()
    }
    // What is deferred may be lost; a full disk shows in the writes that may not.
    if (writes.length > 0) enqueue(writeAll, false).catch(() => {})
  }

  return {
    write: (write) => enqueue(write, true),
    writeUnsynced: (write) => enqueue(write, false),
    defer(write) {
      deferred.push(write)
      timer ??= setTimeout(flushDeferred, DEFER_MS)
    },
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
      flushDeferred()
      while (committing !== undefined || syncing !== undefined) await (committing ?? syncing)
      await disk.sync()
      disk.close()
    },
  }
}

/**
 * Makes committed pages survive a power cut. In WAL mode a commit is whole once the log is on disk, and what
 * `synchronous=FULL` does on the calling thread, this does on another: `fdatasync` of the log.
 */
function openDisk(database: Database): { sync(): Promise<void>; close(): void } {
  if (database.memory) return { sync: async () => {}, close() {} }
  // SQLite keeps it beside the file itself, also where a link led there.
  const log = openSync(`${realpathSync(database.name)}-wal`, 'r')
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => (error === null ? resolve() : reject(error)))
      }),
    close: () => closeSync(log),
  }
}
