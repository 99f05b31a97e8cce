import type { BazaarStatus } from '../../x402/bazaar.js'

/** What the last offers were answered, so that a storm of payments for one resource reads and judges little. */
export interface RecentOffers {
  find(key: string, fingerprint: string): BazaarStatus | undefined
  keep(key: string, fingerprint: string, status: BazaarStatus, forMs: number): void
}

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
    keep(key, fingerprint, status, forMs) {
      kept.delete(key)
      kept.set(key, { fingerprint, status, until: now() + forMs })
      const [oldest] = kept.keys()
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    },
  }
}
