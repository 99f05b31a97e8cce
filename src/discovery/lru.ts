/** Keeps what was used last, up to a number of bytes. */
export interface Lru<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  delete(key: string): void
  clear(): void
}

/** What an entry costs besides its value: its key and its place. */
const ENTRY_BYTES = 256

export function createLru<Value>(maxBytes: number, bytesOf: (value: Value) => number): Lru<Value> {
  const entries = new Map<string, Value>()
  let bytes = 0
  const cost = (value: Value) => bytesOf(value) + ENTRY_BYTES

  function drop(key: string): void {
    const value = entries.get(key)
    if (value === undefined) return
    entries.delete(key)
    bytes -= cost(value)
  }

  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      drop(key)
      entries.set(key, value)
      bytes += cost(value)
      for (const oldest of entries.keys()) {
        if (bytes <= maxBytes) break
        drop(oldest)
      }
    },
    delete: drop,
    clear() {
      entries.clear()
      bytes = 0
    },
  }
}
