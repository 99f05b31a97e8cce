import type { Hex } from 'viem'

/** Order of secp256k1; of s and its negative, contracts take the lower one (EIP-2). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const TOP_BIT = 1n << 255n
const PLAIN_BYTES = 65

/**
 * Returns an ECDSA signature in the one form that contracts take: 65 bytes, v of 27 or 28, s in the lower half.
 * Libraries off chain recover the same signer from other forms too, and hardware signs in them: v of 0 or 1, a high s,
 * the compact form (EIP-2098), an object of r, s and v, a list of bytes. Gives `undefined` for what is none of these.
 * Whether anybody signed is not told.
 */
export function canonicalSignature(signature: unknown): Hex | undefined {
  const parts = partsOf(signature)
  if (parts === undefined) return undefined
  const { r, s, v } = parts
  if (r <= 0n || r >= ORDER || s <= 0n || s >= ORDER) return undefined
  const parity = v === 27 || v === 28 ? v - 27 : v
  if (parity !== 0 && parity !== 1) return undefined
  const isHigh = s > ORDER / 2n
  const low = isHigh ? ORDER - s : s
  const recovery = isHigh ? 28 - parity : 27 + parity
  return `0x${wordOf(r)}${wordOf(low)}${recovery.toString(16)}`
}

interface Parts {
  r: bigint
  s: bigint
  v: number
}

/** Reads whatever viem reads a signature from. */
function partsOf(signature: unknown): Parts | undefined {
  if (typeof signature === 'string') {
    if (/^0x[0-9a-fA-F]*$/.test(signature)) return partsOfHex(signature.slice(2))
    return partsOfBytes(Buffer.from(signature))
  }
  if (typeof signature !== 'object' || signature === null) return undefined
  if (!('r' in signature && 's' in signature)) {
    return partsOfBytes(signature as ArrayLike<unknown>)
  }
  const { r, s, v, yParity } = signature as Record<string, unknown>
  try {
    return { r: BigInt(r as never), s: BigInt(s as never), v: Number(yParity ?? v) }
  } catch {
    return undefined
  }
}

function partsOfBytes(bytes: ArrayLike<unknown>): Parts | undefined {
  if (bytes.length !== PLAIN_BYTES) return undefined
  const numbers = Array.from(bytes, Number)
  if (!numbers.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)) return undefined
  return partsOfHex(Buffer.from(numbers).toString('hex'))
}

function partsOfHex(digits: string): Parts | undefined {
  const r = digits.slice(0, 64)
  const s = digits.slice(64, 128)
  const v = digits.slice(128)
  if (s.length < 64 || v.length > 2) return undefined
  const parts = { r: BigInt(`0x${r}`), s: BigInt(`0x${s}`) }
  if (v !== '') return { ...parts, v: Number(`0x${v}`) }
  // The compact form keeps the parity in the top bit of s.
  return parts.s >= TOP_BIT ? { r: parts.r, s: parts.s - TOP_BIT, v: 1 } : { ...parts, v: 0 }
}

function wordOf(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}
