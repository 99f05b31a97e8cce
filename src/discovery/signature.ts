/** A number of 53 bits that tells texts apart; enough to see whether something changed, nothing more. */
export function signatureOf(texts: readonly string[]): number {
  let low = 0x811c9dc5
  let high = 0x9dc5811c
  for (const text of texts) {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      low = Math.imul(low ^ code, 0x01000193)
      high = Math.imul(high + code, 0x5bd1e995) ^ (high >>> 15)
    }
    // The seam between two texts counts too.
    low = Math.imul(low ^ 0xffff, 0x01000193)
    high = Math.imul(high + 0xffff, 0x5bd1e995) ^ (high >>> 15)
  }
  return (high >>> 11) * 0x1_0000_0000 + (low >>> 0)
}
