import { type Bigrams, createBigrams } from './bigrams.js'
import { hasLetter, mayHaveLetter, type TokenChunk } from './token-chunk.js'
import { CHUNK_TOKENS, createTokenTable, tokenOf } from './token-table.js'
import type { Turns } from './turns.js'

/** All distinct tokens of all texts, searched for a word as a part of them. Does not change. */
export interface Vocabulary {
  /** Calls `visit` with each token that holds the word; it answers about how many steps it took. */
  eachWith(word: string, visit: (token: number) => number): Promise<void>
}

export interface VocabularyBuilder {
  /** Calls `visit` with the number of each token of a folded text. */
  add(text: string, visit: (token: number) => void): void
  /** To be called once, after the last text. */
  finish(turns: Turns): Promise<Vocabulary>
}

/** Letters of a token to be found by its pairs of letters; a whole paragraph without blanks is looked through instead. */
const MAX_PAIRED_CHARS = 32
const STEPS_BETWEEN_LOOKS = 4_096

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
  async function visitIfWith(
    word: string,
    tokens: Uint32Array,
    visit: (token: number) => number,
  ): Promise<void> {
    let steps = 0
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i] as number
      if (tokenOf(chunks, token).includes(word)) steps += visit(token)
      steps += 4
      if (steps < STEPS_BETWEEN_LOOKS) continue
      steps = 0
      if (turns.isOver()) await turns.next()
    }
  }

  /** One letter is in so many tokens that each is read through. */
  async function visitByReading(letter: string, visit: (token: number) => number): Promise<void> {
    let steps = 0
    for (const [i, chunk] of chunks.entries()) {
      if (!mayHaveLetter(chunk, letter)) continue
      for (let index = 0; index < chunk.starts.length - 1; index++) {
        if (hasLetter(chunk, index, letter)) steps += visit(i * CHUNK_TOKENS + index)
        if (++steps < STEPS_BETWEEN_LOOKS) continue
        steps = 0
        if (turns.isOver()) await turns.next()
      }
    }
  }

  return {
    async eachWith(word, visit) {
      if (word.length === 1) return visitByReading(word, visit)
      if (word.length <= MAX_PAIRED_CHARS) await visitIfWith(word, pairs.bucketOf(word), visit)
      await visitIfWith(word, long, visit)
    },
  }
}
