import {
  type Authorization,
  computeDomainSeparator,
  createAuthorizationDigest,
  type Eip712Domain,
} from '@arcus/protocol/x402/authorization-digest'
import { authorizationTypes as types } from '@arcus/protocol/x402/authorization-types'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import fc from 'fast-check'
import { type Address, getAddress, type Hex, hashDomain, hashTypedData } from 'viem'
import { beforeAll, expect, it } from 'vitest'

const domainTypes = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
} as const

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((value) => hex(value))

const address = fc
  .tuple(bytes(20), fc.boolean())
  .map(([lower, isChecksummed]): Address => (isChecksummed ? getAddress(lower) : lower))

/** The word boundaries of the fixed buffer, besides the usual spread. */
const uint256 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n }),
  fc.constantFrom(64n, 128n, 192n, 256n).map((bits) => 2n ** bits - 1n),
  fc.constantFrom(0n, 64n, 128n, 192n, 255n).map((bits) => 2n ** bits),
)

const authorization: fc.Arbitrary<Authorization> = fc.record({
  from: address,
  to: address,
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: bytes(32),
})

const domain: fc.Arbitrary<Eip712Domain> = fc.record({
  name: fc.string({ unit: 'grapheme' }),
  version: fc.string({ unit: 'grapheme' }),
  chainId: fc.nat(),
  verifyingContract: address,
})

let keccak256: Keccak256

beforeAll(async () => {
  keccak256 = await createKeccak256()
})

it('computes the domain separator viem computes, whatever the domain', () => {
  fc.assert(
    fc.property(domain, (anyDomain) => {
      const expected = hashDomain({
        domain: { ...anyDomain, chainId: BigInt(anyDomain.chainId) },
        types: domainTypes,
      })
      expect(hex(computeDomainSeparator(keccak256, anyDomain))).toBe(expected)
    }),
  )
})

it('computes the digest viem computes, whatever the domain and the authorization', () => {
  const digest = createAuthorizationDigest(keccak256)
  fc.assert(
    fc.property(domain, authorization, (anyDomain, message) => {
      const expected = hashTypedData({
        domain: { ...anyDomain, chainId: BigInt(anyDomain.chainId) },
        types: { ...domainTypes, ...types },
        primaryType: 'TransferWithAuthorization',
        message: { ...message },
      })
      expect(hex(digest(computeDomainSeparator(keccak256, anyDomain), message))).toBe(expected)
    }),
    { numRuns: 300 },
  )
})
