import type { CatalogView } from './catalog-view.js'
import { type Neighbour, type Spelling, spellingOf } from './spelling.js'
import type { Turns } from './turns.js'

/** What to look for instead of words that are nowhere; empty when nothing would be found instead. */
export type Corrections = ReadonlyMap<string, string>

/** What the catalog says of words. */
export interface Lookups {
  /** Whether anything that is shown has the word, whatever else is asked for. */
  occurs(word: string): Promise<boolean>
  /** Whether anything has all the words and meets what else is asked for. */
  isFound(words: readonly string[]): Promise<boolean>
  spellings: readonly Spelling[]
}

/** More words that are nowhere are no slip of the hand. */
const MAX_MISSING = 4
/** Neighbours that are looked for in all, of each word the nearest and most frequent: each is a search of its own. */
const MAX_TRIES = 8
/** From so many letters on, two edits leave more of a word than they change. */
const LONG_WORD_CHARS = 8

const correctable = /^[\p{L}\p{M}]{4,32}$/u
const outerSigns = /^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu

/** Words that occur stand; for each other one the nearest is taken that is found together with those before. */
export async function findCorrections(
  words: readonly string[],
  lookups: Lookups,
): Promise<Corrections> {
  const none: Corrections = new Map()
  const standing: string[] = []
  const missing: string[] = []
  for (const word of words) {
    const list = (await lookups.occurs(word)) ? standing : missing
    list.push(word)
    if (missing.length > MAX_MISSING) return none
  }
  if (standing.length > 0 && !(await lookups.isFound(standing))) return none
  const choices: { word: string; options: string[] }[] = []
  for (const word of missing) {
    const options = await optionsFor(word, lookups)
    choices.push({ word, options: options.slice(0, Math.floor(MAX_TRIES / missing.length)) })
  }
  // Where there is least to choose from first: it says most about the others.
  choices.sort((a, b) => a.options.length - b.options.length)
  const corrections = new Map<string, string>()
  for (const { word, options } of choices) {
    const correction = await firstFound(options, standing, lookups)
    if (correction === undefined) return none
    corrections.set(word, correction)
    standing.push(correction)
  }
  return corrections
}

/**
 * Words to take instead, best first: whole ones before beginnings, the nearest, of those the ones that begin alike, of
 * those the most frequent.
 */
async function optionsFor(word: string, { occurs, spellings }: Lookups): Promise<string[]> {
  const bare = word.replace(outerSigns, '')
  if (!correctable.test(bare)) return []
  if (bare !== word && (await occurs(bare))) return [bare]
  const maxDistance = bare.length < LONG_WORD_CHARS ? 1 : 2
  const found = await Promise.all(spellings.map((it) => it.near(bare, maxDistance)))
  const beginsOtherwise = ({ word }: Neighbour) => Number(word[0] !== bare[0])
  return merge(found.flat())
    .sort(
      (a, b) =>
        Number(b.isWhole) - Number(a.isWhole) ||
        a.distance - b.distance ||
        beginsOtherwise(a) - beginsOtherwise(b) ||
        b.count - a.count ||
        (a.word < b.word ? -1 : 1),
    )
    .map(({ word }) => word)
}

async function firstFound(
  options: readonly string[],
  standing: readonly string[],
  { isFound }: Lookups,
): Promise<string | undefined> {
  for (const word of options) if (await isFound([...standing, word])) return word
  return undefined
}

/** The query with words replaced, the others as they were typed. */
export function rewrite(
  query: string,
  corrections: Corrections,
  toWord: (typed: string) => string,
): string {
  const typed = query.split(/\s+/).filter((word) => word !== '')
  return typed.map((word) => corrections.get(toWord(word)) ?? word).join(' ')
}

/** The words of what changed since the base was built. */
export function spellChanged({ changed }: CatalogView, turns: Turns): Spelling {
  return spellingOf(function* texts() {
    const merchants = new Set<string>()
    for (const { document, merchant } of changed) {
      yield* Object.values(document.texts)
      if (merchants.has(merchant.id)) continue
      merchants.add(merchant.id)
      yield* Object.values(merchant.texts)
    }
  }, turns)
}

function merge(neighbours: readonly Neighbour[]): Neighbour[] {
  const merged = new Map<string, Neighbour>()
  for (const neighbour of neighbours) {
    const known = merged.get(neighbour.word)
    const count = neighbour.count + (known?.count ?? 0)
    const isWhole = neighbour.isWhole || known?.isWhole === true
    merged.set(neighbour.word, { ...neighbour, count, isWhole })
  }
  return [...merged.values()]
}
