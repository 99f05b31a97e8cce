import type { Address } from 'viem'
import { permit2Contracts } from './address.js'
import { type Authorization, createWords, WORD_BYTES } from './authorization-digest.js'
import type { Keccak256 } from './keccak.js'

/** The members that a payer signs for Permit2 in addition to the authorization. Addresses are lower-case. */
export interface Permit2Terms {
  token: Address
  /** The proxy that calls Permit2. */
  spender: Address
  /** The address that alone may settle, a relayer or their multicall, which only `upto` has. */
  facilitator?: Address
}

/**
 * Digests a `PermitWitnessTransferFrom` of Permit2 with the witness of x402's proxies to 32 fresh bytes. In the
 * authorization, `to` is the witness's, `value` the permitted amount and `validBefore` one second after the deadline.
 */
type Permit2Digest = (
  chainId: number,
  authorization: Authorization,
  terms: Permit2Terms,
) => Uint8Array

const DOMAIN_TYPE = 'EIP712Domain(string name,uint256 chainId,address verifyingContract)'
const TOKEN_PERMISSIONS_TYPE = 'TokenPermissions(address token,uint256 amount)'
const TRANSFER_FIELDS =
  'PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)'
const EXACT_WITNESS_TYPE = 'Witness(address to,uint256 validAfter)'
const UPTO_WITNESS_TYPE = 'Witness(address to,address facilitator,uint256 validAfter)'

/**
 * Makes the function that computes the digest, over buffers that every call reuses. It throws a `TypeError` for input that
 * no parsed payment holds.
 */
export function createPermit2Digest(keccak256: Keccak256): Permit2Digest {
  const hashText = (text: string) => keccak256(new TextEncoder().encode(text))
  const separators = new Map<number, Uint8Array>()
  const permitted = createWords(3)
  permitted.bytes.set(hashText(TOKEN_PERMISSIONS_TYPE))
  const structOf = (witnessType: string, witnessWords: number) => {
    const witness = createWords(1 + witnessWords)
    witness.bytes.set(hashText(witnessType))
    const struct = createWords(6)
    struct.bytes.set(hashText(`${TRANSFER_FIELDS}${TOKEN_PERMISSIONS_TYPE}${witnessType}`))
    return { witness, struct }
  }
  const exact = structOf(EXACT_WITNESS_TYPE, 2)
  const upto = structOf(UPTO_WITNESS_TYPE, 3)
  const envelope = new Uint8Array(2 + 2 * WORD_BYTES)
  envelope.set([0x19, 0x01])

  function separatorOf(chainId: number): Uint8Array {
    let separator = separators.get(chainId)
    if (separator === undefined) {
      const domain = createWords(4)
      domain.bytes.set(hashText(DOMAIN_TYPE))
      domain.bytes.set(hashText('Permit2'), WORD_BYTES)
      domain.writeUint256(2, 'chainId', BigInt(chainId))
      domain.writeAddress(3, 'verifyingContract', permit2Contracts.permit2)
      separator = keccak256(domain.bytes)
      separators.set(chainId, separator)
    }
    return separator
  }

  return (chainId, { to, value, validAfter, validBefore, nonce }, terms) => {
    const { token, spender, facilitator } = terms
    permitted.writeAddress(1, 'token', token)
    permitted.writeUint256(2, 'value', value)
    const { witness, struct } = facilitator === undefined ? exact : upto
    witness.writeAddress(1, 'to', to)
    if (facilitator !== undefined) witness.writeAddress(2, 'facilitator', facilitator)
    witness.writeUint256(facilitator === undefined ? 2 : 3, 'validAfter', validAfter)
    struct.bytes.set(keccak256(permitted.bytes), WORD_BYTES)
    struct.writeAddress(2, 'spender', spender)
    struct.writeBytes32(3, 'nonce', nonce)
    struct.writeUint256(4, 'deadline', validBefore - 1n)
    struct.bytes.set(keccak256(witness.bytes), 5 * WORD_BYTES)
    envelope.set(separatorOf(chainId), 2)
    envelope.set(keccak256(struct.bytes), 2 + WORD_BYTES)
    return keccak256(envelope)
  }
}
