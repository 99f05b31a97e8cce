import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { startCheckpoints } from '../../../../src/sql/sqlite/checkpoints.js'
import { openDatabase, type SqliteDatabase } from '../../../../src/sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../../../src/sql/sqlite/group-commit.js'

const WAIT = { timeout: 20_000, interval: 20 }
let folder: string
let database: SqliteDatabase
let commit: GroupCommit
let faults: unknown[]
let checkpoints: { stop(): Promise<void> } | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arcus-test-'))
  database = openDatabase(join(folder, 'arcus.db'))
  database.exec('CREATE TABLE test_rows (id INTEGER PRIMARY KEY, filling TEXT)')
  commit = createGroupCommit(database)
  faults = []
})

afterEach(async () => {
  await checkpoints?.stop()
  await commit.close()
  database.close()
  rmSync(folder, { recursive: true })
})

const begin = (script?: URL) => {
  const onFault = (fault: unknown) => faults.push(fault)
  checkpoints = startCheckpoints({ database, commit, onFault, ...(script && { script }) })
}
const autocheckpoint = () => database.pragma('wal_autocheckpoint', { simple: true })
const untilAutocheckpoint = (pages: number) =>
  vi.waitFor(() => expect(autocheckpoint()).toBe(pages), WAIT)
const filling = 'x'.repeat(100_000)
const insert = (text: string) =>
  commit.write(() => database.prepare('INSERT INTO test_rows (filling) VALUES (?)').run(text))
const count = () => database.prepare('SELECT count(*) AS n FROM test_rows').get() as { n: number }

it('another thread carries the log over while commits go on, and has it begin anew', async () => {
  begin()
  await untilAutocheckpoint(0)
  const hold = vi.spyOn(commit, 'hold')
  let written = 0
  // Never a moment without a commit, so the log never begins anew by itself.
  while (hold.mock.calls.length < 2) {
    await Promise.all(Array.from({ length: 10 }, () => insert(filling)))
    written += 10
    expect(written).toBeLessThan(10_000)
  }
  // Twice so many pages were written and more.
  await vi.waitFor(async () => {
    await insert('more')
    written++
    const [{ log }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
    expect(log).toBeLessThan(4_000)
  }, WAIT)
  expect(count().n).toBe(written)
  expect(faults).toEqual([])
}, 60_000)

it('commits are not held again for a second while a reader uses the beginning of the log', async () => {
  begin(new URL('a-clocked-checkpoint-thread.ts', import.meta.url))
  await untilAutocheckpoint(0)
  const clock = new BroadcastChannel('the clock of checkpoints')
  onTestFinished(() => clock.close())
  const hold = vi.spyOn(commit, 'hold')
  /** Has the thread check the log at a time, and returns how often it has held commits by then. */
  async function holdsAt(ms: number) {
    clock.postMessage(ms)
    await vi.waitFor(() => expect(faults).toContain(`checked at ${ms}`), WAIT)
    // Once they are let go, a commit succeeds.
    await insert('more')
    return hold.mock.calls.length
  }
  const reader = openDatabase(join(folder, 'arcus.db'))
  onTestFinished(() => void reader.close())
  await insert('first')
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM test_rows').get()
  // A long log, some 40 pages a row.
  for (let i = 0; i < 20; i++) {
    await Promise.all(Array.from({ length: 10 }, () => insert(filling)))
  }
  expect(await holdsAt(10_000)).toBe(1)
  expect(await holdsAt(10_999)).toBe(1)
  expect(await holdsAt(11_000)).toBe(2)
  reader.exec('COMMIT')
})

it('a thread that dies while commits are held lets them go, and SQLite does the work meanwhile', async () => {
  begin(new URL('a-dying-checkpoint-thread.ts', import.meta.url))
  const hold = vi.spyOn(commit, 'hold')
  await vi.waitFor(() => expect(hold).toHaveBeenCalled(), WAIT)
  await insert('kept')
  await untilAutocheckpoint(1_000)
  expect(count().n).toBe(1)
}, 30_000)

it('held commits wait and lose nothing', async () => {
  const goOn = commit.hold()
  let isKept = false
  const kept = insert('held').then(() => {
    isKept = true
  })
  const insertEarly = database.prepare('INSERT INTO test_rows DEFAULT VALUES')
  const early = commit.writeUnsynced(() => insertEarly.run())
  await new Promise((resolve) => setTimeout(resolve, 80))
  expect({ isKept, rows: count().n }).toEqual({ isKept: false, rows: 0 })
  goOn()
  await Promise.all([kept, early])
  expect(count().n).toBe(2)
})
