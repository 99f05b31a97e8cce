/** The meaning of a text that somebody typed into the one search box. */
type SearchTarget =
  | { kind: 'hash'; hash: string }
  | { kind: 'address'; address: string }
  | { kind: 'words'; words: string }

const HEX = /^(?:0x)?([0-9a-f]+)$/i
const HASH_DIGITS = 64
const ADDRESS_DIGITS = 40

/** Reads a hash or an address, with or without `0x`, or words. */
export function readSearch(typed: string): SearchTarget {
  const words = typed.trim()
  const digits = HEX.exec(words)?.[1]?.toLowerCase()
  if (digits?.length === HASH_DIGITS) return { kind: 'hash', hash: `0x${digits}` }
  if (digits?.length === ADDRESS_DIGITS) return { kind: 'address', address: `0x${digits}` }
  return { kind: 'words', words }
}

/** Tells whether words have the form of a merchant's id. One without a hyphen is a word, which the search finds anyway. */
export function mayBeMerchantId(words: string): boolean {
  return words.includes('-') && /^[a-z0-9][a-z0-9-]{1,62}[a-z0-9]$/.test(words)
}
