import type { Hex } from 'viem'

/** Signatures that were found to be the payer's, so that settle need not recover again what verify recovered. */
export interface RecentSignatures {
  has(digest: Hex, signature: Hex): boolean
  add(digest: Hex, signature: Hex): void
}

/** Some 2 MB at most; between verify and settle lie seconds. */
const MAX_REMEMBERED = 4_000

/** Remembers in two generations: a full one replaces the older. A digest and a signature have one signer for ever. */
export function createRecentSignatures(): RecentSignatures {
  let young = new Map<Hex, Hex>()
  let old = new Map<Hex, Hex>()
  return {
    has: (digest, signature) => (young.get(digest) ?? old.get(digest)) === signature,
    add(digest, signature) {
      young.set(digest, signature)
      if (young.size < MAX_REMEMBERED / 2) return
      old = young
      young = new Map()
    },
  }
}
