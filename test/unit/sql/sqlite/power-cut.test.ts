import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase, type SqliteDatabase } from '../../../../src/sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../../../src/sql/sqlite/group-commit.js'

let folder: string
let path: string
let database: SqliteDatabase
let commit: GroupCommit
/** Waits for the disk so far, and how many of them have ended. */
let begun: number
let ended: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arcus-power-'))
  path = join(folder, 'arcus.db')
  database = openDatabase(path)
  database.exec('CREATE TABLE test_rows (name TEXT PRIMARY KEY)')
  // Into the file itself, so that the log holds nothing but what the test writes.
  database.pragma('wal_checkpoint(TRUNCATE)')
  begun = 0
  ended = 0
  commit = createGroupCommit(database, { disk: { sync, close() {} } })
})

afterEach(async () => {
  await commit.close()
  database.close()
  rmSync(folder, { recursive: true })
})

/** A disk that holds what was written when the wait for it began, and not a byte more. */
async function sync(): Promise<void> {
  const number = begun++
  copyFileSync(path, onDisk(number))
  copyFileSync(`${path}-wal`, `${onDisk(number)}-wal`)
  await new Promise((resolve) => setTimeout(resolve, 1 + (number % 3)))
  ended = number + 1
}

const onDisk = (number: number) => join(folder, `disk-${number}.db`)

/** Returns the rows that a start finds after the power is cut now. */
function rowsAfterPowerCut(): string[] {
  const [from, to] = [onDisk(ended - 1), join(folder, `start-${Math.random()}.db`)]
  if (!existsSync(from)) return []
  copyFileSync(from, to)
  copyFileSync(`${from}-wal`, `${to}-wal`)
  const restarted = openDatabase(to)
  const rows = restarted.prepare('SELECT name FROM test_rows').pluck().all() as string[]
  restarted.close()
  return rows
}

const insert = (name: string) => () =>
  void database.prepare('INSERT INTO test_rows VALUES (?)').run(name)

it('a write that has resolved survives a power cut, with every write that was committed before it', async () => {
  const committed: string[] = []
  const resolved: string[] = []
  const lost: string[] = []
  const write = async (i: number) => {
    const name = `durable ${i}`
    const before = [...committed]
    await commit.write(insert(name))
    committed.push(name)
    resolved.push(name)
    const kept = new Set(rowsAfterPowerCut())
    lost.push(...[...before, ...resolved].filter((it) => !kept.has(it)))
  }
  const writeUnsynced = async (i: number) => {
    await commit.writeUnsynced(insert(`unsynced ${i}`))
    committed.push(`unsynced ${i}`)
  }
  const writes: Promise<void>[] = []
  for (let i = 0; i < 60; i++) {
    writes.push(i % 3 === 0 ? writeUnsynced(i) : write(i))
    // Some come together, some while the disk is awaited, some after it.
    if (i % 4 === 0) await new Promise((resolve) => setTimeout(resolve, i % 5))
  }
  await Promise.all(writes)
  expect(lost).toEqual([])
  expect(resolved).toHaveLength(40)
  expect(ended).toBeGreaterThan(5)
})

it('a write that resolves early may be lost, and is not waited for', async () => {
  await commit.writeUnsynced(insert('early'))
  expect(begun).toBe(0)
  expect(rowsAfterPowerCut()).toEqual([])
  await commit.write(insert('durable'))
  expect(rowsAfterPowerCut().sort()).toEqual(['durable', 'early'])
})

it('a disk that fails rejects every write that waits for it', async () => {
  const failing = createGroupCommit(database, {
    disk: { sync: () => Promise.reject(new Error('the disk is gone')), close() {} },
  })
  const writes = await Promise.allSettled([
    failing.write(insert('a')),
    failing.writeUnsynced(insert('b')),
    failing.write(insert('c')),
  ])
  expect(writes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
})
