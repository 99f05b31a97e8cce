import type { Address, Hex } from 'viem'
import { writeHex } from './hex-bytes.js'
import type { Keccak256 } from './keccak.js'

/** The message a payer signs (EIP-3009): times in Unix seconds, value in atomic units, nonce of 32 bytes. */
export interface Authorization {
  from: Address
  to: Address
  value: bigint
  validAfter: bigint
  validBefore: bigint
  nonce: Hex
}

/** The domain of an EIP-3009 token (EIP-712, without salt). */
export interface Eip712Domain {
  name: string
  version: string
  chainId: number
  verifyingContract: Address
}

/** Digests one authorization under a domain separator to 32 fresh bytes. */
export type AuthorizationDigest = (
  domainSeparator: Uint8Array,
  authorization: Authorization,
) => Uint8Array

const DOMAIN_TYPE =
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
const AUTHORIZATION_TYPE =
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'

export const WORD_BYTES = 32
const ADDRESS_BYTES = 20
const ADDRESS_PADDING_BYTES = WORD_BYTES - ADDRESS_BYTES
const UINT64_MASK = 2n ** 64n - 1n
const UINT256_MAX = 2n ** 256n - 1n

/** Hashes an EIP-712 domain to its 32-byte separator. It is needed once per token, not per payment. */
export function computeDomainSeparator(keccak256: Keccak256, domain: Eip712Domain): Uint8Array {
  const text = new TextEncoder()
  const words = createWords(5)
  words.bytes.set(keccak256(text.encode(DOMAIN_TYPE)), 0)
  words.bytes.set(keccak256(text.encode(domain.name)), WORD_BYTES)
  words.bytes.set(keccak256(text.encode(domain.version)), 2 * WORD_BYTES)
  words.writeUint256(3, 'chainId', BigInt(domain.chainId))
  words.writeAddress(4, 'verifyingContract', domain.verifyingContract)
  return keccak256(words.bytes)
}

/**
 * Makes the function that hashes a `TransferWithAuthorization` to its EIP-712 digest, over buffers that every call
 * reuses. Addresses may be in either case; checksums are not checked. The function throws a `TypeError` for input that
 * no parsed authorization holds: a field of another length, digits that are not hexadecimal, a number outside uint256.
 */
export function createAuthorizationDigest(keccak256: Keccak256): AuthorizationDigest {
  const struct = createWords(7)
  struct.bytes.set(keccak256(new TextEncoder().encode(AUTHORIZATION_TYPE)), 0)
  const envelope = new Uint8Array(2 + 2 * WORD_BYTES)
  envelope.set([0x19, 0x01], 0)

  return (domainSeparator, authorization) => {
    if (domainSeparator.length !== WORD_BYTES) throw new TypeError('domain separator: not 32 bytes')
    struct.writeAddress(1, 'from', authorization.from)
    struct.writeAddress(2, 'to', authorization.to)
    struct.writeUint256(3, 'value', authorization.value)
    struct.writeUint256(4, 'validAfter', authorization.validAfter)
    struct.writeUint256(5, 'validBefore', authorization.validBefore)
    struct.writeBytes32(6, 'nonce', authorization.nonce)
    envelope.set(domainSeparator, 2)
    envelope.set(keccak256(struct.bytes), 2 + WORD_BYTES)
    return keccak256(envelope)
  }
}

/** Makes a reusable run of ABI words. The upper bytes of an address word are never written, so they stay zero. */
export function createWords(count: number) {
  const bytes = new Uint8Array(count * WORD_BYTES)
  const view = new DataView(bytes.buffer)
  return {
    bytes,
    writeAddress(word: number, field: string, address: Address) {
      const offset = word * WORD_BYTES + ADDRESS_PADDING_BYTES
      if (!writeHex(address, bytes, offset, ADDRESS_BYTES)) {
        throw new TypeError(`${field}: not an address of 20 bytes`)
      }
    },
    writeBytes32(word: number, field: string, hex: Hex) {
      if (!writeHex(hex, bytes, word * WORD_BYTES, WORD_BYTES)) {
        throw new TypeError(`${field}: not 32 bytes of hexadecimal`)
      }
    },
    writeUint256(word: number, field: string, value: bigint) {
      if (value < 0n || value > UINT256_MAX) throw new TypeError(`${field}: outside uint256`)
      const offset = word * WORD_BYTES
      // Nearly every amount and time fits in the last eight bytes, and each bigint shift allocates.
      const isSmall = value <= UINT64_MASK
      view.setBigUint64(offset, isSmall ? 0n : value >> 192n)
      view.setBigUint64(offset + 8, isSmall ? 0n : (value >> 128n) & UINT64_MASK)
      view.setBigUint64(offset + 16, isSmall ? 0n : (value >> 64n) & UINT64_MASK)
      view.setBigUint64(offset + 24, isSmall ? value : value & UINT64_MASK)
    },
  }
}
