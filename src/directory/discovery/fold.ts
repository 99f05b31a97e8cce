/** Matches everything but the letters, digits and signs of ASCII, and blanks. */
const needsFolding = /[^\s!-~]/

/**
 * Brings a text into the form in which texts are compared: NFC and Unicode full case folding, so that `STRASSE` finds
 * `Straße`. Folding two texts and joining them gives the same as folding the joined text, unless a combining mark
 * stands at the seam.
 */
export function fold(text: string): string {
  if (!needsFolding.test(text)) return text.toLowerCase()
  // The dotless i folds to itself, yet its upper case is that of the dotted one.
  const folded = text.normalize('NFC').split('ı').map(foldCase).join('ı')
  return folded.normalize('NFC')
}

/** Lower case comes first, because `ẞ` has no other upper case. The final sigma is the same letter as the other. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

/** Returns the pieces of a folded text between blanks. A word never has a blank in it. */
export function tokensOf(folded: string): string[] {
  return folded.split(/\s+/).filter((token) => token !== '')
}

/** Returns the folded words of a query, longest first. A word that is part of another is left out, because a text with the longer one has both. */
export function wordsOf(query: string): string[] {
  const words = [...new Set(tokensOf(fold(query)))].sort((a, b) => b.length - a.length)
  return words.filter((word, i) => !words.slice(0, i).some((longer) => longer.includes(word)))
}

/** Folds a URL to its host, path segments and query, with blanks between them. */
export function foldUrl(url: string): string {
  return urlPieces(fold(url)).join(' ')
}

/** Returns the pieces of a word for the search in URLs. Each may be in any piece of the URL. */
export function urlPieces(folded: string): string[] {
  return folded
    .replace(/^https?:\/\//, '')
    .split(/[\s/?&=#]+/)
    .filter((piece) => piece !== '')
}
