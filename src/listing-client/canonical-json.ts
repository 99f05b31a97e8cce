import canonicalize from 'canonicalize'
import { type Hex, keccak256, stringToBytes } from 'viem'

/**
 * The one spelling of a JSON value (RFC 8785): sorted keys, no blanks. Throws a `TypeError` for what is not JSON, and
 * for strings that are not Unicode.
 */
export function canonicalJson(value: unknown): string {
  let text: string | undefined
  try {
    text = canonicalize(value)
  } catch (cause) {
    throw new TypeError('the value has no canonical JSON', { cause })
  }
  if (text === undefined) throw new TypeError('the value has no canonical JSON')
  return text
}

/** keccak256 of the UTF-8 of the canonical JSON: how a signed message names its body. */
export function hashBody(body: unknown): Hex {
  return keccak256(stringToBytes(canonicalJson(body)))
}
