import { closeSync, fdatasync, openSync } from 'node:fs'
import type { Database } from './database.js'

export interface GroupCommit {
  /**
   * Runs `write` in the next commit; resolves with its result once that commit is on disk. When another write of the
   * commit throws, it is rolled back and run again, so it must do nothing but read and write rows.
   */
  write<Result>(write: () => Result): Promise<Result>
  /** Runs `write` a little later, many in one commit; for what may be lost at a power cut. */
  defer(write: () => void): void
  /** From now on nothing is committed, until what it answers is called: writes wait, nothing is lost. */
  hold(): () => void
  /** Commits what waits and resolves when all of it is on disk; the last call, before the database is closed. */
  close(): Promise<void>
}

interface Waiting {
  write: () => unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Deferred writes wait this long for company: at thousands a second a commit of their own each would be felt. */
const DEFER_MS = 50

/**
 * One commit and one wait for the disk for all writes that come together. The commit itself only writes; the disk is
 * awaited beside the event loop, and what comes meanwhile forms the next group. A write that throws is rolled back
 * alone; a commit or a disk that fails rejects every write in it.
 */
export function createGroupCommit(database: Database): GroupCommit {
  const disk = openDisk(database)
  let waiting: Waiting[] = []
  let deferred: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined
  let held: Promise<void> | undefined
  let isClosing = false
  const inSavepoint = database.transaction((write: () => unknown) => write())

  const commitTogether = database.transaction((group: Waiting[]) =>
    group.map((member) => {
      const result = member.write()
      return () => member.resolve(result)
    }),
  )
  const commitApart = database.transaction((group: Waiting[]) =>
    group.map((member) => {
      try {
        const result = inSavepoint(member.write)
        return () => member.resolve(result)
      } catch (error) {
        // A full disk rolls back the whole transaction: nothing of this group may count as kept.
        if (!database.inTransaction) throw error
        return () => member.reject(error)
      }
    }),
  )

  /** Savepoints are two more statements for each write, so they come only after one has thrown. */
  function commit(group: Waiting[]): (() => void)[] {
    try {
      return commitTogether.immediate(group)
    } catch {
      return commitApart.immediate(group)
    }
  }

  const commitDeferred = database.transaction((writes: (() => void)[]) => {
    for (const write of writes) write()
  })

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      if (held !== undefined) await held
      const group = waiting
      waiting = []
      try {
        const answers = commit(group)
        await disk.sync()
        for (const answer of answers) answer()
      } catch (error) {
        for (const member of group) member.reject(error)
      }
    }
    flushing = undefined
  }

  function schedule(): Promise<void> {
    // The rest of this turn of the event loop may bring more.
    flushing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(flush)
    return flushing
  }

  function flushDeferred(): void {
    clearTimeout(timer)
    timer = undefined
    if (held !== undefined && !isClosing) {
      timer = setTimeout(flushDeferred, DEFER_MS)
      return
    }
    const writes = deferred
    deferred = []
    try {
      if (writes.length > 0) commitDeferred.immediate(writes)
    } catch {
      // What is deferred may be lost; a full disk shows in the writes that may not.
    }
  }

  return {
    write: <Result>(write: () => Result) =>
      new Promise<Result>((resolve, reject) => {
        waiting.push({ write, resolve: resolve as (result: unknown) => void, reject })
        void schedule()
      }),
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
      isClosing = true
      flushDeferred()
      await schedule()
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
  const log = openSync(`${database.name}-wal`, 'r')
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => (error === null ? resolve() : reject(error)))
      }),
    close: () => closeSync(log),
  }
}
