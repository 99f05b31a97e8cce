import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../../../src/sql/errors.js'
import { startCheckpoints } from '../../../src/sql/sqlite/checkpoints.js'
import { type Database, openDatabase } from '../../../src/sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createThreadedReader, type ThreadedReader } from '../../../src/sql/sqlite/reader.js'

let folder: string
let database: Database
let commit: GroupCommit
let reads: ThreadedReader

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arcus-test-'))
  database = openDatabase(join(folder, 'arcus.db'))
  database.exec('CREATE TABLE test_rows (id INTEGER PRIMARY KEY, filling TEXT, amount INTEGER)')
  commit = createGroupCommit(database)
  reads = createThreadedReader(database.name)
})

afterEach(async () => {
  await reads.stop()
  await commit.close()
  database.close()
  rmSync(folder, { recursive: true })
})

const insert = (filling: string) => () =>
  database.prepare('INSERT INTO test_rows (filling) VALUES (?)').run(filling)
const count = async () => (await reads.get<{ n: number }>('SELECT count(*) AS n FROM test_rows'))?.n

/** Counts up to this number, which takes long. */
const counting = (to: number) =>
  reads.get<{ n: number }>(
    'WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < $1) SELECT count(*) AS n FROM up, (SELECT id FROM test_rows LIMIT 1)',
    [to],
  )

it('sees every commit that resolved before it was asked, with and without a wait for the disk', async () => {
  for (let i = 1; i <= 200; i += 2) {
    await commit.write(insert('a'))
    expect(await count()).toBe(i)
    await commit.writeUnsynced(insert('b'))
    expect(await count()).toBe(i + 1)
  }
})

it('gives values back as they are, and takes arrays and large numbers as parameters', async () => {
  const text = `SELECT $1 AS large, $2 AS text, $3 AS absent, CAST(9223372036854775807 AS TEXT) AS digits
    WHERE ${reads.among('3', 4)} AND 'b' IN (SELECT value FROM ${reads.texts(5)})`
  const values = [9_007_199_254_740_991n, 'ß\u0000"', null, [1, 3], ['a', 'b']]
  expect(await reads.all(text, values)).toEqual([
    { large: 2 ** 53 - 1, text: 'ß\u0000"', absent: null, digits: '9223372036854775807' },
  ])
  expect(await reads.get('SELECT 1 AS one WHERE 1 = 0')).toBeUndefined()
})

it('rejects with the error of SQLite, and goes on', async () => {
  const wrong = reads.all('SELECT * FROM nowhere')
  await expect(wrong).rejects.toThrow(Sqlite.SqliteError)
  await expect(wrong).rejects.toMatchObject({ message: 'no such table: nowhere' })
  expect(await count()).toBe(0)
})

it('cannot write', async () => {
  await expect(
    reads.all("INSERT INTO test_rows (filling) VALUES ('x') RETURNING id"),
  ).rejects.toMatchObject({
    code: 'SQLITE_READONLY',
  })
})

it('does not hold the event loop while it reads', async () => {
  await commit.write(insert('a'))
  let isRead = false
  let turns = 0
  const read = counting(2_000_000).then(() => {
    isRead = true
  })
  while (!isRead) {
    turns++
    await sleep(1)
  }
  await read
  expect(turns).toBeGreaterThan(20)
})

it('a thread that dies fails the reads that wait, and another one takes its place', async () => {
  const script = new URL('a-dying-reader-thread.ts', import.meta.url)
  const dying = createThreadedReader(database.name, { script })
  const [one, two] = [dying.all('die'), dying.all('SELECT 1')]
  await expect(one).rejects.toThrow(StoreUnavailableError)
  await expect(two).rejects.toThrow(StoreUnavailableError)
  await expect(dying.all('SELECT 1')).rejects.toThrow(StoreUnavailableError)
  await vi.waitFor(async () => expect(await dying.all('SELECT 1')).toEqual([{ one: 1 }]), 20_000)
  await dying.stop()
}, 60_000)

it('answers what was asked before it was stopped, and nothing afterwards', async () => {
  await commit.write(insert('a'))
  const asked = counting(100_000)
  await reads.stop()
  expect(await asked).toEqual({ n: 100_000 })
  await expect(count()).rejects.toThrow(StoreUnavailableError)
})

it('starts no thread where nothing is read', async () => {
  const idle = createThreadedReader(join(folder, 'absent.db'), {
    onFault: () => expect.unreachable(),
  })
  await sleep(100)
  await idle.stop()
})

it('held reads wait until they are let go', async () => {
  const goOn = reads.hold()
  let isRead = false
  const read = count().then(() => {
    isRead = true
  })
  await sleep(80)
  expect(isRead).toBe(false)
  goOn()
  await read
})

it('readers who come one after another do not keep the log from beginning anew', async () => {
  const faults: unknown[] = []
  const onFault = (fault: unknown) => void faults.push(fault)
  const checkpoints = startCheckpoints({ database, commit, reads, onFault })
  await commit.write(insert('a'))
  let isOver = false
  // There is always a read under way, and the next one waits already.
  const readers = [1, 2].map(async () => {
    while (!isOver) await counting(400_000)
  })
  const filling = 'x'.repeat(100_000)
  let longest = 0
  let written = 0
  await vi.waitFor(
    async () => {
      await Promise.all(Array.from({ length: 10 }, () => commit.write(insert(filling))))
      written += 10
      const [{ log }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
      longest = Math.max(longest, log)
      // It was long, and it has begun anew.
      expect(longest).toBeGreaterThan(4_000)
      expect(log).toBeLessThan(longest / 2)
    },
    { timeout: 40_000, interval: 5 },
  )
  isOver = true
  await Promise.all(readers)
  await checkpoints.stop()
  expect(await count()).toBe(written + 1)
  expect(faults).toEqual([])
}, 60_000)
