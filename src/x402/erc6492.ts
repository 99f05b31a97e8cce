import type { Hex } from 'viem'

/** Ends every signature wrapped for a wallet that is not deployed yet (ERC-6492). */
const MAGIC = '6492'.repeat(16)

const WORD_DIGITS = 64
/** Offsets of factory, factory calldata and signature. */
const HEAD_WORDS = 3
const ADDRESS_WORD = /^0{24}/
/** No body holds 4 GiB, so a word with more than its last eight digits points past the end. */
const SMALL_WORD = /^0{56}.{8}$/
const NOT_HEX = /[^0-9a-f]/i

/** Whether a signature says of itself that it is ERC-6492 wrapped; it may still be malformed. */
export function isErc6492Signature(signature: Hex): boolean {
  return signature.endsWith(MAGIC)
}

/**
 * Takes the wallet's own signature out of its ERC-6492 wrapper, `abi.encode(address factory, bytes factoryCalldata,
 * bytes signature)` and the magic word. One layer; `undefined` when unwrapped or not decodable. Never throws.
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

/** The digits of the `bytes` argument whose offset stands in head word `index`. */
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
