/** Corrections by word, for words that nothing has. Empty if the corrected query would find nothing either. */
type Corrections = ReadonlyMap<string, string>

/** The words of the list, as the correction of a query reads them. */
interface Lookups {
  /** Tells whether any public endpoint has the word, whatever the other filters are. */
  occurs(word: string): boolean
  /** Tells whether any endpoint has all the words and meets the filters. */
  isFound(words: readonly string[]): boolean
  words: Pick<WordCounts, 'near'>
}

/** More words than these that nothing has are no typing error. */
const MAX_MISSING = 4
/** The most neighbours that are tried in all, the best of each word. Each of them costs a scan of the list. */
const MAX_TRIES = 8
/** From so many letters on, two edits leave more of a word than they change. */
const LONG_WORD_CHARS = 8

const correctable = /^[\p{L}\p{M}]{4,32}$/u
const outerSigns = /^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu

/**
 * Finds corrections. Words that occur are kept. Each other word is replaced by its best neighbour that is found together
 * with the words before.
 */
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
 * Returns replacements of a word, best first: whole ones before beginnings, then the nearest, then those that begin with
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

/** A word of the texts that is nearly another one. */
interface Neighbour {
  word: string
  /** False for the beginning of longer words. */
  isWhole: boolean
  /** In edits. */
  distance: number
  /** The number of times that the texts contain it. */
  count: number
}

/** The folded texts of a merchant and its endpoints. */
interface Texts {
  text: string
  labels: string
}

/** The words of all texts in the list, each counted, to find those that a typing error separates from another. */
export interface WordCounts {
  /** Takes folded texts, which may grow until their words are counted later. */
  add(texts: Texts): void
  /** Counts the words of at most so many texts that wait; false when none waits any more. */
  count(texts: number): boolean
  /** Takes away the words of texts that were added before. */
  remove(texts: Texts): void
  /**
   * Returns what is from 1 to `maxDistance` edits away from the folded word: words, and beginnings of longer ones that
   * begin with the same letter.
   */
  near(word: string, maxDistance: number): Neighbour[]
}

/**
 * Matches letters without a digit beside them. A word with digits is a code, an address or a version, and its
 * neighbours are not what was meant.
 */
const spelledWords = /(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}]{3,32}(?![\p{L}\p{M}\p{N}])/gu
/** Fewer letters, one of them wrong, could be the beginning of anything. */
const MIN_BEGINNING_CHARS = 5

interface Counted {
  count: number
  letters: number
}

export function createWordCounts(): WordCounts {
  const words = new Map<string, Counted>()
  let waiting: Texts[] = []
  let counted = 0

  /** A count may be below 0 while the text with the word still waits. */
  const change = (by: number) => (word: string) => {
    const known = words.get(word)
    if (known === undefined) words.set(word, { count: by, letters: lettersOf(word) })
    else if (known.count + by === 0) words.delete(word)
    else known.count += by
  }
  const addWord = change(1)
  const removeWord = change(-1)

  function count(texts: number): boolean {
    const end = Math.min(waiting.length, counted + texts)
    for (; counted < end; counted++) eachWord(waiting[counted] as Texts, addWord)
    if (counted < waiting.length) return true
    waiting = []
    counted = 0
    return false
  }

  return {
    add: (texts) => waiting.push(texts),
    count,
    remove: (texts) => eachWord(texts, removeWord),
    near(word, maxDistance) {
      count(waiting.length)
      const letters = lettersOf(word)
      const neighbourOf = createComparison(word, maxDistance)
      const found = new Map<string, Neighbour>()
      words.forEach((counted, other) => {
        // An edit takes away one letter at most.
        if (countOnes(letters & ~counted.letters) > maxDistance) return
        const neighbour = neighbourOf(other)
        if (neighbour === undefined) return
        // Several words may share a beginning, which may be a word too.
        const known = found.get(neighbour.word)
        found.set(neighbour.word, {
          ...neighbour,
          isWhole: neighbour.isWhole || known?.isWhole === true,
          count: counted.count + (known?.count ?? 0),
        })
      })
      return [...found.values()]
    },
  }
}

function eachWord({ text, labels }: Texts, visit: (word: string) => void): void {
  for (const word of text.match(spelledWords) ?? []) visit(word)
  for (const word of labels.match(spelledWords) ?? []) visit(word)
}

/** Returns how a word of the texts is near to `word`: as a whole, or by its beginning. */
function createComparison(word: string, maxDistance: number) {
  const distances = createDistances(word, maxDistance)
  return (other: string): Omit<Neighbour, 'count'> | undefined => {
    const distance = distances.toWord(other)
    if (distance === 0) return undefined
    if (distance <= maxDistance) return { word: other, isWhole: true, distance }
    if (word.length < MIN_BEGINNING_CHARS || other.length <= word.length) return undefined
    if (other.charCodeAt(0) !== word.charCodeAt(0)) return undefined
    const beginning = distances.toBeginning(other)
    const { length } = beginning
    if (beginning.distance === 0 || beginning.distance > maxDistance) return undefined
    if (isSecondHalf(other.charCodeAt(length))) return undefined
    return { word: other.slice(0, length), isWhole: false, distance: beginning.distance }
  }
}

/** Tells whether a UTF-16 unit is the second one of a letter that takes two. */
function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** Returns which letters a word has, several of them to a bit. */
function lettersOf(word: string): number {
  let letters = 0
  for (let i = 0; i < word.length; i++) letters |= 1 << (word.charCodeAt(i) & 31)
  return letters
}

function countOnes(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Compares one word with others. */
interface Distances {
  /** Returns how far the other word is; one more than the maximum when it is farther. */
  toWord(other: string): number
  /** Returns how far the nearest of its beginnings is, and how long that is; of equally near ones the longest. */
  toBeginning(other: string): { distance: number; length: number }
}

/**
 * Counts the letters that are put in, left out, replaced, or swapped with their neighbour between `word` and another
 * (optimal string alignment), up to a maximum. A letter is a UTF-16 unit.
 */
export function createDistances(word: string, max: number): Distances {
  const width = word.length + 1
  const codes = Uint16Array.from(word, (_, i) => word.charCodeAt(i))
  let row = new Uint16Array(width)
  let before = new Uint16Array(width)
  let beforeThat = new Uint16Array(width)

  function startRows(): void {
    for (let i = 0; i < width; i++) row[i] = i
  }

  /** Computes the row of the letter at `at`, the first being 1. Returns false when all that follows is beyond the maximum. */
  function nextRow(other: string, at: number): boolean {
    const spent = beforeThat
    beforeThat = before
    before = row
    row = spent
    const code = other.charCodeAt(at - 1)
    const last = at > 1 ? other.charCodeAt(at - 2) : -1
    row[0] = at
    let least = at
    for (let i = 1; i < width; i++) {
      const here = codes[i - 1] as number
      let cost = (before[i - 1] as number) + (here === code ? 0 : 1)
      cost = Math.min(cost, (before[i] as number) + 1, (row[i - 1] as number) + 1)
      if (i > 1 && here === last && codes[i - 2] === code) {
        cost = Math.min(cost, (beforeThat[i - 2] as number) + 1)
      }
      row[i] = cost
      if (cost < least) least = cost
    }
    return least <= max
  }

  return {
    toWord(other) {
      if (Math.abs(other.length - word.length) > max) return max + 1
      startRows()
      for (let at = 1; at <= other.length; at++) if (!nextRow(other, at)) return max + 1
      return Math.min(row[word.length] as number, max + 1)
    },
    toBeginning(other) {
      const nearest = { distance: Math.min(word.length, max + 1), length: 0 }
      startRows()
      for (let at = 1; at <= Math.min(other.length, word.length + max); at++) {
        if (!nextRow(other, at)) break
        const distance = row[word.length] as number
        if (distance > max || distance > nearest.distance) continue
        nearest.distance = distance
        nearest.length = at
      }
      return nearest
    },
  }
}
