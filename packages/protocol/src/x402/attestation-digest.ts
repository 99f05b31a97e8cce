import { type AttestationPayload, attestationDomain, attestationTypes } from './attestation.js'
import { writeHex } from './hex-bytes.js'
import type { Keccak256 } from './keccak.js'

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId)'
const STATEMENT_TYPE = `SettlementAttestation(${attestationTypes.SettlementAttestation.map(({ name, type }) => `${type} ${name}`).join(',')})`
const WORD_BYTES = 32
/** Networks, assets and facilitators are few, and each hash of a text takes microseconds. */
const MAX_KNOWN_TEXTS = 100

/** Makes the function that hashes a statement to its EIP-712 digest of 32 bytes. */
export function createAttestationDigest(
  keccak256: Keccak256,
): (payload: AttestationPayload) => Uint8Array {
  const utf8 = new TextEncoder()
  const hashText = (text: string) => keccak256(utf8.encode(text))
  const domain = keccak256(
    joined([
      hashText(DOMAIN_TYPE),
      hashText(attestationDomain.name),
      hashText(attestationDomain.version),
      toWord(BigInt(attestationDomain.chainId)),
    ]),
  )
  const type = hashText(STATEMENT_TYPE)
  const known = new Map<string, Uint8Array>()

  /** Hashes a text that many statements share. */
  function hashShared(text: string): Uint8Array {
    const found = known.get(text)
    if (found !== undefined) return found
    const hashed = hashText(text)
    if (known.size < MAX_KNOWN_TEXTS) known.set(text, hashed)
    return hashed
  }

  return (payload) => {
    const statement = joined([
      type,
      toWord(BigInt(payload.version)),
      hashShared(payload.network),
      hashText(payload.transaction),
      hashText(payload.payer),
      hashText(payload.payee),
      hashShared(payload.asset),
      toWord(BigInt(payload.amount)),
      hashShared(payload.facilitator),
      toWord(BigInt(payload.facilitatorFee)),
      toWord(BigInt(payload.observedAt)),
    ])
    return keccak256(joined([Uint8Array.of(0x19, 0x01), domain, keccak256(statement)]))
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

function toWord(value: bigint): Uint8Array {
  const word = new Uint8Array(WORD_BYTES)
  writeHex(`0x${value.toString(16).padStart(2 * WORD_BYTES, '0')}`, word, 0, WORD_BYTES)
  return word
}
