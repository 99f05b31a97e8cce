import { createRequire } from 'node:module'
import { writeHex } from '@arcus/protocol/x402/hex-bytes'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import type { Address, Hex } from 'viem'

/**
 * Recovers signers as the token does: it accepts exactly the signatures that `ECRecover.recover(digest, bytes)` of Circle's
 * FiatToken v2.2 accepts (65 bytes, v 27 or 28, s in the lower half, a signer other than zero). Never throws.
 */
export interface SignerRecovery {
  implementation: SignerRecoveryImplementation
  /** Returns the signer in lower case, or `undefined` where the token would revert. */
  recoverSigner(digest: Uint8Array, signature: Hex): Address | undefined
  /** Returns whether `address`, in either case, signed. */
  signerMatches(digest: Uint8Array, signature: Hex, address: Address): boolean
}

const DIGEST_BYTES = 32
const SIGNATURE_BYTES = 65
const ADDRESS_BYTES = 20

/** Half the order of secp256k1, the highest s the token accepts (EIP-2). */
const HALF_ORDER = Buffer.from(
  '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0',
  'hex',
)

/** A digest signed with the private key 1; a library must recover its signer before it is trusted. */
const knownDigest = new Uint8Array(DIGEST_BYTES).fill(0xa5)
const KNOWN_SIGNATURE =
  '0x80b8b6a6bfbbf71a82539a81500c92771a8fd8f2fa932ae4179d9c57017ec52d396284caa29d8e54593b005cbc6ae256d3c6a874518f77f858c3bd4d27f75e831b'
const KNOWN_SIGNER = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'

/**
 * Loads the fastest library this machine can run, or only `preferred`. A library that loads but fails on a known
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
      problems.push(new Error(`${implementation} fails on a known signature`))
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

/**
 * Recovers the key behind an ECDSA signature into `publicKey` (65 bytes, uncompressed); returns `false` when there is
 * none. `compact` is r and s, `parity` that of the ephemeral point's y. Never throws.
 */
export type RecoverPublicKey = (
  digest: Uint8Array,
  compact: Uint8Array,
  parity: 0 | 1,
  publicKey: Uint8Array,
) => boolean

/** The libraries that can recover, fastest first: about 50 and 1,600 microseconds a signature. */
export const signerRecoveryImplementations = ['secp256k1-native', 'noble'] as const

type SignerRecoveryImplementation = (typeof signerRecoveryImplementations)[number]

/** Loads each library; a loader rejects where this machine cannot run its library. */
type PublicKeyRecoveryLoaders = Record<
  SignerRecoveryImplementation,
  () => Promise<RecoverPublicKey>
>

const require = createRequire(import.meta.url)

export const publicKeyRecoveryLoaders: PublicKeyRecoveryLoaders = {
  'secp256k1-native': async () => {
    // Where no binary fits, the package's entry silently falls back to slow JavaScript; its bindings throw instead.
    const { ecdsaRecover } = require('secp256k1/bindings') as typeof import('secp256k1')
    return (digest, compact, parity, publicKey) =>
      succeeds(() => ecdsaRecover(compact, parity, digest, false, publicKey))
  },

  noble: async () => {
    // This is the copy that viem uses: it is viem's dependency, not ours, and viem's own recovery is asynchronous.
    const requireFromViem = createRequire(require.resolve('viem'))
    const { secp256k1 } = requireFromViem('@noble/curves/secp256k1') as NobleCurve
    return (digest, compact, parity, publicKey) =>
      succeeds(() => {
        const signature = secp256k1.Signature.fromCompact(compact).addRecoveryBit(parity)
        return signature.recoverPublicKey(digest).toRawBytes(false)
      }, publicKey)
  },
}

/** The part of the noble curve that is used here. */
interface NobleCurve {
  secp256k1: {
    Signature: {
      fromCompact(compact: Uint8Array): {
        addRecoveryBit(parity: number): {
          recoverPublicKey(digest: Uint8Array): { toRawBytes(isCompressed: boolean): Uint8Array }
        }
      }
    }
  }
}

/** Calls a library, which throws for a signature without a key (r or s of zero or past the order, r not on the curve). */
function succeeds(recover: () => Uint8Array, publicKey?: Uint8Array): boolean {
  try {
    const recovered = recover()
    publicKey?.set(recovered)
    return true
  } catch {
    return false
  }
}
