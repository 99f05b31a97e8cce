/**
 * What no listed text may hold: controls, halves of characters, other line breaks, what turns the direction of the text
 * around it, and what cannot be seen at all (zero width, tags), in which words for a machine can hide.
 */
const unwelcome =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u
const allUnwelcome = new RegExp(unwelcome, 'gu')
const surrogate = /[\ud800-\udfff]/
/** Nearly every text: nothing in it need be looked at closer. */
const plain = /^[ -~]*$/
const lineBreaks = /[\n\t]/g
/** JSON texts may be written on any system. */
const jsonBreaks = /[\r\n\t]/g

const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/** The first unwelcome character as `U+202E`, or `undefined`. Line feeds and tabs pass in `multi-line` text only. */
export function findUnwelcome(
  text: string,
  kind: 'one-line' | 'multi-line' | 'json',
): string | undefined {
  if (plain.test(text)) return undefined
  const rest =
    kind === 'one-line' ? text : text.replace(kind === 'json' ? jsonBreaks : lineBreaks, '')
  const found = unwelcome.exec(rest)?.[0]
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
  return JSON.stringify(shown).replace(allUnwelcome, '\ufffd')
}
