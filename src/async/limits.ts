import { LRUCache } from 'lru-cache'

/** Keys that buckets remember at once; the least recently used is forgotten first. */
const MAX_KEYS = 10_000

export interface TokenBucketOptions {
  /** Tokens of a full bucket: how many may be taken at once. */
  capacity: number
  /** Milliseconds in which one token comes back. */
  refillMs: number
  /** Unix milliseconds. */
  now: () => number
}

/** Makes token buckets by key, such as a caller or a host. */
export function createTokenBuckets({ capacity, refillMs, now }: TokenBucketOptions) {
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: MAX_KEYS })
  return {
    /** Takes tokens. Returns 0, or takes none and returns the whole seconds until there are enough. */
    take(key: string, tokens = 1): number {
      const at = now()
      const known = buckets.get(key) ?? { tokens: capacity, at }
      const left = Math.min(capacity, known.tokens + (at - known.at) / refillMs)
      const isEnough = left >= tokens
      buckets.set(key, { tokens: isEnough ? left - tokens : left, at })
      return isEnough ? 0 : Math.max(1, Math.ceil(((tokens - left) * refillMs) / 1000))
    },
  }
}

const HOUR_MS = 3_600_000

/** Makes counts by key within an hour, which begins with its first use. `now` is in Unix milliseconds. */
export function createHourlyCounts(now: () => number) {
  let counts = new Map<string, number>()
  let endsAt = Number.NEGATIVE_INFINITY

  function current(): Map<string, number> {
    if (now() >= endsAt) {
      endsAt = now() + HOUR_MS
      counts = new Map()
    }
    return counts
  }

  return {
    of: (key: string): number => current().get(key) ?? 0,
    /** Adds to a count, and returns how to take that back. Once the hour is over, taking it back does nothing. */
    add(key: string, count: number): () => void {
      const hour = current()
      const change = (by: number) => hour.set(key, (hour.get(key) ?? 0) + by)
      change(count)
      return () => void change(-count)
    },
    has: (key: string): boolean => current().has(key),
    /** Returns the number of keys with a count in this hour. */
    size: (): number => current().size,
    /** Returns the whole seconds until the hour ends, at least 1. */
    secondsLeft: (): number => Math.max(1, Math.ceil((endsAt - now()) / 1_000)),
  }
}
