/**
 * What must not reach a page, a terminal or a model from a stranger: control characters, half characters, line
 * separators, and what turns or hides text (direction overrides, byte-order marks, invisible tags).
 */
const unwanted = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\uFEFF\u{E0000}-\u{E007F}]+/gu

/** A stranger's text on one line, without control and hidden characters, cut to `maxChars`. */
export function cleanText(text: string, maxChars: number): string {
  // Cut first: a megabyte needs no cleaning. Each kept character came from at least one of the input.
  const cleaned = text
    .slice(0, maxChars * 2)
    .replace(unwanted, ' ')
    .trim()
  if (cleaned.length <= maxChars) return cleaned
  return cleaned.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, '')
}
