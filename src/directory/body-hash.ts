import { bytesToHex, type Hex, stringToBytes } from 'viem'
import { canonicalJson } from '../listing-client/canonical-json.js'
import type { Keccak256 } from '../x402/keccak.js'
import { WriteFault } from './write-codes.js'

/** The canonical text of a body whose hash was signed. Throws a `WriteFault` for any other body. */
export function checkBodyHash(body: unknown, bodyHash: Hex, keccak256: Keccak256): string {
  const text = canonicalJson(body)
  if (bytesToHex(keccak256(stringToBytes(text))) === bodyHash) return text
  const sentence =
    'The body is not the one that was signed: message.bodyHash must be the keccak256 of its canonical JSON (RFC 8785).'
  throw new WriteFault('bodyMismatch', sentence)
}
