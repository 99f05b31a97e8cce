import { countOnes } from './bits.js'
import { createDistance } from './edit-distance.js'
import { createNumberList } from './number-list.js'
import type { TokenChunk } from './token-chunk.js'
import { CHUNK_TOKENS, createTokenTable, tokenOf } from './token-table.js'
import type { Turns } from './turns.js'

export interface Neighbour {
  word: string
  distance: number
  /** About how many texts have it. */
  count: number
}

/** The words of texts, to find those a typo away from another. Does not change. */
export interface Spelling {
  /** The words from 1 to `maxDistance` edits away from the folded one. */
  near(word: string, maxDistance: number): Promise<Neighbour[]>
}

export interface SpellingBuilder {
  /** Takes in the words of a folded text that `count` texts have. */
  add(text: string, count: number): void
  /** To be called once, after the last text. */
  finish(turns: Turns): Promise<Spelling>
}

/**
 * Letters without a digit beside them: what has digits is a code, an address or a version, and its neighbours are not
 * what was meant.
 */
const spelledWords = /(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}]{3,32}(?![\p{L}\p{M}\p{N}])/gu
const WORDS_BETWEEN_LOOKS = 1_024

export function createSpellingBuilder(): SpellingBuilder {
  const table = createTokenTable()
  const counts = createNumberList()
  return {
    add(text, count) {
      for (const word of text.match(spelledWords) ?? []) {
        const number = table.numberOf(word)
        counts.set(number, counts.at(number) + count)
      }
    },
    async finish(turns) {
      const chunks = table.chunks()
      const letters = new Uint32Array(table.size)
      for (let number = 0; number < letters.length; number++) {
        letters[number] = lettersOf(tokenOf(chunks, number))
        if (number % WORDS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
      }
      return createSpelling({ chunks, letters, countOf: counts.at }, turns)
    },
  }
}

interface Words {
  chunks: readonly TokenChunk[]
  /** By number of the word. */
  letters: Uint32Array
  countOf(number: number): number
}

function createSpelling({ chunks, letters, countOf }: Words, turns: Turns): Spelling {
  return {
    async near(word, maxDistance) {
      const distanceTo = createDistance(word, maxDistance)
      const own = lettersOf(word)
      const found: Neighbour[] = []
      for (let number = 0; number < letters.length; number++) {
        if (number % WORDS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
        // An edit makes two letters differ at most.
        if (countOnes(own ^ (letters[number] as number)) > 2 * maxDistance) continue
        const { text, starts } = chunks[Math.floor(number / CHUNK_TOKENS)] as TokenChunk
        const index = number % CHUNK_TOKENS
        const start = starts[index] as number
        const end = (starts[index + 1] as number) - 1
        const distance = distanceTo(text, start, end)
        if (distance === 0 || distance > maxDistance) continue
        found.push({ word: text.slice(start, end), distance, count: countOf(number) })
      }
      return found
    },
  }
}

/** Which letters a word has, several to a bit. */
function lettersOf(word: string): number {
  let letters = 0
  for (let i = 0; i < word.length; i++) letters |= 1 << (word.charCodeAt(i) & 31)
  return letters >>> 0
}
