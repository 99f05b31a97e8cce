import { countOnes } from './bits.js'
import { createDistances } from './edit-distance.js'
import { createNumberList } from './number-list.js'
import type { TokenChunk } from './token-chunk.js'
import { CHUNK_TOKENS, createTokenTable, tokenOf } from './token-table.js'
import type { Turns } from './turns.js'

export interface Neighbour {
  word: string
  /** False for the beginning of words. */
  isWhole: boolean
  distance: number
  /** About how many texts have it. */
  count: number
}

/** The words of texts, to find those a typo away from another. Does not change. */
export interface Spelling {
  /**
   * What is from 1 to `maxDistance` edits away from the folded word: words, and beginnings of longer ones that begin
   * with the same letter.
   */
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
/** Fewer letters, one of them wrong, are the beginning of anything. */
const MIN_BEGUN_CHARS = 5
const WORDS_BETWEEN_LOOKS = 128

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
      const { toWord, toBeginning } = createDistances(word, maxDistance)
      const first = word.length < MIN_BEGUN_CHARS ? -1 : word.charCodeAt(0)
      const own = lettersOf(word)
      const found: Neighbour[] = []
      for (let number = 0; number < letters.length; number++) {
        if (number % WORDS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
        const theirs = letters[number] as number
        // An edit takes one letter away at most.
        if (countOnes(own & ~theirs) > maxDistance) continue
        const { text, starts } = chunks[Math.floor(number / CHUNK_TOKENS)] as TokenChunk
        const index = number % CHUNK_TOKENS
        const start = starts[index] as number
        const end = (starts[index + 1] as number) - 1
        const distance = toWord(text, start, end)
        if (distance === 0) continue
        const count = countOf(number)
        if (distance <= maxDistance) {
          found.push({ word: text.slice(start, end), isWhole: true, distance, count })
        } else if (text.charCodeAt(start) === first && end - start > word.length) {
          const { distance, length } = toBeginning(text, start, end)
          const word = text.slice(start, start + length)
          if (distance === 0 || distance > maxDistance) continue
          if (isSecondHalf(text.charCodeAt(start + length))) continue
          found.push({ word, isWhole: false, distance, count })
        }
      }
      return found
    },
  }
}

/** Of a letter that takes two UTF-16 units. */
function isSecondHalf(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

/** Which letters a word has, several to a bit. */
function lettersOf(word: string): number {
  let letters = 0
  for (let i = 0; i < word.length; i++) letters |= 1 << (word.charCodeAt(i) & 31)
  return letters >>> 0
}
