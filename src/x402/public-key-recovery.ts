import { createRequire } from 'node:module'

/**
 * Recovers the key behind an ECDSA signature into `publicKey` (65 bytes, uncompressed); false when there is none.
 * `compact` is r and s, `parity` that of the ephemeral point's y. Never throws.
 */
export type RecoverPublicKey = (
  digest: Uint8Array,
  compact: Uint8Array,
  parity: 0 | 1,
  publicKey: Uint8Array,
) => boolean

/** The libraries able to recover, fastest first: about 50, 200 and 1,600 microseconds a signature. */
export const signerRecoveryImplementations = [
  'secp256k1-native',
  'tiny-secp256k1-wasm',
  'noble',
] as const

export type SignerRecoveryImplementation = (typeof signerRecoveryImplementations)[number]

/** How each library is loaded; rejects where this machine cannot. */
export type PublicKeyRecoveryLoaders = Record<
  SignerRecoveryImplementation,
  () => Promise<RecoverPublicKey>
>

const require = createRequire(import.meta.url)

/** The loaders of the real libraries. */
export const publicKeyRecoveryLoaders: PublicKeyRecoveryLoaders = {
  'secp256k1-native': async () => {
    // The package's own entry falls back to slow JavaScript in silence where no binary fits; its bindings say so.
    const { ecdsaRecover } = require('secp256k1/bindings') as typeof import('secp256k1')
    return (digest, compact, parity, publicKey) =>
      succeeds(() => ecdsaRecover(compact, parity, digest, false, publicKey))
  },

  'tiny-secp256k1-wasm': async () => {
    const { recover } = await import('tiny-secp256k1')
    return (digest, compact, parity, publicKey) =>
      succeeds(() => recover(digest, compact, parity, false), publicKey)
  },

  noble: async () => {
    // The very copy viem uses: it is viem's dependency, not ours, and viem's own recovery is asynchronous.
    const requireFromViem = createRequire(require.resolve('viem'))
    const { secp256k1 } = requireFromViem('@noble/curves/secp256k1') as NobleCurve
    return (digest, compact, parity, publicKey) =>
      succeeds(() => {
        const signature = secp256k1.Signature.fromCompact(compact).addRecoveryBit(parity)
        return signature.recoverPublicKey(digest).toRawBytes(false)
      }, publicKey)
  },
}

/** What is used of the noble curve. */
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

/** All three libraries throw for a signature that has no key (r or s of zero or past the order, r not on the curve). */
function succeeds(recover: () => Uint8Array | null, publicKey?: Uint8Array): boolean {
  try {
    const recovered = recover()
    if (recovered === null) return false
    publicKey?.set(recovered)
    return true
  } catch {
    return false
  }
}
