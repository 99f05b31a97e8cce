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
const TEXTS_BETWEEN_LOOKS = 16

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
      const compare = createComparison(word, maxDistance)
      const found: Neighbour[] = []
      for (let number = 0; number < letters.length; number++) {
        if (number % WORDS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
        if (!compare.mayBeNear(letters[number] as number)) continue
        const { text, starts } = chunks[Math.floor(number / CHUNK_TOKENS)] as TokenChunk
        const index = number % CHUNK_TOKENS
        const start = starts[index] as number
        const neighbour = compare.neighbour(text, start, (starts[index + 1] as number) - 1)
        if (neighbour !== undefined) found.push({ ...neighbour, count: countOf(number) })
      }
      return found
    },
  }
}

/** The same, read out of few folded texts each time: what is asked for once is not worth keeping. */
export function spellingOf(texts: () => Iterable<string>, turns: Turns): Spelling {
  return {
    async near(word, maxDistance) {
      const compare = createComparison(word, maxDistance)
      const found: Neighbour[] = []
      let looked = 0
      for (const text of texts()) {
        for (const spelled of text.match(spelledWords) ?? []) {
          if (!compare.mayBeNear(lettersOf(spelled))) continue
          const neighbour = compare.neighbour(spelled, 0, spelled.length)
          if (neighbour !== undefined) found.push({ ...neighbour, count: 1 })
        }
        if (looked++ % TEXTS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
      }
      return found
    },
  }
}

function createComparison(word: string, maxDistance: number) {
  const { toWord, toBeginning } = createDistances(word, maxDistance)
  const first = word.length < MIN_BEGUN_CHARS ? -1 : word.charCodeAt(0)
  const own = lettersOf(word)
  return {
    /** An edit takes one letter away at most. */
    mayBeNear: (letters: number) => countOnes(own & ~letters) <= maxDistance,
    neighbour(text: string, start: number, end: number): Omit<Neighbour, 'count'> | undefined {
      const distance = toWord(text, start, end)
      if (distance === 0) return undefined
      if (distance <= maxDistance) return { word: text.slice(start, end), isWhole: true, distance }
      if (text.charCodeAt(start) !== first || end - start <= word.length) return undefined
      const beginning = toBeginning(text, start, end)
      const { length } = beginning
      if (beginning.distance === 0 || beginning.distance > maxDistance) return undefined
      if (isSecondHalf(text.charCodeAt(start + length))) return undefined
      return {
        word: text.slice(start, start + length),
        isWhole: false,
        distance: beginning.distance,
      }
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
