/** Controls, direction marks and what cannot be seen: never drawn, whoever wrote them. */
const unwelcome =
  /[\p{Cc}\p{Cs}\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu
const lineBreaks = /[\n\t]/

/** A stranger's words on one line, `max` characters at most. */
export function oneLine(text: string, max: number): string {
  return clamp(
    text.replace(unwelcome, (char) => (lineBreaks.test(char) ? ' ' : '')),
    max,
  )
}

/** A stranger's words with their line breaks, never more than two in a row. */
export function manyLines(text: string, max: number): string {
  const clean = text.replace(unwelcome, (char) => (char === '\n' ? '\n' : char === '\t' ? ' ' : ''))
  return clamp(clean.replace(/\n{3,}/g, '\n\n'), max)
}

/** The address to link to, or `undefined` for anything but http and https. */
export function safeHref(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined
}

/** Host and path apart, for showing the host in full: it is what a person trusts. */
export function splitUrl(text: string): { host: string; rest: string } {
  if (!URL.canParse(text)) return { host: '', rest: text }
  const { host, pathname, search } = new URL(text)
  return { host, rest: pathname === '/' && search === '' ? '' : pathname + search }
}

/** `0x1234…abcd`. */
export function shortHex(hex: string): string {
  return hex.length > 13 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex
}

export function sameAddress(a: string | null | undefined, b: string | null | undefined): boolean {
  return a != null && b != null && a.toLowerCase() === b.toLowerCase()
}

function clamp(text: string, max: number): string {
  const chars = [...text]
  return chars.length > max ? `${chars.slice(0, max - 1).join('')}…` : text
}
