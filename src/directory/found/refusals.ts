import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { canonicalUrl } from '../../x402/bazaar.js'

/** A paid resource that was not taken into the catalog. It does not say who paid. */
export interface Refusal {
  /** Lower case. */
  payTo: Address
  reason: string
  /** Unix seconds. */
  at: number
}

/** The last refusals of this process, by URL and recipient, for those who ask why a resource is not listed. */
export interface Refusals {
  /** Takes the URL as a payment states it; of anything else nothing is kept. */
  note(url: unknown, payTo: Address, reason: string): void
  /** Latest first, at most a few. */
  find(url: string): Refusal[]
}

const MAX_KEPT = 2_000
const MAX_FOUND = 5

/** `now` is in Unix milliseconds. */
export function createRefusals(now: () => number): Refusals {
  const kept = new LRUCache<string, Refusal & { url: string }>({ max: MAX_KEPT })
  return {
    note(given, payTo, reason) {
      const url = canonicalUrl(given)
      if (url === undefined) return
      kept.set(`${payTo} ${url}`, { url, payTo, reason, at: Math.floor(now() / 1000) })
    },
    find(url) {
      const found = [...kept.values()].filter((refusal) => refusal.url === url)
      return found.slice(0, MAX_FOUND).map(({ payTo, reason, at }) => ({ payTo, reason, at }))
    },
  }
}
