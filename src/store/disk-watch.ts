import { statfs } from 'node:fs/promises'

/** How much room is left for the database. */
export interface DiskWatch {
  /** Whether what could be left out should be, so that payments have what is left. */
  isLow(): boolean
  /** `undefined` where the disk is not ours to look at. */
  freeBytes(): number | undefined
  stop(): void
}

export interface DiskWatchOptions {
  /** Where the database lies; `undefined` for one that is in memory or on a server. */
  folder: string | undefined
  /** Below this it is low, or below a tenth of the disk where that is less; 0 is never. */
  minFreeBytes: number
  log: {
    warn(details: object, message: string): void
    info(details: object, message: string): void
  }
  /** For tests. */
  readSpace?: (folder: string) => Promise<Space>
  lookMs?: number
}

export interface Space {
  freeBytes: number
  sizeBytes: number
}

const LOOK_MS = 2_000
/** It is low no more with so many times what it may not fall below: else it would come and go with each write. */
const RELIEF = 1.25

/** Looks at the disk now and every two seconds; a look that fails changes nothing. */
export async function watchDisk(options: DiskWatchOptions): Promise<DiskWatch> {
  const { folder, minFreeBytes, log, readSpace = spaceOf, lookMs = LOOK_MS } = options
  let free: number | undefined
  let isLow = false
  let isTold = false
  let timer: NodeJS.Timeout | undefined

  async function look(path: string): Promise<void> {
    try {
      const { freeBytes, sizeBytes } = await readSpace(path)
      free = freeBytes
      judge(freeBytes, Math.min(minFreeBytes, sizeBytes / 10))
    } catch (err) {
      if (!isTold) log.warn({ err }, 'how full the disk is could not be read')
      isTold = true
    }
  }

  function judge(freeBytes: number, least: number): void {
    if (!isLow && freeBytes < least) {
      isLow = true
      log.warn({ freeBytes }, 'the disk is nearly full: activity and listings are not kept')
    } else if (isLow && freeBytes >= least * RELIEF) {
      isLow = false
      log.info({ freeBytes }, 'the disk has room again: activity and listings are kept')
    }
  }

  if (folder !== undefined && minFreeBytes > 0) {
    await look(folder)
    timer = setInterval(() => void look(folder), lookMs)
    timer.unref()
  }
  return { isLow: () => isLow, freeBytes: () => free, stop: () => clearInterval(timer) }
}

/** What is left for a process that is not root. */
async function spaceOf(folder: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}
