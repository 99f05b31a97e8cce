import type { CatalogEntry } from '../../store/listings.js'

/** Endpoints of one host that may wait in memory; each takes a second or two. */
const PER_HOST = 8
/** Time between looks at one host: the gap of politeness and the call itself. */
const SPACING_SECONDS = 2
const MAX_HOSTS = 1_000

/**
 * Spreads due endpoints of a crowded host over time, so that thousands of them do not stand before everybody
 * else's at the head of what is due.
 */
export interface HostSlots {
  share(
    due: readonly CatalogEntry[],
    nowSeconds: number,
  ): {
    ready: CatalogEntry[]
    /** `at` is when to look instead, Unix seconds. */
    later: { endpoint: CatalogEntry['endpoint']; at: number }[]
  }
}

export function createHostSlots(keyOf: (url: string) => string): HostSlots {
  /** The first second nobody was put off to. */
  const freeFrom = new Map<string, number>()

  function nextSlot(host: string, nowSeconds: number): number {
    const at = Math.max(freeFrom.get(host) ?? 0, nowSeconds + PER_HOST * SPACING_SECONDS)
    freeFrom.set(host, at + SPACING_SECONDS)
    return at
  }

  return {
    share(due, nowSeconds) {
      if (freeFrom.size > MAX_HOSTS) {
        for (const [host, at] of freeFrom) if (at <= nowSeconds) freeFrom.delete(host)
      }
      const counts = new Map<string, number>()
      const ready: CatalogEntry[] = []
      const later: ReturnType<HostSlots['share']>['later'] = []
      for (const entry of due) {
        const host = keyOf(entry.endpoint.url)
        const count = (counts.get(host) ?? 0) + 1
        counts.set(host, count)
        if (count <= PER_HOST) ready.push(entry)
        else later.push({ endpoint: entry.endpoint, at: nextSlot(host, nowSeconds) })
      }
      return { ready, later }
    },
  }
}
