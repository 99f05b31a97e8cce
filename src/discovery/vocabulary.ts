import { type Bigrams, createBigrams } from './bigrams.js'
import { hasLetter, mayHaveLetter, type TokenChunk, tokenAt } from './token-chunk.js'
import { CHUNK_TOKENS, createTokenTable, tokenOf } from './token-table.js'
import type { Turns } from './turns.js'

/** All distinct tokens of all texts, searched for a word as a part of them. Does not change. */
export interface Vocabulary {
  /** Numbers of the tokens that hold the word. */
  find(word: string): Promise<number[]>
  /** Calls `visit` with each token, in turns. */
  each(visit: (token: string, number: number) => void): Promise<void>
}

export interface VocabularyBuilder {
  /** Calls `visit` with the number of each token of a folded text. */
  add(text: string, visit: (token: number) => void): void
  /** To be called once, after the last text. */
  finish(turns: Turns): Promise<Vocabulary>
}

/** Letters of a token to be found by its pairs of letters; a whole paragraph without blanks is looked through instead. */
const MAX_PAIRED_CHARS = 32
const TOKENS_BETWEEN_LOOKS = 1_024
/** Counting those that most texts have takes a tenth of a millisecond each. */
const TOKENS_BETWEEN_VISITS = 8

export function createVocabularyBuilder(): VocabularyBuilder {
  const table = createTokenTable()
  return {
    add: table.numberAll,
    async finish(turns) {
      const chunks = table.chunks()
      const long: number[] = []
      for (const [i, { starts }] of chunks.entries()) {
        for (let index = 0; index < starts.length - 1; index++) {
          const length = (starts[index + 1] as number) - 1 - (starts[index] as number)
          if (length > MAX_PAIRED_CHARS) long.push(i * CHUNK_TOKENS + index)
        }
        if (turns.isOver()) await turns.next()
      }
      const pairs = await createBigrams(chunks, MAX_PAIRED_CHARS, turns)
      return createVocabulary(chunks, pairs, Uint32Array.from(long), turns)
    },
  }
}

function createVocabulary(
  chunks: TokenChunk[],
  pairs: Bigrams,
  long: Uint32Array,
  turns: Turns,
): Vocabulary {
  async function checkAll(word: string, tokens: Uint32Array, found: number[]): Promise<void> {
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i] as number
      if (tokenOf(chunks, token).includes(word)) found.push(token)
      if (i % TOKENS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
    }
  }

  /** One letter is in so many tokens that each is read through. */
  async function readAll(letter: string): Promise<number[]> {
    const found: number[] = []
    for (const [i, chunk] of chunks.entries()) {
      if (!mayHaveLetter(chunk, letter)) continue
      for (let index = 0; index < chunk.starts.length - 1; index++) {
        if (hasLetter(chunk, index, letter)) found.push(i * CHUNK_TOKENS + index)
      }
      if (turns.isOver()) await turns.next()
    }
    return found
  }

  return {
    async find(word) {
      if (word.length === 1) return readAll(word)
      const found: number[] = []
      if (word.length <= MAX_PAIRED_CHARS) await checkAll(word, pairs.bucketOf(word), found)
      await checkAll(word, long, found)
      return found
    },
    async each(visit) {
      for (const [i, chunk] of chunks.entries()) {
        for (let index = 0; index < chunk.starts.length - 1; index++) {
          visit(tokenAt(chunk, index), i * CHUNK_TOKENS + index)
          if (index % TOKENS_BETWEEN_VISITS === 0 && turns.isOver()) await turns.next()
        }
      }
    },
  }
}
