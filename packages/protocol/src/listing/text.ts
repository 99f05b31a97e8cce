/*
 * Rules for texts that strangers wrote, the same for the service and for browsers: which characters nobody sees, which
 * of them a listing may hold, and how a text is made safe to show.
 */

/**
 * Characters that hide text or turn its direction: what Unicode calls default ignorable (zero width, direction marks,
 * variation selectors, fillers, tags), interlinear annotation, noncharacters, halves of characters, and the two
 * printable signs without ink.
 */
const hidden =
  '[\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\p{Cs}\\ufff9-\\ufffb\\u2800\\u{1d159}]'

/** Letters of scripts in which a joiner between two letters is spelling: Persian, Urdu, and the scripts of India and around. */
const joining = `[${'Arab Syrc Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Mymr Khmr Tibt'
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')}\\u064b-\\u065f\\u0670]`

/** Places where such a character is part of what a reader sees. */
const seen = [
  `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
  // A sequence of emoji, each perhaps with its own selector.
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]\\ufe0f?)\\u200d(?=\\p{Extended_Pictographic})',
  '(?<=\\p{Emoji})(?<![0-9#*])[\\ufe0e\\ufe0f]',
  // Keycaps.
  '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
].join('|')

const firstHidden = new RegExp(`(?!${seen})${hidden}`, 'u')
const allHidden = new RegExp(`(?!${seen})${hidden}`, 'gu')
/** Matches nearly every text, so that the slow expressions above seldom run. */
const plainLines = /^[\t\n\r -~]*$/
const plainLine = /^[ -~]*$/

/** Characters that break a line or steer a terminal. */
const breaking = /[\p{Cc}\p{Zl}\p{Zp}]/u
const allBreaking = /[\p{Cc}\p{Zl}\p{Zp}]/gu
const allUnwelcome = /(?![\t\n\r])[\p{Cc}\p{Zl}\p{Zp}]/gu
const breakingRuns = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
const surrogate = /[\ud800-\udfff]/
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/** Line breaks that each kind of text may hold; JSON texts may come from any system. */
const allowedBreaks = { 'one-line': undefined, 'multi-line': /[\n\t]/g, json: /[\r\n\t]/g }

type TextKind = keyof typeof allowedBreaks

/** Finds the first hidden character of a text. */
export function findHidden(text: string): string | undefined {
  return plainLines.test(text) ? undefined : firstHidden.exec(text)?.[0]
}

/** Removes the hidden characters of a text. A second call changes nothing more. */
export function stripHidden(text: string): string {
  return plainLines.test(text) ? text : text.replace(allHidden, '')
}

/** Removes hidden characters and controls, but keeps line breaks and tabs. */
export function stripUnwelcome(text: string): string {
  return plainLines.test(text) ? text : stripHidden(text.replace(allUnwelcome, ''))
}

/**
 * Finds the first character that no listed text may hold, as `U+202E`: a control, a line separator or a hidden one.
 * Line feeds and tabs are allowed in `multi-line` text, carriage returns also in `json`.
 */
export function findUnwelcome(text: string, kind: TextKind): string | undefined {
  if (plainLine.test(text)) return undefined
  const allowed = allowedBreaks[kind]
  const rest = allowed === undefined ? text : text.replace(allowed, ' ')
  const found = breaking.exec(rest)?.[0] ?? findHidden(rest)
  if (found === undefined) return undefined
  return `U+${(found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
}

/**
 * Returns a stranger's text on one line, cut to `maxChars`: controls and line separators become blanks, hidden
 * characters are removed.
 */
export function cleanText(text: string, maxChars: number): string {
  // Cut first, so that a megabyte is not cleaned. Each kept character comes from at least one of the input.
  const cleaned = stripHidden(text.slice(0, maxChars * 2).replace(breakingRuns, ' ')).trim()
  // The cut can leave half a character or the beginning of a sequence.
  return cleaned.length <= maxChars ? cleaned : stripHidden(cleaned.slice(0, maxChars)).trim()
}

/** Returns a text in the form in which it is kept: composed (NFC), without blanks around it. */
export function normalizeText(text: string): string {
  return text.normalize('NFC').trim()
}

/** Counts Unicode code points. */
export function countChars(text: string): number {
  if (!surrogate.test(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}

export function hasVisible(text: string): boolean {
  return visible.test(text)
}

/** Quotes a caller's text for a sentence of ours: short and printable. */
export function quote(text: string): string {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return JSON.stringify(stripHidden(shown)).replace(allBreaking, '\ufffd')
}

/** Returns a text with one full stop at its end. */
export function asSentence(text: string): string {
  return `${text.replace(/[.\s]+$/, '')}.`
}
