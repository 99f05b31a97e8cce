/** What was seen lately, by key; the older half may be forgotten at any time. */
export interface RecentMemory<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
  /** Whether it was there. */
  delete(key: Key): boolean
}

/** Remembers in two generations: a full one replaces the older, so nothing costs a search for the oldest. */
export function createRecentMemory<Key, Value>(maxEntries: number): RecentMemory<Key, Value> {
  let young = new Map<Key, Value>()
  let old = new Map<Key, Value>()
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      young.set(key, value)
      if (young.size < maxEntries / 2) return
      old = young
      young = new Map()
    },
    delete(key) {
      const wasYoung = young.delete(key)
      return old.delete(key) || wasYoung
    },
  }
}
