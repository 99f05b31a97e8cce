import { stripHidden } from '../hidden-characters.js'

/** What breaks a line or steers a terminal. */
const breaking = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/**
 * A stranger's text on one line, cut to `maxChars`, without what must not reach a page, a terminal or a model:
 * control characters and line separators become blanks, hidden characters go.
 */
export function cleanText(text: string, maxChars: number): string {
  // Cut first: a megabyte needs no cleaning. Each kept character came from at least one of the input.
  const cleaned = stripHidden(text.slice(0, maxChars * 2).replace(breaking, ' ')).trim()
  // Where it is cut, half a character or the beginning of a sequence may be left.
  return cleaned.length <= maxChars ? cleaned : stripHidden(cleaned.slice(0, maxChars)).trim()
}
