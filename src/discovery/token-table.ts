import { createNumberList } from './number-list.js'
import { createTokenChunk, type TokenChunk, tokenAt } from './token-chunk.js'

/**
 * Numbers texts from 0 in the order in which they come. A million of them are a few hundred objects: separate strings
 * would have the collector of garbage hold the event loop.
 */
export interface TokenTable {
  readonly size: number
  /** The number of the text, the next free one when it is new. */
  numberOf(text: string): number
  find(text: string): number | undefined
  /** Calls `visit` with the number of each token between the blanks of a text, as often as it stands there. */
  numberAll(text: string, visit: (token: number) => void): void
  /** All texts by number, `CHUNK_TOKENS` in each chunk but the last. */
  chunks(): TokenChunk[]
}

export const CHUNK_BITS = 12
export const CHUNK_TOKENS = 1 << CHUNK_BITS
/** One table of a million would hold the event loop for long each time it grows; these do not. */
const SHARDS = 256
const FIRST_SLOTS = 64

export function createTokenTable(): TokenTable {
  /** Slots of a shard hold numbers plus one; free ones 0. */
  const shards = Array.from({ length: SHARDS }, () => new Uint32Array(FIRST_SLOTS))
  const counts = new Uint32Array(SHARDS)
  const hashes = createNumberList()
  const closed: TokenChunk[] = []
  let open: string[] = []
  let size = 0

  function isToken(number: number, text: string, start: number, end: number): boolean {
    const chunk = closed[number >>> CHUNK_BITS]
    const index = number & (CHUNK_TOKENS - 1)
    if (chunk === undefined) {
      const token = open[index] as string
      return token.length === end - start && isSame(text, start, end, token, 0)
    }
    const from = chunk.starts[index] as number
    const length = (chunk.starts[index + 1] as number) - 1 - from
    return length === end - start && isSame(text, start, end, chunk.text, from)
  }

  /** The slot of the token in its shard, or the free one where it would be. */
  function slotOf(text: string, start: number, end: number, hash: number): number {
    const slots = shards[hash & (SHARDS - 1)] as Uint32Array
    const mask = slots.length - 1
    let slot = (hash >>> 8) & mask
    for (let held = slots[slot] as number; held !== 0; held = slots[slot] as number) {
      if (hashes.at(held - 1) === hash && isToken(held - 1, text, start, end)) break
      slot = (slot + 1) & mask
    }
    return slot
  }

  function place(text: string, start: number, end: number, hash: number): number {
    const shard = hash & (SHARDS - 1)
    const slots = shards[shard] as Uint32Array
    const slot = slotOf(text, start, end, hash)
    const held = slots[slot] as number
    if (held !== 0) return held - 1
    open.push(text.slice(start, end))
    hashes.push(hash)
    if (open.length === CHUNK_TOKENS) close()
    slots[slot] = ++size
    counts[shard] = (counts[shard] as number) + 1
    if ((counts[shard] as number) * 2 > slots.length) grow(shard)
    return size - 1
  }

  function close(): void {
    closed.push(createTokenChunk(open))
    open = []
  }

  function grow(shard: number): void {
    const old = shards[shard] as Uint32Array
    const slots = new Uint32Array(old.length * 2)
    const mask = slots.length - 1
    for (const held of old) {
      if (held === 0) continue
      let slot = (hashes.at(held - 1) >>> 8) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = held
    }
    shards[shard] = slots
  }

  return {
    get size() {
      return size
    },
    numberOf: (text) => place(text, 0, text.length, hashOf(text)),
    find(text) {
      const hash = hashOf(text)
      const slot = slotOf(text, 0, text.length, hash)
      const held = shards[hash & (SHARDS - 1)]?.[slot] ?? 0
      return held === 0 ? undefined : held - 1
    },
    numberAll(text, visit) {
      let start = 0
      let hash = 0
      for (let i = 0; i <= text.length; i++) {
        const code = i < text.length ? text.charCodeAt(i) : BLANK
        if (!isBlank(code)) {
          hash = mix(hash, code)
          continue
        }
        if (i > start) visit(place(text, start, i, hash >>> 0))
        start = i + 1
        hash = 0
      }
    },
    chunks: () => (open.length === 0 ? closed : [...closed, createTokenChunk(open)]),
  }
}

/** The token of a number, out of the chunks of a table. */
export function tokenOf(chunks: readonly TokenChunk[], number: number): string {
  return tokenAt(chunks[number >>> CHUNK_BITS] as TokenChunk, number & (CHUNK_TOKENS - 1))
}

function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = mix(hash, text.charCodeAt(i))
  return hash >>> 0
}

function mix(hash: number, code: number): number {
  const mixed = Math.imul(hash ^ code, 0x5bd1e995)
  return mixed ^ (mixed >>> 13)
}

function isSame(text: string, start: number, end: number, other: string, from: number): boolean {
  for (let i = start; i < end; i++) {
    if (text.charCodeAt(i) !== other.charCodeAt(from + i - start)) return false
  }
  return true
}

const BLANK = 32

/** What `\s` of a regular expression takes for blank. */
function isBlank(code: number): boolean {
  if (code < 128) return code === BLANK || (code >= 9 && code <= 13)
  if (code === 0xa0 || code === 0x1680 || code === 0x3000 || code === 0xfeff) return true
  if (code < 0x2000 || code > 0x205f) return false
  return code <= 0x200a || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f
}
