import { stripHidden } from '@arcus/protocol/listing/text'

/** Controls and line separators, with and without the line feed. */
const breaks = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
const otherBreaks = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** Returns a stranger's text on one line without hidden characters, cut to `max` characters. */
export function oneLine(text: string, max: number): string {
  return clamp(stripHidden(text.replace(breaks, ' ')).trim(), max)
}

/** Returns a stranger's text with its line breaks, at most two in a row, cut to `max` characters. */
export function manyLines(text: string, max: number): string {
  return clamp(stripHidden(text.replace(otherBreaks, ' ')).replace(/\n{3,}/g, '\n\n'), max)
}

/** Returns the address to link to, or `undefined` for anything but http and https. */
export function safeHref(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined
}

/** Splits a URL into its host, which is shown in full because people trust it, and the rest. */
export function splitUrl(text: string): { host: string; rest: string } {
  if (!URL.canParse(text)) return { host: '', rest: text }
  const { host, pathname, search } = new URL(text)
  return { host, rest: pathname === '/' && search === '' ? '' : pathname + search }
}

/** Shortens an address or hash: `0x1234…abcd`. */
export function shortHex(hex: string): string {
  return hex.length > 13 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex
}

/** Compares addresses in any case. Two missing addresses are not the same. */
export function sameAddress(a: string | null | undefined, b: string | null | undefined): boolean {
  return a != null && b != null && a.toLowerCase() === b.toLowerCase()
}

function clamp(text: string, max: number): string {
  const chars = [...text]
  return chars.length > max ? `${chars.slice(0, max - 1).join('')}…` : text
}
