import { type AttestationPayload, attestationDomain, attestationTypes } from './attestation.js'
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
  const hashText = (text: string) => keccak256(Buffer.from(text))
  const domain = keccak256(
    Buffer.concat([
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
    const statement = Buffer.concat([
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
    return keccak256(Buffer.concat([Buffer.of(0x19, 0x01), domain, keccak256(statement)]))
  }
}

function toWord(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * WORD_BYTES, '0'), 'hex')
}
