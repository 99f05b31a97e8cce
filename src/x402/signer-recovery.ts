import type { Address, Hex } from 'viem'
import { writeHex } from './hex-bytes.js'
import type { Keccak256 } from './keccak.js'
import {
  type PublicKeyRecoveryLoaders,
  publicKeyRecoveryLoaders,
  type RecoverPublicKey,
  type SignerRecoveryImplementation,
  signerRecoveryImplementations,
} from './public-key-recovery.js'

/**
 * The token's own answer to who signed: exactly the signatures `ECRecover.recover(digest, bytes)` of Circle's
 * FiatToken v2.2 accepts (65 bytes, v 27 or 28, s in the lower half, a signer other than zero). Never throws.
 */
export interface SignerRecovery {
  implementation: SignerRecoveryImplementation
  /** The signer in lower case, or `undefined` where the token would revert. */
  recoverSigner(digest: Uint8Array, signature: Hex): Address | undefined
  /** Whether `address`, in either case, signed. */
  signerMatches(digest: Uint8Array, signature: Hex, address: Address): boolean
}

const DIGEST_BYTES = 32
const SIGNATURE_BYTES = 65
const ADDRESS_BYTES = 20

/** Half the order of secp256k1, the highest s the token takes (EIP-2). */
const HALF_ORDER = Buffer.from(
  '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0',
  'hex',
)

/** A digest signed with the private key 1, which a library must recover before it is trusted. */
const knownDigest = new Uint8Array(DIGEST_BYTES).fill(0xa5)
const KNOWN_SIGNATURE =
  '0x80b8b6a6bfbbf71a82539a81500c92771a8fd8f2fa932ae4179d9c57017ec52d396284caa29d8e54593b005cbc6ae256d3c6a874518f77f858c3bd4d27f75e831b'
const KNOWN_SIGNER = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'

/**
 * Loads the fastest library this machine can run, or only `preferred`. One that loads but misjudges a known
 * signature is passed over as well. Rejects with an `AggregateError` of the reasons when none is left.
 */
export async function loadSignerRecovery(
  keccak256: Keccak256,
  preferred?: SignerRecoveryImplementation,
  loaders: PublicKeyRecoveryLoaders = publicKeyRecoveryLoaders,
): Promise<SignerRecovery> {
  const candidates = preferred === undefined ? signerRecoveryImplementations : [preferred]
  const problems: unknown[] = []
  for (const implementation of candidates) {
    try {
      const recover = await loaders[implementation]()
      const recovery = { implementation, ...createSignerRecovery(keccak256, recover) }
      if (recovery.signerMatches(knownDigest, KNOWN_SIGNATURE, KNOWN_SIGNER)) return recovery
      problems.push(new Error(`${implementation} misjudges a known signature`))
    } catch (cause) {
      problems.push(new Error(`${implementation} did not load`, { cause }))
    }
  }
  throw new AggregateError(problems, `no signature recovery among ${candidates.join(', ')}`)
}

function createSignerRecovery(keccak256: Keccak256, recoverPublicKey: RecoverPublicKey) {
  const signatureBytes = new Uint8Array(SIGNATURE_BYTES)
  const compact = signatureBytes.subarray(0, 64)
  const s = signatureBytes.subarray(32, 64)
  const publicKey = new Uint8Array(65)
  const point = publicKey.subarray(1)
  const expected = new Uint8Array(ADDRESS_BYTES)

  const recoverAddress = (digest: Uint8Array, signature: Hex): Uint8Array | undefined => {
    if (digest.length !== DIGEST_BYTES) return undefined
    if (!writeHex(signature, signatureBytes, 0, SIGNATURE_BYTES)) return undefined
    const v = signatureBytes[64]
    if (v !== 27 && v !== 28) return undefined
    if (Buffer.compare(s, HALF_ORDER) > 0) return undefined
    if (!recoverPublicKey(digest, compact, v === 27 ? 0 : 1, publicKey)) return undefined
    const address = keccak256(point).subarray(DIGEST_BYTES - ADDRESS_BYTES)
    return address.every((byte) => byte === 0) ? undefined : address
  }

  return {
    recoverSigner(digest: Uint8Array, signature: Hex): Address | undefined {
      const address = recoverAddress(digest, signature)
      return address && `0x${Buffer.from(address).toString('hex')}`
    },
    signerMatches(digest: Uint8Array, signature: Hex, address: Address): boolean {
      if (!writeHex(address, expected, 0, ADDRESS_BYTES)) return false
      const signer = recoverAddress(digest, signature)
      return signer !== undefined && Buffer.compare(signer, expected) === 0
    },
  }
}
