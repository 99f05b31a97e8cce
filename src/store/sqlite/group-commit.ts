import type { Database } from './database.js'

export interface GroupCommit {
  /** Runs `write` in the next commit; resolves with its result once that commit is on disk. */
  write<Result>(write: () => Result): Promise<Result>
  /** Runs `write` with the next group, without telling when; for what may be lost in a crash. */
  defer(write: () => void): void
}

interface Waiting {
  write: () => unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * One commit, and so one wait for the disk, for all writes of the same turn of the event loop. A write that
 * throws is rolled back alone; a commit that fails (a full disk) rejects every write in it.
 */
export function createGroupCommit(database: Database): GroupCommit {
  let waiting: Waiting[] = []
  let deferred: (() => void)[] = []
  const inSavepoint = database.transaction((write: () => unknown) => write())

  const commit = database.transaction((group: Waiting[], lazy: (() => void)[]) => {
    const settled = group.map((member) => {
      try {
        const result = inSavepoint(member.write)
        return () => member.resolve(result)
      } catch (error) {
        // A full disk rolls back the whole transaction: nothing of this group may count as kept.
        if (!database.inTransaction) throw error
        return () => member.reject(error)
      }
    })
    for (const write of lazy) write()
    return settled
  })

  function flush(): void {
    const group = waiting
    const lazy = deferred
    waiting = []
    deferred = []
    try {
      for (const answer of commit.immediate(group, lazy)) answer()
    } catch (error) {
      for (const member of group) member.reject(error)
    }
  }

  function schedule(): void {
    if (waiting.length + deferred.length === 1) setImmediate(flush)
  }

  return {
    write: <Result>(write: () => Result) =>
      new Promise<Result>((resolve, reject) => {
        waiting.push({ write, resolve: resolve as (result: unknown) => void, reject })
        schedule()
      }),
    defer(write) {
      deferred.push(write)
      schedule()
    },
  }
}
