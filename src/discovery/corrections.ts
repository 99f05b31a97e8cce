import type { Neighbour, WordCounts } from './word-counts.js'

/** What to look for instead of words that nothing has; empty when nothing would be found instead. */
export type Corrections = ReadonlyMap<string, string>

/** What the list says of words. */
export interface Lookups {
  /** Tells whether any endpoint that is shown has the word, whatever else is asked for. */
  occurs(word: string): boolean
  /** Tells whether any endpoint has all the words and meets what else is asked for. */
  isFound(words: readonly string[]): boolean
  words: Pick<WordCounts, 'near'>
}

/** More words than these that nothing has are no typing error. */
const MAX_MISSING = 4
/** How many neighbours are tried in all, the best of each word. Each of them costs a scan of the list. */
const MAX_TRIES = 8
/** From so many letters on, two edits leave more of a word than they change. */
const LONG_WORD_CHARS = 8

const correctable = /^[\p{L}\p{M}]{4,32}$/u
const outerSigns = /^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu

/** Finds corrections. Words that occur stand; for each other one the best neighbour is taken that is found together with those before. */
export function findCorrections(words: readonly string[], lookups: Lookups): Corrections {
  const none: Corrections = new Map()
  const standing: string[] = []
  const missing: string[] = []
  for (const word of words) {
    const list = lookups.occurs(word) ? standing : missing
    list.push(word)
    if (missing.length > MAX_MISSING) return none
  }
  if (standing.length > 0 && !lookups.isFound(standing)) return none
  const tries = Math.floor(MAX_TRIES / missing.length)
  const choices = missing.map((word) => ({ word, options: optionsFor(word, lookups, tries) }))
  // The word with the fewest options comes first: it says most about the others.
  choices.sort((a, b) => a.options.length - b.options.length)
  const corrections = new Map<string, string>()
  for (const { word, options } of choices) {
    const correction = options.find((option) => lookups.isFound([...standing, option]))
    if (correction === undefined) return none
    corrections.set(word, correction)
    standing.push(correction)
  }
  return corrections
}

/**
 * Returns words to take instead, best first: whole ones before beginnings, then the nearest, then those that begin with
 * the same letter, then the most frequent.
 */
function optionsFor(word: string, { occurs, words }: Lookups, max: number): string[] {
  const bare = word.replace(outerSigns, '')
  if (!correctable.test(bare)) return []
  if (bare !== word && occurs(bare)) return [bare]
  const beginsOtherwise = ({ word }: Neighbour) => Number(word[0] !== bare[0])
  return words
    .near(bare, bare.length < LONG_WORD_CHARS ? 1 : 2)
    .sort(
      (a, b) =>
        Number(b.isWhole) - Number(a.isWhole) ||
        a.distance - b.distance ||
        beginsOtherwise(a) - beginsOtherwise(b) ||
        b.count - a.count ||
        (a.word < b.word ? -1 : 1),
    )
    .slice(0, max)
    .map(({ word }) => word)
}

/** Replaces the corrected words of a query and leaves the others as they were typed. */
export function rewrite(
  query: string,
  corrections: Corrections,
  toWord: (typed: string) => string,
): string {
  const typed = query.split(/\s+/).filter((word) => word !== '')
  return typed.map((word) => corrections.get(toWord(word)) ?? word).join(' ')
}
