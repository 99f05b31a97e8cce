import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../src/sql/sqlite/database.js'
import { createGroupCommit } from '../src/sql/sqlite/group-commit.js'
import {
  createFirstTurns,
  createSecondTurns,
  createTurnFlags,
} from '../src/sql/sqlite/write-turns.js'
import { startThread } from '../src/sql/thread.js'
import { line, short } from './figures.js'

/*
 * How long a write of a payment takes while another thread writes without a pause, as the directory would at its worst:
 * alone; with both threads trying again until SQLite's lock is free; with turns (`write-turns.ts`); over two files.
 */

const SECONDS = 8
const PAUSE_MS = 3
/** Rows of a transaction of the other thread: about two and about ten milliseconds. */
const ROW_COUNTS = [300, 1_500]

type Way = 'alone' | 'trying again' | 'turns' | 'two files'

interface Other {
  path: string
  rows: number
  shared: SharedArrayBuffer | undefined
}

if (isMainThread) await compare()
else await writeOn(workerData as Other)

async function compare(): Promise<void> {
  for (const rows of ROW_COUNTS) {
    for (const way of ['alone', 'trying again', 'turns', 'two files'] as const) {
      const folder = mkdtempSync(join(tmpdir(), 'arcus-lock-'))
      try {
        line(`${rows} rows, ${way}: ${await measure(folder, rows, way)}`)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  }
}

async function measure(folder: string, rows: number, way: Way): Promise<string> {
  const path = join(folder, 'one.db')
  const database = open(path)
  const shared = way === 'turns' ? createTurnFlags() : undefined
  const turns = shared && createFirstTurns(shared)
  const commit = createGroupCommit(database, { turns })
  const insert = database.prepare('INSERT INTO rows (text) VALUES (?)')
  const data: Other = { path: way === 'two files' ? join(folder, 'two.db') : path, rows, shared }
  if (way === 'two files') open(data.path).close()
  const other =
    way === 'alone' ? undefined : startThread(new URL(import.meta.url), { maxHeapMb: 256, data })
  let written = 0
  other?.on('message', () => written++)
  if (other !== undefined) await new Promise((resolve) => other.once('message', resolve))
  const took: number[] = []
  const until = performance.now() + SECONDS * 1_000
  while (performance.now() < until) {
    const startedAt = performance.now()
    await commit.write(() => insert.run('a payment'))
    took.push(performance.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  await other?.terminate()
  await commit.close()
  database.close()
  took.sort((a, b) => a - b)
  const at = (part: number) => short(took[Math.floor((took.length - 1) * part)] as number)
  const share = `${short(written / SECONDS)} transactions a second of the other thread`
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms; ${share}`
}

function open(path: string) {
  const database = openDatabase(path)
  database.exec('CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, text TEXT)')
  return database
}

/** Writes until the thread is ended. */
async function writeOn({ path, rows, shared }: Other): Promise<never> {
  const database = open(path)
  const commit = createGroupCommit(database, { turns: shared && createSecondTurns(shared) })
  const insert = database.prepare('INSERT INTO rows (text) VALUES (?)')
  const text = 'x'.repeat(200)
  for (;;) {
    await commit.writeUnsynced(() => {
      for (let i = 0; i < rows; i++) insert.run(text)
    })
    parentPort?.postMessage('written')
  }
}
