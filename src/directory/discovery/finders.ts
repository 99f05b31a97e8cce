/** The fields of an endpoint, best first. Each word of a query is found in one of them. */
export const TIERS = { title: 0, tags: 1, provider: 2, description: 3, url: 4, nowhere: 5 } as const

/** Returns the offset of the next match in a text from an offset on; -1 if there is none. A match has no blank in it. */
export type FindInText = (text: string, start: number) => number

/** Finds a word anywhere. */
export function findAnywhere(word: string): FindInText {
  return (text, start) => text.indexOf(word, start)
}

/** Up to this length, a word that begins has to end there as well: `ai` begins `air`. */
const LONGEST_INITIALS = 2

/** Finds a word only where a word begins. */
export function findApart(word: string): FindInText {
  const isInitials = word.length <= LONGEST_INITIALS
  const isPart = (text: string, at: number) =>
    isInWord(text, at - 1) || (isInitials && isInWord(text, at + word.length))
  return (text, start) => {
    let at = text.indexOf(word, start)
    while (at !== -1 && isPart(text, at)) at = text.indexOf(word, at + 1)
    return at
  }
}

const NOWHERE = Number.MAX_SAFE_INTEGER

/**
 * Finds a word only where a word begins that it is a misspelling of. One wrong letter leaves one half of a word as it is, so
 * that only positions with such a half are checked.
 */
export function findNear(word: string): FindInText {
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

const blank = /\s/

/** Returns whether the text at an offset begins like the word but for one letter: wrong, missing, added or swapped with the next. */
function isNear(word: string, text: string, at: number): boolean {
  let same = 0
  while (same < word.length && text[at + same] === word[same]) same++
  // People rarely mistype the first letter, and other words differ in it alone.
  if (same === 0) return false
  const place = at + same
  if (text.startsWith(word.slice(same + 1), place)) return true
  // A blank is no wrong letter.
  if (blank.test(text[place] ?? ' ')) return false
  const isSwapped = text[place] === word[same + 1] && text[place + 1] === word[same]
  return (
    text.startsWith(word.slice(same + 1), place + 1) ||
    text.startsWith(word.slice(same), place + 1) ||
    (isSwapped && text.startsWith(word.slice(same + 2), place + 2))
  )
}

/** Returns whether a letter or digit of ASCII stands at the offset of a folded text. Other scripts may have no blanks. */
function isInWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
}
