import {
  type Authorization,
  type AuthorizationDigest,
  computeDomainSeparator,
  createAuthorizationDigest,
  type Eip712Domain,
} from '@arcus/protocol/x402/authorization-digest'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import { beforeAll, describe, expect, it } from 'vitest'

const arcUsdc: Eip712Domain = {
  name: 'USDC',
  version: '2',
  chainId: 5042,
  verifyingContract: '0x3600000000000000000000000000000000000000',
}

const authorization: Authorization = {
  from: '0x8ba1f109551bd432803012645ac136ddd64dba72',
  to: '0xca11bde05977b3631167028862be2a173976ca11',
  value: 10_000n,
  validAfter: 0n,
  validBefore: 1_793_000_000n,
  nonce: `0x${'c0ffee'.padStart(64, '0')}`,
}

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`

let keccak256: Keccak256
let domainSeparator: Uint8Array
let digest: AuthorizationDigest

beforeAll(async () => {
  keccak256 = await createKeccak256()
  domainSeparator = computeDomainSeparator(keccak256, arcUsdc)
  digest = createAuthorizationDigest(keccak256)
})

describe('computeDomainSeparator', () => {
  it('equals DOMAIN_SEPARATOR() of the stablecoin on Arc', () => {
    expect(hex(domainSeparator)).toBe(
      '0x940506929bba468048a19b567f4f0d534714bc06604b5c3017e5d16785ccdf84',
    )
  })

  it('equals DOMAIN_SEPARATOR() of the stablecoin on Arc Testnet', () => {
    expect(hex(computeDomainSeparator(keccak256, { ...arcUsdc, chainId: 5042002 }))).toBe(
      '0x361191522483d32a83e70ae7183b4b9629442c13a78bc9921d6f707911c8c6b0',
    )
  })

  it('refuses a verifying contract that is not an address', () => {
    expect(() =>
      computeDomainSeparator(keccak256, { ...arcUsdc, verifyingContract: '0x36' }),
    ).toThrow('verifyingContract: not an address of 20 bytes')
  })
})

describe('createAuthorizationDigest', () => {
  it('forgets an authorization it threw at half way', () => {
    const before = digest(domainSeparator, authorization)
    expect(() => digest(domainSeparator, { ...authorization, value: 7n, nonce: '0x00' })).toThrow(
      TypeError,
    )
    expect(digest(domainSeparator, authorization)).toEqual(before)
  })

  it.each<[string, Partial<Authorization>, string]>([
    ['a payer one byte short', { from: `0x${'11'.repeat(19)}` }, 'from: not an address'],
    ['a recipient one byte over', { to: `0x${'11'.repeat(21)}` }, 'to: not an address'],
    ['a value below zero', { value: -1n }, 'value: outside uint256'],
    ['a time past uint256', { validBefore: 2n ** 256n }, 'validBefore: outside uint256'],
    ['a nonce of 31 bytes', { nonce: `0x${'11'.repeat(31)}` }, 'nonce: not 32 bytes'],
    ['a nonce of 33 bytes', { nonce: `0x${'11'.repeat(33)}` }, 'nonce: not 32 bytes'],
    ['a nonce that is not hexadecimal', { nonce: `0x${'zz'.repeat(32)}` }, 'nonce: not 32 bytes'],
  ])('refuses %s', (_, altered, message) => {
    expect(() => digest(domainSeparator, { ...authorization, ...altered })).toThrow(message)
  })

  it('refuses a domain separator of another length', () => {
    expect(() => digest(new Uint8Array(31), authorization)).toThrow(
      'domain separator: not 32 bytes',
    )
  })
})
