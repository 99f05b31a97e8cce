import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabasePlace } from './open-stores.js'

/** Watches the free space for the database. */
export interface DiskWatch {
  /** Whether only payments are kept now, so that they have the rest of the disk. */
  isLow(): boolean
  /** `undefined` where the disk is not watched. */
  freeBytes(): number | undefined
  stop(): void
}

export interface Space {
  freeBytes: number
  sizeBytes: number
}

const CHECK_MS = 2_000
/** A tenth of a small disk counts instead. Enough for a day of payments at one a second. */
export const MIN_FREE_DISK_BYTES = 256 * 2 ** 20
/** The disk counts as low until this multiple of the bound is free: otherwise the state would change with each write. */
const RELIEF = 1.25

/** Returns the folder of a database; `undefined` for one that is in memory or on a server. */
export function folderOf(database: DatabasePlace): string | undefined {
  const isFile = database.kind === 'sqlite' && database.path !== ':memory:'
  return isFile ? dirname(database.path) : undefined
}

/** Reads the free space now and every two seconds. A read that fails changes nothing. */
export async function watchDisk(options: {
  /** Folder of the database; `undefined` for one that is in memory or on a server. */
  folder: string | undefined
  /** The disk is low below this, or below a tenth of its size where that is less; 0 is never. */
  minFreeBytes: number
  log: {
    warn(details: object, message: string): void
    info(details: object, message: string): void
  }
  /** For tests. */
  readSpace?: (folder: string) => Promise<Space>
  checkMs?: number
}): Promise<DiskWatch> {
  const { folder, minFreeBytes, log, readSpace = spaceOf, checkMs = CHECK_MS } = options
  let free: number | undefined
  let isLow = false
  let hasWarned = false
  let timer: NodeJS.Timeout | undefined

  async function check(path: string): Promise<void> {
    try {
      const { freeBytes, sizeBytes } = await readSpace(path)
      free = freeBytes
      compare(freeBytes, Math.min(minFreeBytes, sizeBytes / 10))
    } catch (err) {
      if (!hasWarned) log.warn({ err }, 'the free space of the disk could not be read')
      hasWarned = true
    }
  }

  function compare(freeBytes: number, least: number): void {
    if (!isLow && freeBytes < least) {
      isLow = true
      log.warn({ freeBytes }, 'the disk is nearly full: activity and listings are not kept')
    } else if (isLow && freeBytes >= least * RELIEF) {
      isLow = false
      log.info({ freeBytes }, 'the disk has room again: activity and listings are kept')
    }
  }

  if (folder !== undefined && minFreeBytes > 0) {
    await check(folder)
    timer = setInterval(() => void check(folder), checkMs)
    timer.unref()
  }
  return { isLow: () => isLow, freeBytes: () => free, stop: () => clearInterval(timer) }
}

/** Returns the space that is left for a process that is not root. */
async function spaceOf(folder: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}
