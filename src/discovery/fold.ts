/** Everything but the letters, digits and signs of ASCII, and blanks. */
const needsFolding = /[^\s!-~]/

/**
 * The form in which texts are compared: NFC and Unicode full case folding, so that `STRASSE` finds `Straße`. Folding
 * two texts and joining them is the same as folding the joined text, unless a combining mark stands at the seam.
 */
export function fold(text: string): string {
  if (!needsFolding.test(text)) return text.toLowerCase()
  // The dotless i folds to itself, yet its upper case is that of the dotted one.
  const folded = text.normalize('NFC').split('ı').map(foldCase).join('ı')
  return folded.normalize('NFC')
}

/** Lower case first, because `ẞ` has no other upper case; one sigma wherever in a word it stands. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

/** The pieces of a folded text between blanks. A word never holds a blank, so it lies within one of them. */
export function tokensOf(folded: string): string[] {
  return folded.split(/\s+/).filter((token) => token !== '')
}

/** The folded words of a query, longest first, without those that lie within another: what holds one holds the other. */
export function wordsOf(query: string): string[] {
  const words = [...new Set(tokensOf(fold(query)))].sort((a, b) => b.length - a.length)
  return words.filter((word, i) => !words.slice(0, i).some((longer) => longer.includes(word)))
}

/** A URL in pieces of host, path segments and query, as a folded text with blanks between. */
export function foldUrl(url: string): string {
  return urlPieces(fold(url)).join(' ')
}

/** What of a word is looked for in URLs: each of its pieces, in any piece of the URL. */
export function urlPieces(folded: string): string[] {
  return folded
    .replace(/^https?:\/\//, '')
    .split(/[\s/?&=#]+/)
    .filter((piece) => piece !== '')
}
