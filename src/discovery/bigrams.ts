import { createNumberList } from './number-list.js'
import type { TokenChunk } from './token-chunk.js'
import type { Turns } from './turns.js'

/** Pairs of letters share buckets when their codes meet: what a bucket names is to be looked at, not trusted. */
const BUCKETS = 1 << 16

export interface Bigrams {
  /** The fewest tokens among which all that hold the word are; the word has at least two letters. */
  bucketOf(word: string): Uint32Array
}

/** Lists for each pair of letters the tokens that hold it, ascending. Tokens over `maxChars` are left out. */
export async function createBigrams(
  chunks: TokenChunk[],
  maxChars: number,
  turns: Turns,
): Promise<Bigrams> {
  const counts = new Uint32Array(BUCKETS)
  const found = createNumberList()
  const ends = createNumberList()
  const lastOf = new Uint32Array(BUCKETS)
  let token = 0
  for (const { text, starts } of chunks) {
    for (let local = 0; local < starts.length - 1; local++) {
      token++
      const end = (starts[local + 1] as number) - 1
      for (let i = starts[local] as number; i < end - 1; i++) {
        if (end - (starts[local] as number) > maxChars) break
        const bucket = bucketOfPair(text.charCodeAt(i), text.charCodeAt(i + 1))
        if (lastOf[bucket] === token) continue
        lastOf[bucket] = token
        counts[bucket] = (counts[bucket] as number) + 1
        found.push(bucket)
      }
      ends.push(found.length)
      if (token % 256 === 0 && turns.isOver()) await turns.next()
    }
  }
  const offsets = new Uint32Array(BUCKETS + 1)
  for (let i = 0; i < BUCKETS; i++) offsets[i + 1] = (offsets[i] as number) + (counts[i] as number)
  const tokens = new Uint32Array(found.length)
  const cursors = offsets.slice()
  for (let number = 0, i = 0; number < ends.length; number++) {
    for (; i < ends.at(number); i++) {
      const bucket = found.at(i)
      const place = cursors[bucket] as number
      tokens[place] = number
      cursors[bucket] = place + 1
    }
    if (number % 512 === 0 && turns.isOver()) await turns.next()
  }

  return {
    bucketOf(word) {
      let best = tokens
      for (let i = 0; i < word.length - 1; i++) {
        const bucket = bucketOfPair(word.charCodeAt(i), word.charCodeAt(i + 1))
        const list = tokens.subarray(offsets[bucket], offsets[bucket + 1])
        if (list.length < best.length || i === 0) best = list
      }
      return best
    },
  }
}

function bucketOfPair(first: number, second: number): number {
  return (Math.imul(first, 257) + second) & (BUCKETS - 1)
}
