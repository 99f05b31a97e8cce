import type { BazaarStatus } from '../../x402/extension-responses.js'

/** What became of the last offers, so that the next payment for the same resource is told, and writes nothing. */
export interface RecentOffers {
  find(key: string, fingerprint: string): BazaarStatus | undefined
  keep(key: string, fingerprint: string, status: BazaarStatus): void
}

/** As long as discovery may be cached. */
const KEPT_MS = 60_000
const MAX_KEPT = 5_000

/** `now` in Unix milliseconds. */
export function createRecentOffers(now: () => number): RecentOffers {
  const kept = new Map<string, { fingerprint: string; status: BazaarStatus; until: number }>()
  return {
    find(key, fingerprint) {
      const offer = kept.get(key)
      const isSame = offer?.fingerprint === fingerprint && offer.until > now()
      return isSame ? offer.status : undefined
    },
    keep(key, fingerprint, status) {
      kept.delete(key)
      kept.set(key, { fingerprint, status, until: now() + KEPT_MS })
      const [oldest] = kept.keys()
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    },
  }
}
