import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { foldEvents, type Ledger, type LedgerEvent } from './ledger.js'

const sync = promisify(fdatasync)
const NEWLINE = 0x0a
const CHUNK_BYTES = 64 * 1_024
/** Some two thousand calls. */
const MAX_BYTES = 1_024 * 1_024
const { O_APPEND, O_CREAT, O_RDWR } = constants

/** The ledger that all commands share by default. */
export const defaultLedgerPath = join(homedir(), '.arcus', 'ledger.jsonl')

/**
 * Opens the ledger in a file, one line of JSON for each event. Lines are only ever appended, each by one write, so their
 * order is the same for every process on this machine, and a process that is killed leaves no lock behind. The file must
 * be on a disk of this machine, because network file systems do not append in one order.
 *
 * A file above `maxBytes` is sealed by a last line, and followed by another one: `ledger.jsonl.part2`, then `.part3`. It
 * begins with all that the limits need of the last one, which stays next to it; older ones are deleted. Lines after a seal
 * have no effect, so their writers write them to the next file.
 *
 * Throws where the file cannot be opened. `append` rejects where the disk is full, or where a newer version wrote lines
 * that this one does not know.
 */
export function createFileLedger(
  path = defaultLedgerPath,
  { maxBytes = MAX_BYTES }: { maxBytes?: number } = {},
): Ledger {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let file = openNewest(path)
  let sealBytes = maxBytes
  let last: Promise<unknown> = Promise.resolve()

  /** Runs the steps of this process one after another, because each may go on to the next file. */
  function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }

  async function write(event: object): Promise<void> {
    // The line break in front ends a line that a killed process began.
    const line = Buffer.from(`\n${JSON.stringify(event)}\n`)
    const written = writeSync(file.descriptor, line)
    if (written < line.length) throw new Error(`There is no room for the ledger ${path}.`)
    await sync(file.descriptor)
  }

  function openAgain(): void {
    const next = openNewest(path)
    closeSync(file.descriptor)
    file = next
    sealBytes = maxBytes
  }

  /** Reads to the end of the newest file. */
  function readOn(): readonly LedgerEvent[] {
    if (!isInPlace(path, file)) openAgain()
    readLines(file)
    while (file.sealedAt !== undefined) {
      makeNext(path, file)
      openAgain()
      readLines(file)
    }
    return file.events
  }

  /** Seals a file that is too large, if most of it is too old to matter. */
  async function sealIfLarge(): Promise<void> {
    if (file.offset <= sealBytes) return
    const { events } = file
    if (foldEvents(events, Date.now()).length * 2 > events.length || !canLink(path, file)) {
      sealBytes = file.offset * 2
      return
    }
    await write({ v: 1, type: 'sealed', at: Date.now() })
    readOn()
  }

  return {
    append: (event) =>
      inTurn(async () => {
        readOn()
        await sealIfLarge()
        for (;;) {
          const { number, events } = file
          const known = events.length
          await write(event)
          const all = readOn()
          if (file.number === number) return all
          // The file was sealed. What came before the seal counts, and what came after it is written again.
          const line = JSON.stringify(event)
          if (events.slice(known).some((it) => JSON.stringify(it) === line)) return all
        }
      }),
    read: () => inTurn(async () => readOn()),
  }
}

interface LedgerFile {
  number: number
  descriptor: number
  /** Bytes that were read. */
  offset: number
  events: LedgerEvent[]
  sealedAt?: number
}

/** Opens the file with the highest number, the first one of all if there is none. */
function openNewest(path: string): LedgerFile {
  for (;;) {
    const number = newestOf(path) ?? 1
    try {
      // The file lists every purchase, so only its owner may read it.
      const flags = O_RDWR | O_APPEND | (number === 1 ? O_CREAT : 0)
      const descriptor = openSync(pathOf(path, number), flags, 0o600)
      syncFolder(path)
      if (newestOf(path) === number) return { number, descriptor, offset: 0, events: [] }
      closeSync(descriptor)
    } catch (error) {
      // Others have gone on by two files in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

/**
 * Makes the file that follows a sealed one, unless another process was first. It appears whole, and a file that exists is
 * never replaced. If others have long gone on, this number may be free again: the highest number counts, so it does no harm.
 */
function makeNext(path: string, { number, events, sealedAt = 0 }: LedgerFile): void {
  const next = number + 1
  if ((newestOf(path) ?? 1) < next) {
    const whole = `${pathOf(path, next)}.${randomUUID()}.tmp`
    const lines = foldEvents(events, sealedAt).map((event) => `${JSON.stringify(event)}\n`)
    try {
      writeFileSync(whole, lines.join(''), { mode: 0o600, flush: true })
      linkSync(whole, pathOf(path, next))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST' && code !== 'ENOENT') throw error
    } finally {
      rmSync(whole, { force: true })
    }
    syncFolder(path)
  }
  removeOld(path)
}

/** Removes all files but the newest and the one before it, and what killed processes left. */
function removeOld(path: string): void {
  const newest = newestOf(path) ?? 1
  for (const name of readdirSync(dirname(path))) {
    const number = numberOf(path, name.replace(/\.[0-9a-f-]{36}\.tmp$/, ''))
    if (number === undefined) continue
    const isOld = name.endsWith('.tmp') ? number <= newest : number < newest - 1
    if (isOld) rmSync(join(dirname(path), name), { force: true })
  }
}

/** Returns whether others write to this very file: an editor may have put another one in its place, or cut it. */
function isInPlace(path: string, { number, descriptor, offset }: LedgerFile): boolean {
  const there = statSync(pathOf(path, number), { throwIfNoEntry: false })
  return there?.ino === fstatSync(descriptor).ino && there.size >= offset
}

/** Returns whether this file system can link: without it no next file can appear whole. */
function canLink(path: string, { number }: LedgerFile): boolean {
  const probe = `${pathOf(path, number)}.${randomUUID()}.tmp`
  try {
    linkSync(pathOf(path, number), probe)
    rmSync(probe, { force: true })
    return true
  } catch {
    return false
  }
}

function pathOf(path: string, number: number): string {
  return number === 1 ? path : `${path}.part${number}`
}

function numberOf(path: string, name: string): number | undefined {
  if (name === basename(path)) return 1
  const number = Number(name.match(/\.part([1-9]\d{0,8})$/)?.[1])
  return name === basename(pathOf(path, number)) ? number : undefined
}

/** Returns the highest number of the files there, `undefined` where there is none. */
function newestOf(path: string): number | undefined {
  const numbers = readdirSync(dirname(path)).map((name) => numberOf(path, name) ?? 0)
  return Math.max(0, ...numbers) || undefined
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** Reads the lines that are whole and were not read before, up to a seal. */
function readLines(file: LedgerFile): void {
  const chunk = Buffer.alloc(CHUNK_BYTES)
  let rest = Buffer.alloc(0)
  while (file.sealedAt === undefined) {
    const length = readSync(file.descriptor, chunk, 0, CHUNK_BYTES, file.offset + rest.length)
    if (length === 0) return
    const bytes = Buffer.concat([rest, chunk.subarray(0, length)])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    for (const line of bytes.subarray(0, end).toString().split('\n')) {
      const event = parseLine(line)
      if (event?.type === 'sealed') {
        file.sealedAt = event.at
        return
      }
      if (event !== undefined) file.events.push(event)
    }
    file.offset += end
    rest = Buffer.from(bytes.subarray(end))
  }
}

/** A line that was cut has no effect: its process was killed before anything could leave. */
function parseLine(line: string): LedgerEvent | { v: 1; type: 'sealed'; at: number } | undefined {
  if (line === '') return undefined
  let event: LedgerEvent
  try {
    event = JSON.parse(line)
  } catch {
    return undefined
  }
  if (event?.v === 1) return event
  throw new Error('A newer version of @arcus/client wrote this ledger: use that one.')
}
