import { findHidden, stripHidden } from './hidden-characters.js'

/** What breaks a line or steers a terminal. */
const breaking = /[\p{Cc}\p{Zl}\p{Zp}]/u
const allBreaking = new RegExp(breaking, 'gu')
const surrogate = /[\ud800-\udfff]/
/** Nearly every text: nothing in it need be looked at closer. */
const plain = /^[ -~]*$/
const lineBreaks = /[\n\t]/g
/** JSON texts may be written on any system. */
const jsonBreaks = /[\r\n\t]/g

const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/**
 * The first character that no listed text may hold, as `U+202E`: controls, line separators and what is hidden.
 * `undefined` when there is none. Line feeds and tabs pass in `multi-line` text only.
 */
export function findUnwelcome(
  text: string,
  kind: 'one-line' | 'multi-line' | 'json',
): string | undefined {
  if (plain.test(text)) return undefined
  const rest =
    kind === 'one-line' ? text : text.replace(kind === 'json' ? jsonBreaks : lineBreaks, ' ')
  const found = breaking.exec(rest)?.[0] ?? findHidden(rest)
  if (found === undefined) return undefined
  return `U+${(found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
}

/** The one form in which a text is kept: composed (NFC), without blanks around it. */
export function normaliseText(text: string): string {
  return text.normalize('NFC').trim()
}

/** Unicode code points. */
export function countChars(text: string): number {
  if (!surrogate.test(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}

export function hasVisible(text: string): boolean {
  return visible.test(text)
}

/** A caller's own words inside a sentence of ours: short, quoted, and printable. */
export function quote(text: string): string {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return JSON.stringify(stripHidden(shown)).replace(allBreaking, '\ufffd')
}
