import type { Hex } from 'viem'

/** The order of secp256k1. Of s and its negative, contracts accept the lower one (EIP-2). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const TOP_BIT = 1n << 255n
const PLAIN_BYTES = 65

/**
 * Returns an ECDSA signature in the one form that contracts accept: 65 bytes, v of 27 or 28, s in the lower half.
 * Libraries off chain recover the same signer from other forms too, and hardware wallets sign in them: v of 0 or 1, a high
 * s, the compact form (EIP-2098), an object of r, s and v, a list of bytes. Returns `undefined` for anything else. It does
 * not check who signed.
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

/** Reads every form that viem accepts as a signature. */
function partsOf(signature: unknown): Parts | undefined {
  if (typeof signature === 'string') {
    if (/^0x[0-9a-fA-F]*$/.test(signature)) return partsOfHex(signature.slice(2))
    return partsOfBytes(new TextEncoder().encode(signature))
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
  return partsOfHex(numbers.map((byte) => byte.toString(16).padStart(2, '0')).join(''))
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

/** The end of every signature that is wrapped for a wallet not deployed yet (ERC-6492). */
const MAGIC = '6492'.repeat(16)

const WORD_DIGITS = 64
/** The head words: factory, offset of the factory's calldata, offset of the signature. */
const HEAD_WORDS = 3
const ADDRESS_WORD = /^0{24}/
/** Request bodies are below 4 GiB, so an offset with more than eight digits points past the end. */
const SMALL_WORD = /^0{56}.{8}$/
const NOT_HEX = /[^0-9a-f]/i

/** Returns whether a signature is marked as wrapped by ERC-6492; it may still be malformed. */
export function isErc6492Signature(signature: Hex): boolean {
  return signature.endsWith(MAGIC)
}

/**
 * Takes the wallet's own signature out of its ERC-6492 wrapper: `abi.encode(address factory, bytes factoryCalldata,
 * bytes signature)`, followed by the magic word. Removes one layer. Returns `undefined` for a signature that is not
 * wrapped or not decodable. Never throws.
 */
export function unwrapErc6492Signature(signature: Hex): Hex | undefined {
  if (!signature.startsWith('0x') || !isErc6492Signature(signature)) return undefined
  const encoded = signature.slice(2, -MAGIC.length)
  if (encoded.length % 2 !== 0 || NOT_HEX.test(encoded)) return undefined
  if (encoded.length < HEAD_WORDS * WORD_DIGITS) return undefined
  if (!ADDRESS_WORD.test(encoded.slice(0, WORD_DIGITS))) return undefined
  if (readBytes(encoded, 1) === undefined) return undefined
  const inner = readBytes(encoded, 2)
  return inner === undefined ? undefined : `0x${inner}`
}

/** Reads the digits of the `bytes` argument whose offset is in head word `index`. */
function readBytes(encoded: string, index: number): string | undefined {
  const offset = readSmallWord(encoded, index * WORD_DIGITS)
  if (offset === undefined) return undefined
  const start = offset * 2 + WORD_DIGITS
  const length = readSmallWord(encoded, offset * 2)
  if (length === undefined || start + length * 2 > encoded.length) return undefined
  return encoded.slice(start, start + length * 2)
}

function readSmallWord(encoded: string, position: number): number | undefined {
  const word = encoded.slice(position, position + WORD_DIGITS)
  return SMALL_WORD.test(word) ? Number.parseInt(word, 16) : undefined
}
