import { Gauge, type Registry } from 'prom-client'

/** What a scrape looks at of the disk under the database. */
export interface WatchedDisk {
  isLow(): boolean
  /** `undefined` where the disk is not ours to look at. */
  freeBytes(): number | undefined
}

/** Shows how much room is left. */
export function createDiskMetrics(registry: Registry): (watched: WatchedDisk) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const free = gauge('arcus_disk_free_bytes', 'Free bytes on the disk of the SQLite database.')
  const low = gauge(
    'arcus_disk_low',
    '1 while the disk is nearly full and only payments are kept, else 0.',
  )
  return ({ isLow, freeBytes }) => {
    const bytes = freeBytes()
    if (bytes === undefined) return
    free.set(bytes)
    low.set(Number(isLow()))
  }
}
