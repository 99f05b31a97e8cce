import type { FindInText } from './finders.js'
import { tokensOf } from './words.js'

/**
 * Remembers in which texts each word stands. A word of a query has no blank in it, so it is part of a text exactly where it
 * is part of one of its words, and there are far fewer different words than there is text.
 */
export interface WordIndex {
  /** Notes the words of a folded text under a number, from 0 on, that may be that of other texts too. */
  add(text: string, number: number): void
  /** Forgets what was noted of a text. */
  remove(text: string, number: number): void
  /** Returns the numbers of the texts with each word that a search finds, word by word. */
  find(find: FindInText): Iterable<readonly number[]>
}

/** A word as it stands in texts, between blanks. */
interface NotedWord {
  text: string
  page: WordPage
  /** In rising order. */
  numbers: number[]
}

/** Words side by side, because one long text is searched far faster than many short ones. */
interface WordPage {
  words: NotedWord[]
  /** The words with line breaks between them; `undefined` after a change. */
  text: string | undefined
}

const WORDS_A_PAGE = 1_024
/** From this length on, V8 keeps a part of a text by keeping the whole text. */
const LEAST_SLICE = 13

export function createWordIndex(): WordIndex {
  const words = new Map<string, NotedWord>()
  const pages = new Set<WordPage>()
  let lastPage: WordPage | undefined

  function addWord(token: string, number: number): void {
    if (lastPage === undefined || lastPage.words.length >= WORDS_A_PAGE) {
      lastPage = { words: [], text: undefined }
      pages.add(lastPage)
    }
    const word = { text: ownText(token), page: lastPage, numbers: [number] }
    lastPage.words.push(word)
    lastPage.text = undefined
    words.set(word.text, word)
  }

  function removeWord(word: NotedWord): void {
    const { page } = word
    words.delete(word.text)
    page.words.splice(page.words.indexOf(word), 1)
    page.text = undefined
    if (page.words.length > 0) return
    pages.delete(page)
    if (lastPage === page) lastPage = undefined
  }

  return {
    add(text, number) {
      for (const token of tokensOf(text)) {
        const numbers = words.get(token)?.numbers
        if (numbers === undefined) addWord(token, number)
        else insert(numbers, number)
      }
    },
    remove(text, number) {
      for (const token of tokensOf(text)) {
        const word = words.get(token)
        if (word === undefined) continue
        const at = lowerBound(word.numbers, number, itself)
        if (word.numbers[at] === number) word.numbers.splice(at, 1)
        if (word.numbers.length === 0) removeWord(word)
      }
    },
    *find(find) {
      for (const page of pages) yield* numbersIn(page, find)
    },
  }
}

const itself = (number: number) => number

function insert(numbers: number[], number: number): void {
  const at = lowerBound(numbers, number, itself)
  if (at === numbers.length) numbers.push(number)
  else if (numbers[at] !== number) numbers.splice(at, 0, number)
}

function* numbersIn(page: WordPage, find: FindInText): Iterable<readonly number[]> {
  const { words } = page
  page.text ??= words.map(({ text }) => text).join('\n')
  let next = 0
  /** The line break behind the word before. */
  let end = -1
  for (let at = find(page.text, 0); at !== -1; at = find(page.text, end + 1)) {
    while (end < at) end += (words[next++] as NotedWord).text.length + 1
    yield (words[next - 1] as NotedWord).numbers
    if (next === words.length) return
  }
}

/** Returns a text that keeps no longer one in memory. */
function ownText(token: string): string {
  if (token.length < LEAST_SLICE) return token
  return Buffer.from(token, 'utf16le').toString('utf16le')
}

/** Returns the index of the first member that is not below `value`, in a row in ascending order. */
export function lowerBound<Member>(
  row: readonly Member[],
  value: number,
  numberOf: (member: Member) => number,
): number {
  let low = 0
  let high = row.length
  // Most members come after all others.
  if (high > 0 && numberOf(row[high - 1] as Member) < value) return high
  while (low < high) {
    const middle = (low + high) >>> 1
    if (numberOf(row[middle] as Member) < value) low = middle + 1
    else high = middle
  }
  return low
}
