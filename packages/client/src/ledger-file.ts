import { closeSync, fdatasync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Ledger, LedgerEvent } from './ledger.js'

const sync = promisify(fdatasync)
const NEWLINE = 0x0a
const CHUNK_BYTES = 64 * 1_024

/** The ledger that all commands share by default. */
export const defaultLedgerPath = join(homedir(), '.arcus', 'ledger.jsonl')

/**
 * Opens the ledger in a file, one line of JSON for each event. Lines are only ever appended, each by one write, so their
 * order is the same for every process on this machine, and a process that is killed leaves no lock behind. The file must
 * be on a disk of this machine, because network file systems do not append in one order.
 *
 * Throws where the file cannot be opened. `append` rejects where the disk is full, or where a newer version wrote lines
 * that this one does not know.
 */
export function createFileLedger(path = defaultLedgerPath): Ledger {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // The file lists every purchase, so only its owner may read it.
  const file = openSync(path, 'a+', 0o600)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
  const events: LedgerEvent[] = []
  const chunk = Buffer.alloc(CHUNK_BYTES)
  let offset = 0

  /** Reads the lines that are whole and were not read before. */
  function readOn(): readonly LedgerEvent[] {
    let rest = Buffer.alloc(0)
    for (;;) {
      const length = readSync(file, chunk, 0, CHUNK_BYTES, offset + rest.length)
      if (length === 0) return events
      const bytes = Buffer.concat([rest, chunk.subarray(0, length)])
      const end = bytes.lastIndexOf(NEWLINE) + 1
      for (const line of bytes.subarray(0, end).toString().split('\n')) {
        const event = parseLine(line)
        if (event !== undefined) events.push(event)
      }
      offset += end
      rest = Buffer.from(bytes.subarray(end))
    }
  }

  return {
    async append(event) {
      // The line break in front ends a line that a killed process began.
      const line = Buffer.from(`\n${JSON.stringify(event)}\n`)
      const written = writeSync(file, line)
      if (written < line.length) throw new Error(`There is no room for the ledger ${path}.`)
      await sync(file)
      return readOn()
    },
    async read() {
      return readOn()
    },
  }
}

/** A line that was cut has no effect: its process was killed before anything could leave. */
function parseLine(line: string): LedgerEvent | undefined {
  if (line === '') return undefined
  let event: LedgerEvent
  try {
    event = JSON.parse(line)
  } catch {
    return undefined
  }
  if (event.v === 1) return event
  throw new Error('A newer version of @arcus/client wrote this ledger: use that one.')
}
