import type { SearchableEndpoint, SearchableMerchant } from './endpoint-list.js'
import { urlPieces } from './words.js'

/** The fields of an endpoint, best first. Each word of a query is found in one of them. */
export const TIERS = { title: 0, tags: 1, provider: 2, description: 3, url: 4, nowhere: 5 } as const

/** Finds a word in the endpoints of one merchant after another. */
export interface Finder {
  /** Goes on to a merchant; returns false if none of its endpoints has the word. */
  begin(merchant: SearchableMerchant): boolean
  /** Returns the best tier in which an endpoint of the merchant has the word. They are asked for in order of id. */
  tierOf(endpoint: SearchableEndpoint): number
}

/** Where a word is found: anywhere, only where a word begins, or only where a word begins that it is a misspelling of. */
type FinderKind = 'anywhere' | 'apart' | 'near'

const kinds = { anywhere: findAnywhere, apart: findApart, near: findNear }

export function createFinder(word: string, isWide: boolean, kind: FinderKind = 'anywhere'): Finder {
  const pieces = urlPieces(word)
  // A word that is a single piece of a URL is found in the text as it stands.
  const isOnePiece = pieces.length === 1 && pieces[0] === word
  const find = kinds[kind](word)
  const text = createCursor(find)
  const labels = createCursor(find)
  let labelled = ''
  let tierOfMerchant: number = TIERS.nowhere

  function tierOf(endpoint: SearchableEndpoint): number {
    const at = text.from(endpoint.titleStart)
    if (at < endpoint.descriptionStart) return TIERS.title
    if (labels.from(endpoint.tagsStart) < endpoint.urlStart) return TIERS.tags
    const tier = at < endpoint.descriptionEnd ? TIERS.description : TIERS.nowhere
    if (Math.min(tier, tierOfMerchant) !== TIERS.nowhere) return Math.min(tier, tierOfMerchant)
    if (isOnePiece) return labels.from(endpoint.urlStart) < endpoint.urlEnd ? TIERS.url : tier
    const url = labelled.slice(endpoint.urlStart, endpoint.urlEnd)
    return pieces.every((piece) => url.includes(piece)) ? TIERS.url : tier
  }

  function tierInText({ titleStart, descriptionEnd }: SearchableEndpoint): number {
    if (tierOfMerchant !== TIERS.nowhere) return tierOfMerchant
    return text.from(titleStart) < descriptionEnd ? TIERS.description : TIERS.nowhere
  }

  return {
    begin(merchant) {
      const { aboutStart, aboutEnd } = merchant
      const at = text.open(merchant.text)
      tierOfMerchant = at < aboutEnd ? TIERS.description : TIERS.nowhere
      if (at < aboutStart) tierOfMerchant = TIERS.provider
      if (!isWide) return at !== NOWHERE
      labelled = merchant.labels
      return labels.open(labelled) !== NOWHERE || at !== NOWHERE || !isOnePiece
    },
    tierOf: isWide ? tierOf : tierInText,
  }
}

const NOWHERE = Number.MAX_SAFE_INTEGER

/** Returns the offset of the next match in a text from an offset on; -1 if there is none. */
type Find = (text: string, start: number) => number

/** Finds the matches of a word in a text, in rising order, so that each text is looked through once. */
function createCursor(find: Find) {
  let text = ''
  let next = 0

  /** Returns the offset of the first match from `start` on. */
  function from(start: number): number {
    if (next >= start) return next
    const at = find(text, start)
    next = at === -1 ? NOWHERE : at
    return next
  }

  return {
    from,
    /** Begins with another text, and returns the offset of its first match. */
    open(other: string): number {
      text = other
      next = -1
      return from(0)
    },
  }
}

function findAnywhere(word: string): Find {
  return (text, start) => text.indexOf(word, start)
}

/** Up to this length, a word that begins has to end there as well: `ai` begins `air`. */
const LONGEST_INITIALS = 2

function findApart(word: string): Find {
  const isInitials = word.length <= LONGEST_INITIALS
  const isPart = (text: string, at: number) =>
    isInWord(text, at - 1) || (isInitials && isInWord(text, at + word.length))
  return (text, start) => {
    let at = text.indexOf(word, start)
    while (at !== -1 && isPart(text, at)) at = text.indexOf(word, at + 1)
    return at
  }
}

/** One wrong letter leaves one half of a word as it is, so that only positions with such a half are checked. */
function findNear(word: string): Find {
  const middle = word.length >> 1
  const [first, second] = [word.slice(0, middle), word.slice(middle)]
  const isAt = (text: string, at: number, start: number) =>
    at >= start && !isInWord(text, at - 1) && isNear(word, text, at)

  function firstWith(text: string, half: string, starts: readonly number[], start: number) {
    for (let at = text.indexOf(half, start); at !== -1; at = text.indexOf(half, at + 1)) {
      const found = starts.find((back) => isAt(text, at - back, start))
      if (found !== undefined) return at - found
    }
    return NOWHERE
  }

  return (text, start) => {
    const at = Math.min(
      firstWith(text, first, [0], start),
      firstWith(text, second, [middle + 1, middle, middle - 1], start),
    )
    return at === NOWHERE ? -1 : at
  }
}

/** Returns whether the text at an offset begins like the word but for one letter: wrong, missing, added or swapped with the next. */
function isNear(word: string, text: string, at: number): boolean {
  let same = 0
  while (same < word.length && text[at + same] === word[same]) same++
  // People rarely mistype the first letter, and other words differ in it alone.
  if (same === 0) return false
  const place = at + same
  const isSwapped = text[place] === word[same + 1] && text[place + 1] === word[same]
  return (
    text.startsWith(word.slice(same + 1), place + 1) ||
    text.startsWith(word.slice(same + 1), place) ||
    text.startsWith(word.slice(same), place + 1) ||
    (isSwapped && text.startsWith(word.slice(same + 2), place + 2))
  )
}

/** Returns whether a letter or digit of ASCII stands at the offset of a folded text. Other scripts may have no blanks. */
function isInWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
}
