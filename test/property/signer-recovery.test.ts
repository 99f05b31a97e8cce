import {
  type Authorization,
  type AuthorizationDigest,
  computeDomainSeparator,
  createAuthorizationDigest,
  type Eip712Domain,
} from '@arcus/protocol/x402/authorization-digest'
import { authorizationTypes as types } from '@arcus/protocol/x402/authorization-types'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import fc from 'fast-check'
import {
  type Address,
  type Hex,
  isAddressEqual,
  numberToHex,
  parseSignature,
  recoverAddress,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, expect, it } from 'vitest'
import {
  loadSignerRecovery,
  type SignerRecovery,
  signerRecoveryImplementations,
} from '../../src/chain/signer-recovery.js'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const FIELD = 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn
const UINT256_MAX = 2n ** 256n - 1n

const domain: Eip712Domain = {
  name: 'USDC',
  version: '2',
  chainId: 5042,
  verifyingContract: '0x3600000000000000000000000000000000000000',
}

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(hex)
const word = (value: bigint) => numberToHex(value, { size: 32 }).slice(2)

const uint256 = fc.bigInt({ min: 0n, max: UINT256_MAX })
const privateKey = fc
  .bigInt({ min: 1n, max: ORDER - 1n })
  .map((value): Hex => numberToHex(value, { size: 32 }))

const unsigned = fc.record({
  to: bytes(20),
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: bytes(32),
})

let implementations: SignerRecovery[]
let digestOf: AuthorizationDigest
let separatorOf: (domain: Eip712Domain) => Uint8Array

beforeAll(async () => {
  const keccak256 = await createKeccak256()
  digestOf = createAuthorizationDigest(keccak256)
  separatorOf = (ofDomain) => computeDomainSeparator(keccak256, ofDomain)
  implementations = await Promise.all(
    signerRecoveryImplementations.map((name) => loadSignerRecovery(keccak256, name)),
  )
})

it('accepts and refuses random and mutated signatures as the token does, in every implementation', async () => {
  await fc.assert(
    fc.asyncProperty(privateKey, unsigned, mutation, async (key, fields, mutate) => {
      const { authorization, signature: original } = await signed(key, fields)
      const signature = mutate(original)
      const digest = digestOf(separatorOf(domain), authorization)
      const expected = await recoverAsToken(digest, signature)
      for (const { recoverSigner, signerMatches } of implementations) {
        expect(recoverSigner(digest, signature)).toBe(expected)
        const matches = expected !== undefined && isAddressEqual(expected, authorization.from)
        expect(signerMatches(digest, signature, authorization.from)).toBe(matches)
      }
    }),
    { numRuns: 150, examples: edges().map((mutate) => [oneKey, oneMessage, mutate]) },
  )
})

const oneKey: Hex = `0x${'5a'.repeat(32)}`
const oneMessage = {
  to: domain.verifyingContract,
  value: 1n,
  validAfter: 0n,
  validBefore: UINT256_MAX,
  nonce: oneKey,
}
const scalarEdges = [0n, 1n, 5n, ORDER / 2n, ORDER / 2n + 1n, ORDER - 1n, ORDER, ORDER + 1n]
const withR = (r: bigint) => (valid: Hex) => `0x${word(r)}${valid.slice(66)}` as Hex
const withS = (s: bigint) => (valid: Hex) =>
  `${valid.slice(0, 66)}${word(s)}${valid.slice(-2)}` as Hex
const withV = (v: number) => (valid: Hex) => `${valid.slice(0, -2)}${byteHex(v)}` as Hex
const scalar = fc.oneof(fc.constantFrom(...scalarEdges, UINT256_MAX), uint256)
const parityByte = fc.oneof(fc.constantFrom(0, 1, 26, 27, 28, 29), fc.nat(255))
const byteHex = (value: number) => value.toString(16).padStart(2, '0')

/** The changes that an adversary or a careless wallet makes to a signature. */
const mutation: fc.Arbitrary<(signature: Hex) => Hex> = fc.oneof(
  bytes(65).map((random) => () => random),
  fc.tuple(bytes(64), fc.constantFrom('1b', '1c')).map(
    ([rs, v]) =>
      () =>
        `${rs}${v}` as Hex,
  ),
  parityByte.map(withV),
  scalar.map(withR),
  scalar.map(withS),
  fc.constant(mirror),
  fc.nat(519).map((bit) => (valid: Hex) => flipBit(valid, bit)),
  fc.nat(64).map((length) => (valid: Hex) => valid.slice(0, 2 + 2 * length) as Hex),
  bytes(1).map((tail) => (valid: Hex) => `${valid}${tail.slice(2)}` as Hex),
)

/** Each edge once, whatever else is drawn. */
function edges() {
  const scalars = [...scalarEdges, FIELD - 1n, FIELD, FIELD + 1n, UINT256_MAX]
  return [
    ...[...scalars.map(withR), ...scalars.map(withS), mirror],
    ...Array.from({ length: 256 }, (_, v) => withV(v)),
    ...[64, 66].map((length) => (valid: Hex) => `${valid}00`.slice(0, 2 + 2 * length) as Hex),
  ]
}

/** The other signature of the same key over the same digest: s negated, parity turned. */
function mirror(valid: Hex): Hex {
  const { r, s, yParity } = parseSignature(valid)
  return `0x${r.slice(2)}${word(ORDER - BigInt(s))}${yParity === 0 ? '1c' : '1b'}`
}

function flipBit(valid: Hex, bit: number): Hex {
  const flipped = Buffer.from(valid.slice(2), 'hex')
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return hex(flipped)
}

/** `ECRecover.recover(digest, bytes)` of FiatToken v2.2, restated over viem. */
async function recoverAsToken(digest: Uint8Array, signature: Hex): Promise<Address | undefined> {
  if (signature.length !== 2 + 65 * 2) return undefined
  if (BigInt(`0x${signature.slice(66, 130)}`) > ORDER / 2n) return undefined
  if (!['1b', '1c'].includes(signature.slice(130))) return undefined
  try {
    return (await recoverAddress({ hash: digest, signature })).toLowerCase() as Address
  } catch {
    return undefined
  }
}

async function signed(key: Hex, fields: Omit<Authorization, 'from'>) {
  const account = privateKeyToAccount(key)
  const authorization: Authorization = { from: account.address, ...fields }
  const signature = await account.signTypedData({
    domain,
    types,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization },
  })
  return { authorization, signature }
}
