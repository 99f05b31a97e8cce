import unhomoglyph from 'unhomoglyph'

/** Words that only the operator's own merchants have in their names. */
const reservedWords = ['official', 'verified', 'operator', 'facilitator']
/** These also count inside of a word, as in `arcusofficial`; "unofficial" and "unverified" say the opposite. */
const reservedParts = ['official', 'verified', 'facilitator']

/** Check marks, signs that look like one, and the V in a circle or a square that passes for "verified". */
const tick =
  /[\u2705\u2611\u2713\u2714\u221a\u237b\u2bbd\uaa9c\u24cb\u24e5\u{10102}\u{1f145}\u{1f165}\u{1f185}\u{1f5f8}\u{1f5f9}\u{1fbb1}]/u

/** Small capitals: UTS 39 has them for letters of their own, but people read them as the letters they are. */
const smallCapitals = 'ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ'
const plainLetters = 'abcdefghijklmnopqrstuvwyz'
const allSmallCapitals = new RegExp(`[${smallCapitals}]`, 'gu')

/** White letters in black circles and squares, and the letters of flags: Unicode does not say which letters they are. */
const boxedLetters = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu
const firstBoxed = [0x1f1e6, 0x1f170, 0x1f150]

function unboxed(letter: string): string {
  const code = letter.codePointAt(0) ?? 0
  const first = firstBoxed.find((it) => it <= code) ?? code
  return String.fromCharCode(97 + code - first)
}

/** Scripts that honest names mix with Latin letters in one word. */
const isLatin = /\p{Script=Latin}/u
const isForeign =
  /(?=\p{L})[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u

/** Signs next to a name that are no letters of it. */
const marksOfTrade = /[\u2122\u2120\u00ae\u00a9]/g
const boundaries = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu

/** Letters that digits stand for when they are in a word, as in `4rcu5`. UTS 39 has 0 and 1 alone. */
const lettersOfDigits = 'olzeasbtbg'
const digitsInWord = /(?<=\p{L})[0-9]+|[0-9]+(?=\p{L})/gu

/** Returns the letters for digits in a word. They stay a word of their own, because `Arcus402` has the word `Arcus`. */
function spelled(digits: string): string {
  return ` ${Array.from(digits, (digit) => lettersOfDigits[Number(digit)]).join('')} `
}

/** Letters that look like two others. The two are written for the one, so that it is the same wherever words are joined. */
const pairs: Readonly<Record<string, string>> = { m: 'rn', w: 'vv', d: 'cl' }

/** Returns the words of a name as they look. */
function wordsOf(name: string): string[] {
  return skeleton(
    name
      .replace(boxedLetters, unboxed)
      .replace(marksOfTrade, ' ')
      .replace(/[\uff10-\uff19]/g, (digit) => digit.normalize('NFKC'))
      .replace(digitsInWord, spelled)
      .replace(boundaries, ' '),
  )
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

const ascii = Array.from({ length: 128 }, (_, code) => unhomoglyph(String.fromCharCode(code)))

/** Returns the skeleton of a text by UTS 39, the same for both cases of a letter. */
function skeleton(text: string): string {
  // Most names are plain, and the library takes long.
  if (/^[\0-\x7f]*$/.test(text)) {
    const letters = Array.from(text, (char) => ascii[char.charCodeAt(0)]).join('')
    return lowered(Array.from(letters.toLowerCase(), (char) => ascii[char.charCodeAt(0)]).join(''))
  }
  // Raised and lowered letters are themselves, before they look like others.
  const letters = unhomoglyph(text.normalize('NFKD'))
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(allSmallCapitals, (letter) => plainLetters[[...smallCapitals].indexOf(letter)] ?? '')
  return lowered(unhomoglyph(unhomoglyph(letters).toLowerCase()))
}

/** Returns the same text for both cases of a letter: only capital I looks like l, and where case does not count, both do. */
function lowered(text: string): string {
  return text
    .toLowerCase()
    .replace(/i/g, 'l')
    .replace(/[mwd]/g, (letter) => pairs[letter] ?? letter)
}

/** Returns what a name looks like as a whole, however it is spaced: "A.r.c.u.s" looks like "Arcus". */
export function lookOf(name: string): string {
  return wordsOf(name).join('')
}

/** Returns what each run of neighbouring words of a name looks like: "The Arcus Shop" has "arcus" and "arcusshop". */
export function looksWithin(name: string): Set<string> {
  // A sign may stand for a letter, or between two words.
  const readings = [wordsOf(name), wordsOf(name.replace(/[\p{P}\p{S}]/gu, ' '))]
  const looks = readings.flatMap((words) =>
    words.flatMap((_, from) =>
      words.slice(from).map((_, i) => words.slice(from, from + i + 1).join('')),
    ),
  )
  return new Set(looks)
}

const reserved = new Map(
  reservedWords.flatMap((word) => [word, `${word}s`].map((it) => [lookOf(it), word])),
)
const reservedWithin = reservedParts.map((word) => ({
  word,
  pattern: new RegExp(`(?<!^un)${lookOf(word)}`),
}))

/** Finds the word or the sign in a name that only the operator's merchants may have. */
export function findReserved(name: string): string | undefined {
  const sign = findTick(name)
  if (sign !== undefined) return sign
  for (const look of looksWithin(name)) {
    const word = reserved.get(look)
    if (word !== undefined) return word
  }
  return wordsOf(name).flatMap(
    (look) => reservedWithin.find(({ pattern }) => pattern.test(look))?.word ?? [],
  )[0]
}

/** Finds a check mark. */
export function findTick(text: string): string | undefined {
  return tick.exec(text)?.[0]
}

/** Returns whether one word of a name has letters of alphabets that are not written together. */
export function mixesAlphabets(name: string): boolean {
  return name.split(/\s+/u).some((word) => isLatin.test(word) && isForeign.test(word))
}
