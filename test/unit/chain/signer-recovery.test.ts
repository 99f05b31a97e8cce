import { createRequire } from 'node:module'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import { type Hex, numberToHex, parseSignature } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  loadSignerRecovery,
  publicKeyRecoveryLoaders,
  type RecoverPublicKey,
  type SignerRecovery,
  signerRecoveryImplementations,
} from '../../../src/chain/signer-recovery.js'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const HALF_ORDER = ORDER / 2n

const privateKey: Hex = `0x${'5a'.repeat(32)}`
const payer = privateKeyToAccount(privateKey).address
const digest = new Uint8Array(32).map((_, index) => index * 7)

const word = (value: bigint) => numberToHex(value, { size: 32 }).slice(2)
const compose = (r: bigint, s: bigint, v: number): Hex =>
  `0x${word(r)}${word(s)}${v.toString(16).padStart(2, '0')}`

let keccak256: Keccak256
let signature: Hex
let r: bigint
let s: bigint
let v: 27 | 28

beforeAll(async () => {
  keccak256 = await createKeccak256()
  signature = await sign({
    hash: `0x${Buffer.from(digest).toString('hex')}`,
    privateKey,
    to: 'hex',
  })
  const parsed = parseSignature(signature)
  r = BigInt(parsed.r)
  s = BigInt(parsed.s)
  v = parsed.yParity === 0 ? 27 : 28
})

describe.each(signerRecoveryImplementations)('signer recovery by %s', (implementation) => {
  let recovery: SignerRecovery

  beforeAll(async () => {
    recovery = await loadSignerRecovery(keccak256, implementation)
  })

  it('says which library it runs on', () => {
    expect(recovery.implementation).toBe(implementation)
  })

  it('recovers the signer in lower case', () => {
    expect(recovery.recoverSigner(digest, signature)).toBe(payer.toLowerCase())
  })

  it('reads a signature in upper-case digits', () => {
    const shouted: Hex = `0x${signature.slice(2).toUpperCase()}`
    expect(recovery.recoverSigner(digest, shouted)).toBe(payer.toLowerCase())
  })

  it('matches the signer, checksummed or not, and nobody else', () => {
    expect(recovery.signerMatches(digest, signature, payer)).toBe(true)
    expect(recovery.signerMatches(digest, signature, payer.toLowerCase() as Hex)).toBe(true)
    expect(recovery.signerMatches(digest, signature, `0x${'00'.repeat(20)}`)).toBe(false)
    expect(recovery.signerMatches(digest, signature, `${payer.slice(0, -1)}z` as Hex)).toBe(false)
    expect(recovery.signerMatches(digest, signature, payer.slice(0, -2) as Hex)).toBe(false)
  })

  it('takes v 27 and 28 and no other spelling of the parity', () => {
    const accepted = Array.from({ length: 256 }, (_, candidate) => candidate).filter(
      (candidate) => recovery.recoverSigner(digest, compose(r, s, candidate)) !== undefined,
    )
    expect(accepted).toEqual([27, 28])
    expect(recovery.signerMatches(digest, compose(r, s, v), payer)).toBe(true)
    expect(recovery.signerMatches(digest, compose(r, s, v === 27 ? 28 : 27), payer)).toBe(false)
  })

  it('refuses a signature whose key would be the point at infinity', () => {
    expect(recovery.recoverSigner(digest, infinitySignature(digest))).toBeUndefined()
  })

  it.each<[string, (signature: Hex) => string]>([
    ['nothing', () => ''],
    ['half a byte less', (valid) => valid.slice(0, -1)],
    ['no prefix', (valid) => `00${valid.slice(2)}`],
    ['a digit that is none', (valid) => valid.replace(/.$/, 'x')],
  ])('refuses a signature of %s', (_, alter) => {
    expect(recovery.recoverSigner(digest, alter(signature) as Hex)).toBeUndefined()
    expect(recovery.signerMatches(digest, alter(signature) as Hex, payer)).toBe(false)
  })

  it.each([0, 31, 33])('refuses a digest of %i bytes', (length) => {
    expect(recovery.recoverSigner(new Uint8Array(length), signature)).toBeUndefined()
  })

  it('carries nothing over from a refused signature', () => {
    recovery.recoverSigner(digest, compose(r, 0n, v))
    recovery.recoverSigner(digest, '0xffff')
    expect(recovery.signerMatches(digest, signature, payer)).toBe(true)
    recovery.recoverSigner(digest, compose(5n, s, v))
    expect(recovery.signerMatches(digest, compose(5n, s, v), payer)).toBe(false)
  })
})

describe('loadSignerRecovery', () => {
  const fails = () => Promise.reject(new Error('no binary for this machine'))
  const misjudges = () => Promise.resolve<RecoverPublicKey>(() => true)

  it('passes over a library that does not load', async () => {
    const loaders = { ...publicKeyRecoveryLoaders, 'secp256k1-native': fails }
    const recovery = await loadSignerRecovery(keccak256, undefined, loaders)
    expect(recovery.implementation).toBe('noble')
    expect(recovery.signerMatches(digest, signature, payer)).toBe(true)
  })

  it('passes over a library that loads and fails on a known signature', async () => {
    const loaders = { ...publicKeyRecoveryLoaders, 'secp256k1-native': misjudges }
    const recovery = await loadSignerRecovery(keccak256, undefined, loaders)
    expect(recovery.implementation).toBe('noble')
  })

  it('tries only the preferred library, and says why it failed', async () => {
    const loaders = { ...publicKeyRecoveryLoaders, noble: fails }
    await expect(loadSignerRecovery(keccak256, 'noble', loaders)).rejects.toMatchObject({
      message: 'no signature recovery among noble',
      errors: [{ message: 'noble did not load', cause: { message: 'no binary for this machine' } }],
    })
  })
})

/** For an ephemeral secret k of 1, R is the generator and s = z makes s·R - z·G vanish. */
function infinitySignature(digest: Uint8Array): Hex {
  const requireFromViem = createRequire(createRequire(import.meta.url).resolve('viem'))
  const { secp256k1 } = requireFromViem('@noble/curves/secp256k1')
  const z = BigInt(`0x${Buffer.from(digest).toString('hex')}`)
  expect(z < HALF_ORDER).toBe(true)
  const { x, y } = secp256k1.ProjectivePoint.BASE.toAffine()
  return compose(x, z, y % 2n === 0n ? 27 : 28)
}
