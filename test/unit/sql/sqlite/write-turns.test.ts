import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import { openDatabase, type SqliteDatabase } from '../../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../../src/sql/sqlite/group-commit.js'
import {
  createFirstTurns,
  createSecondTurns,
  createTurnFlags,
  type WriteTurns,
} from '../../../../src/sql/sqlite/write-turns.js'
import { startThread } from '../../../../src/sql/thread.js'
import type { WritingThread } from './a-writing-thread.js'

/** The longest wait for a thread that ended in its turn, and the time that a busy machine adds. */
const [BOUND_MS, LATE_MS] = [250, 1_500]

async function timeOf(work: () => Promise<unknown> | undefined): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

describe('two threads that take turns', () => {
  let payments: WriteTurns
  let directory: WriteTurns
  const order: string[] = []

  beforeEach(() => {
    const shared = createTurnFlags()
    payments = createFirstTurns(shared)
    directory = createSecondTurns(shared)
    order.length = 0
  })

  async function take(turns: WriteTurns, name: string): Promise<void> {
    await turns.take()
    order.push(name)
  }

  it('write at once while the other does not', () => {
    for (const turns of [payments, directory, payments]) {
      expect(turns.take()).toBeUndefined()
      turns.give()
    }
  })

  it('wait for each other', async () => {
    await payments.take()
    const second = take(directory, 'directory')
    await wait(20)
    expect(order).toEqual([])
    payments.give()
    await second
    const first = take(payments, 'payments')
    await wait(20)
    expect(order).toEqual(['directory'])
    directory.give()
    await first
    expect(order).toEqual(['directory', 'payments'])
  })

  it('write payments first, whoever asked first', async () => {
    await directory.take()
    const first = take(payments, 'payments')
    directory.give()
    // It asks in the same moment, before the other one has woken up.
    const second = take(directory, 'directory')
    await first
    await wait(20)
    expect(order).toEqual(['payments'])
    payments.give()
    await second
    expect(order).toEqual(['payments', 'directory'])
  })

  it('wait for one that ended in its turn up to the bound, and once', async () => {
    for (const [dead, other] of [
      [directory, payments],
      [payments, directory],
    ] as const) {
      await dead.take()
      const tookMs = await timeOf(() => other.take())
      expect(tookMs).toBeGreaterThan(BOUND_MS - 20)
      expect(tookMs).toBeLessThan(BOUND_MS + LATE_MS)
      other.give()
      expect(other.take()).toBeUndefined()
      other.give()
    }
  })
})

describe('two threads that write one file', () => {
  let folder: string
  let path: string
  let database: SqliteDatabase
  let thread: Worker | undefined
  const begun = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const countBegun = () => Atomics.load(new Int32Array(begun), 0)

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arcus-turns-'))
    path = join(folder, 'one.db')
    database = openDatabase(path)
    database.exec('CREATE TABLE rows (text TEXT)')
  })

  afterEach(async () => {
    await thread?.terminate()
    thread = undefined
    database.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts the thread of the directory; resolves once it is in a transaction. */
  async function startWriting(shared: SharedArrayBuffer, isStuck = false): Promise<Worker> {
    const data: WritingThread = { path, shared, begun, isStuck }
    const script = new URL('a-writing-thread.ts', import.meta.url)
    thread = startThread(script, { maxHeapMb: 128, data })
    await once(thread, 'message')
    return thread
  }

  /** The commits of the thread that writes payments. `onTake` is called when it asks for its turn. */
  function aCommit(shared: SharedArrayBuffer, onTake = () => {}, busyPatienceMs = 5_000) {
    const { take, give } = createFirstTurns(shared)
    const turns = {
      give,
      take() {
        onTake()
        return take()
      },
    }
    const commit = createGroupCommit(database, { turns, busyPatienceMs })
    const insert = database.prepare("INSERT INTO rows VALUES ('a payment')")
    return {
      ...commit,
      insert: (look = () => {}) =>
        commit.write(() => {
          look()
          insert.run()
        }),
    }
  }

  const count = (text: string) =>
    database.prepare('SELECT count(*) FROM rows WHERE text = ?').pluck().get(text)

  it('let a payment wait for the transaction under way and for no further one', async () => {
    const shared = createTurnFlags()
    await startWriting(shared)
    let [asked, written] = [0, 0]
    const commit = aCommit(shared, () => {
      asked = countBegun()
    })
    const further: number[] = []
    for (let i = 0; i < 60; i++) {
      await commit.insert(() => {
        written = countBegun()
      })
      further.push(written - asked)
      // At any moment of what the other thread does.
      await wait(Math.random() * 20)
    }
    // One may begin in the moment between the look here and the flag.
    expect(Math.max(...further)).toBeLessThanOrEqual(1)
    expect(further.filter((it) => it > 0).length).toBeLessThan(6)
    await commit.close()
  })

  it('both write, also where payments are written without a pause', async () => {
    const shared = createTurnFlags()
    await startWriting(shared)
    const commit = aCommit(shared)
    const before = countBegun()
    const until = performance.now() + 1_000
    let payments = 0
    while (performance.now() < until) {
      await commit.insert()
      payments++
    }
    expect(countBegun() - before).toBeGreaterThan(5)
    expect(count('a payment')).toBe(payments)
    await commit.close()
  })

  it('hold each other up for the bound at most where one is ended in its transaction, which leaves nothing', async () => {
    const shared = createTurnFlags()
    const stuck = await startWriting(shared, true)
    const commit = aCommit(shared)
    const written = commit.insert()
    await wait(50)
    await stuck.terminate()
    expect(await timeOf(() => written)).toBeLessThan(BOUND_MS + LATE_MS)
    expect([count('a payment'), count('of the other thread')]).toEqual([1, 0])
    expect(await timeOf(() => commit.insert())).toBeLessThan(BOUND_MS)
    // The next thread finds its turn as well.
    await startWriting(shared)
    await commit.close()
  })

  it('still wait for another process, and reject when it stays', async () => {
    const shared = createTurnFlags()
    const other = new Sqlite(path)
    onTestFinished(() => void other.close())
    const commit = aCommit(shared, () => {}, 300)
    const lock = () => other.exec('BEGIN IMMEDIATE')
    lock()
    const inTime = commit.insert()
    await wait(100)
    expect(count('a payment')).toBe(0)
    other.exec('ROLLBACK')
    await inTime
    lock()
    await expect(commit.insert()).rejects.toThrow(StoreUnavailableError)
    // A write that failed gives its turn back.
    const directory = createSecondTurns(shared)
    expect(directory.take()).toBeUndefined()
    directory.give()
    other.exec('ROLLBACK')
    await commit.insert()
    expect(count('a payment')).toBe(2)
    await commit.close()
  })
})
