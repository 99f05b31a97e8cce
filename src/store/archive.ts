import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { ArchiveError } from './errors.js'
import { createPolling } from './polling.js'
import { makeFolder } from './sqlite/database.js'

/** A row of the journal as it is read for the archive. */
export interface ArchivableRow<Read> {
  id: string
  /** Unix milliseconds. */
  createdAt: number
  /** True if it may leave the journal. */
  isOld: boolean
  /** Its columns, as the archive keeps them. */
  row: object
  /** The little that `slim` needs of it. */
  read: Read
}

/** The part of the journal whose rows are archived together. */
export interface ArchiveShelf<Read> {
  name: 'payments' | 'transactions'
  /** Reads rows that are not archived, in the order of their creation: from before that time, and after that row. */
  read(
    before: number,
    after: { createdAt: number; id: string },
    limit: number,
  ): Promise<ArchivableRow<Read>[]>
  /** Shortens rows that are in a file, in one commit. It leaves alone what has changed since it was read. */
  slim(rows: readonly Read[], now: number): Promise<void>
}

export interface ArchiveStore {
  /** The shelves in the order in which they are archived. `shorten` returns the details that a payment keeps. */
  shelves(
    shorten: (kind: string, details: string) => string,
  ): readonly [ArchiveShelf<unknown>, ArchiveShelf<unknown>]
}

export interface ArchiveFile {
  path: string
  shelf: string
  /** The creation of its oldest row, ISO 8601. */
  from: string
  rows: number
  bytes: number
}

const VERSION = 1
const FILE_NAME = /^(payments|transactions)-(\d{8}T\d{6})-(\d+)-([0-9a-f]{16})\.jsonl\.gz$/
const PARTIAL = '.partial'
const OWNER_ONLY = 0o600

/** Lists the complete files of a folder, oldest first. A folder that does not exist has none. */
export async function listArchive(folder: string): Promise<ArchiveFile[]> {
  const names = await readdir(folder).catch((error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  })
  const files = names.flatMap((name) => {
    const [, shelf, time, rows] = FILE_NAME.exec(name) ?? []
    if (shelf === undefined || time === undefined) return []
    const from = time.replace(/^(....)(..)(..)T(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z')
    return [{ path: join(folder, name), shelf, from, rows: Number(rows) }]
  })
  files.sort((a, b) => a.from.localeCompare(b.from) || a.path.localeCompare(b.path))
  return Promise.all(files.map(async (file) => ({ ...file, bytes: (await stat(file.path)).size })))
}

/**
 * Reads the rows of a file. After the last row it throws an `ArchiveError` if the file is not whole: count and SHA-256
 * stand at its end, and in its name once it is complete.
 */
export async function* readArchive(path: string): AsyncGenerator<Record<string, unknown>> {
  const hash = createHash('sha256')
  let rows = 0
  let isHead = true
  let end: { rows: number; sha256: string } | undefined
  try {
    for await (const line of linesOf(path)) {
      if (end !== undefined) throw new ArchiveError('it goes on after its end')
      const parsed = JSON.parse(line)
      if (isHead && parsed.archive !== VERSION) throw new ArchiveError('it is no archive of Arcus')
      if (parsed.end !== undefined) {
        end = parsed.end
        continue
      }
      hash.update(`${line}\n`)
      if (!isHead) {
        rows++
        yield parsed
      }
      isHead = false
    }
    const sha256 = hash.digest('hex')
    if (end === undefined) throw new ArchiveError('it is cut off')
    if (end.rows !== rows || end.sha256 !== sha256) throw new ArchiveError('its digest differs')
    const [, , , named, digest] = FILE_NAME.exec(basename(path)) ?? []
    if (named !== undefined && (Number(named) !== rows || !sha256.startsWith(digest as string))) {
      throw new ArchiveError('its content does not match its name')
    }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (code !== undefined && !code.startsWith('Z_')) throw error
    throw new ArchiveError(`${path} is damaged: ${message}.`, { cause: error })
  }
}

/** Only a line feed ends a line: texts of strangers may hold other separators. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const unzipped = createGunzip()
  const reading = pipeline(createReadStream(path), unzipped)
  // It rejects below, where it is awaited.
  reading.catch(() => {})
  let rest = ''
  for await (const text of unzipped.setEncoding('utf8')) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() as string
    yield* lines
  }
  await reading
  if (rest !== '') yield rest
}

/** Writes rows into a new file. It gets its name once it is on disk and was read back. Resolves with `undefined` without rows. */
async function writeArchive(
  folder: string,
  shelf: string,
  rows: AsyncIterator<ArchivableRow<unknown>>,
): Promise<ArchiveFile | undefined> {
  let next = await rows.next()
  if (next.done === true) return undefined
  const { createdAt } = next.value as ArchivableRow<unknown>
  const partial = join(folder, `${shelf}-${randomUUID()}${PARTIAL}`)
  const hash = createHash('sha256')
  let count = 0
  let sha256 = ''

  async function* lines() {
    const add = (value: object) => {
      const line = `${JSON.stringify(value)}\n`
      hash.update(line)
      return line
    }
    yield add({ archive: VERSION, shelf })
    for (; next.done !== true; next = await rows.next()) {
      count++
      yield add(next.value.row)
    }
    sha256 = hash.digest('hex')
    yield `${JSON.stringify({ end: { rows: count, sha256 } })}\n`
  }

  try {
    await pipeline(
      Readable.from(lines()),
      createGzip(),
      createWriteStream(partial, { mode: OWNER_ONLY }),
    )
    await sync(partial)
    let found = 0
    for await (const _ of readArchive(partial)) found++
    if (found !== count) throw new ArchiveError(`${partial} has ${found} of ${count} rows.`)
    const from = new Date(createdAt).toISOString().replace(/\.\d+Z$/, 'Z')
    const name = `${shelf}-${from.replace(/[-:Z]/g, '')}-${count}-${sha256.slice(0, 16)}.jsonl.gz`
    const path = join(folder, name)
    await rename(partial, path)
    await sync(folder)
    return { path, shelf, from, rows: count, bytes: (await stat(path)).size }
  } finally {
    await rm(partial, { force: true })
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

export interface ArchivingOptions {
  shelves: readonly ArchiveShelf<unknown>[]
  folder: string
  /** Returns whether this process may go on. */
  mayRun(): boolean
  /** Unix milliseconds. */
  now(): number
  log: {
    info(details: object, message: string): void
    error(details: object, message: string): void
  }
}

const ROWS_OF_FILE = 10_000
const ROWS_OF_PAGE = 100
/** Rows that one commit shortens: a payment that comes meanwhile waits for it, a few milliseconds. */
const ROWS_OF_COMMIT = 25
/** Time that everything else has between two pages or two commits. */
const PAUSE_MS = 20

/**
 * Archives what was decided before a time (Unix milliseconds). Rows are shortened only after a file with them is on disk
 * and was read back: whatever happens in between, a row is in the journal, in a file, or in both. Rejects when a file
 * cannot be written; its rows then stay as they are.
 */
export async function archiveOld(before: number, options: ArchivingOptions): Promise<void> {
  const { folder, shelves } = options
  makeFolder(folder)
  for (const name of await readdir(folder)) {
    if (name.endsWith(PARTIAL)) await rm(join(folder, name), { force: true })
  }
  for (const shelf of shelves) await archiveShelf(shelf, before, options)
}

async function archiveShelf(
  shelf: ArchiveShelf<unknown>,
  before: number,
  { folder, mayRun, now, log }: ArchivingOptions,
): Promise<void> {
  let after = { createdAt: -1, id: '' }
  for (;;) {
    const taken: unknown[] = []
    async function* takeOld(): AsyncGenerator<ArchivableRow<unknown>> {
      while (taken.length < ROWS_OF_FILE && mayRun()) {
        const page = await shelf.read(before, after, ROWS_OF_PAGE)
        const last = page.at(-1)
        if (last === undefined) return
        after = last
        for (const row of page.filter(({ isOld }) => isOld)) {
          taken.push(row.read)
          yield row
        }
        await delay(PAUSE_MS)
      }
    }
    const file = await writeArchive(folder, shelf.name, takeOld())
    if (file === undefined) return
    log.info({ file: file.path, rows: file.rows, bytes: file.bytes }, 'archived')
    for (let i = 0; i < taken.length && mayRun(); i += ROWS_OF_COMMIT) {
      await shelf.slim(taken.slice(i, i + ROWS_OF_COMMIT), now())
      await delay(PAUSE_MS)
    }
  }
}

const DAY_MS = 86_400_000
const CHECK_MS = 60_000

export interface ArchivistOptions extends ArchivingOptions {
  retentionDays: number
  /** Runs each time the archive could not be written. */
  onFailure(): void
}

/**
 * Archives at each start and then once a day (UTC) what was decided more than `retentionDays` days before that day. What
 * fails is tried again each minute.
 */
export function startArchivist(options: ArchivistOptions): { stop(): Promise<void> } {
  const { folder, retentionDays, onFailure, now, log } = options
  let archivedBefore = 0
  const polling = createPolling({
    everyMs: CHECK_MS,
    async poll(signal) {
      const mayRun = () => !signal.aborted && options.mayRun()
      const before = now() - (now() % DAY_MS) - retentionDays * DAY_MS
      if (before <= archivedBefore || !mayRun()) return
      await archiveOld(before, { ...options, mayRun })
      if (mayRun()) archivedBefore = before
    },
    onError(err) {
      onFailure()
      log.error({ err, folder }, 'the archive could not be written: rows stay in the journal')
    },
  })
  polling.start()
  return polling
}
