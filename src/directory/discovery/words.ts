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

/**
 * Returns the words that an endpoint must all have: those of the query without the small words of English, unless it has no
 * others. A text with all the small words must not be the only one that has every word.
 */
export function wantedWords(query: string): string[] {
  const words = tokensOf(fold(query))
  const telling = words.filter((word) => !stopWords.has(trimmed(word)))
  return wordsOf((telling.length === 0 ? words : telling).join(' '))
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

/** Words of English that say nothing about what is looked for, and the politeness of people and models. */
const stopWords = new Set(
  (
    'a about all already also am an and any anything api apis are as at be because been before but by call can could did ' +
    'do does ever every exactly for from get gets getting give gives has have having help here how i if in into is it ' +
    'its just like list look looking make many may me might more most much my need needs not now of off on one only or ' +
    'other our out over please provide provides really return returns service services should show shows so some ' +
    'something tell than thank thanks that the their them then there these they thing things this to today tomorrow ' +
    'tonight too up us use using very want wants was we were what when where which while who why will with would you ' +
    'your find finds search'
  ).split(' '),
)
/** Longer sentences are cut: each word costs a look at every endpoint. */
const MAX_WORDS = 12
/** Endings by which forms of an English word differ, after stems that are long enough to mean something. */
const endings =
  /(?<=..([bdgmnprt]))\1(?:ed|ing)$|(?<=.{3})ies$|(?<=x)es$|(?<=..[^isu])s$|(?<=.{4})(?:e|ed|es|ings?|y)$|(?<=.{5})ions?$/

/**
 * Returns the folded words of a sentence that say what is looked for, without their endings: `ship` of `shipping` and
 * `translat` of `translated`, which are found in `Ships` and `Translator`.
 */
export function contentWords(sentence: string): string[] {
  const words = tokensOf(fold(sentence))
    .map(trimmed)
    .filter((word) => word !== '' && !stopWords.has(word))
    .map((word) => word.replace(endings, ''))
  return [...new Set(words)].slice(0, MAX_WORDS)
}

/** Returns a folded token without the signs around it and the short verb behind it, as in `“what's”`. */
function trimmed(token: string): string {
  return token
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    .replace(/['’](?:d|ll|m|re|s|ve)$/, '')
}
