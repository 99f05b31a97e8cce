/** The meaning of a text that somebody typed into the one search box. */
type SearchTarget =
  | { kind: 'hash'; hash: string }
  | { kind: 'address'; address: string }
  /** A payment by its payer and nonce, on the named network or on that of the listings. */
  | { kind: 'payment'; network: string | undefined; payer: string; nonce: string }
  | { kind: 'words'; words: string }

/** Says what a text that is no words leads to. */
export const meanings = {
  hash: 'This is a transaction: see its payment.',
  payment: 'These are a payer and a nonce: see their payment.',
  address: 'This is an address: see what it sells, or what it paid.',
} as const

const HEX = /^(?:0x)?([0-9a-f]+)$/i
const HASH_DIGITS = 64
const ADDRESS_DIGITS = 40
const PAYER_AND_NONCE =
  /^(?:(eip155:\d{1,12})[\s/,]+)?(?:0x)?([0-9a-f]{40})[\s/,]+(?:0x)?([0-9a-f]{64})$/i

/** Reads a hash, an address, or a payer with a nonce, each with or without `0x`, or words. */
export function readSearch(typed: string): SearchTarget {
  const words = typed.trim()
  const digits = HEX.exec(words)?.[1]?.toLowerCase()
  if (digits?.length === HASH_DIGITS) return { kind: 'hash', hash: `0x${digits}` }
  if (digits?.length === ADDRESS_DIGITS) return { kind: 'address', address: `0x${digits}` }
  const [, network, payer, nonce] = PAYER_AND_NONCE.exec(words) ?? []
  if (payer !== undefined && nonce !== undefined) {
    const of = { payer: `0x${payer.toLowerCase()}`, nonce: `0x${nonce.toLowerCase()}` }
    return { kind: 'payment', network, ...of }
  }
  return { kind: 'words', words }
}

/** Returns the page that shows a target. `listed` is the network of the listings, where it is known. */
export function pageOf(target: SearchTarget, listed: string | undefined): string {
  switch (target.kind) {
    case 'hash':
      return `/payments/${target.hash}`
    case 'payment':
      return `/payments/${target.network ?? listed ?? 'eip155:5042'}/${target.payer}/${target.nonce}`
    case 'address':
      return `/?payTo=${target.address}`
    case 'words':
      return target.words === '' ? '/' : `/?${new URLSearchParams({ query: target.words })}`
  }
}

/** Returns whether words have the form of a seller's id. One without a hyphen is a word, which the search finds anyway. */
export function mayBeMerchantId(words: string): boolean {
  return words.includes('-') && /^[a-z0-9][a-z0-9-]{1,62}[a-z0-9]$/.test(words)
}
