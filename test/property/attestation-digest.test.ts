import type { AttestationPayload } from '@arcus/protocol/x402/attestation'
import { createAttestationDigest } from '@arcus/protocol/x402/attestation-digest'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import fc from 'fast-check'
import { type Address, getAddress, type Hex, hashTypedData } from 'viem'
import { beforeAll, expect, it } from 'vitest'
import { draftTypes as types } from '../support/an-attestation.js'

const hex = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)
const address = hex(20).map((bytes): Address => getAddress(bytes))
const decimal = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String)

const statement: fc.Arbitrary<AttestationPayload> = fc.record({
  version: fc.constant(1 as const),
  network: fc.string({ unit: 'grapheme' }),
  transaction: hex(32),
  payer: address,
  payee: address,
  asset: address,
  amount: decimal,
  facilitator: address,
  facilitatorFee: decimal,
  observedAt: decimal,
})

let keccak256: Keccak256

beforeAll(async () => {
  keccak256 = await createKeccak256()
})

it('computes the digest that viem computes, whatever the statement', () => {
  const digest = createAttestationDigest(keccak256)
  fc.assert(
    fc.property(statement, (payload) => {
      const expected = hashTypedData({
        domain: { name: 'x402 receipt', version: '1', chainId: 1 },
        types,
        primaryType: 'SettlementAttestation',
        message: {
          ...payload,
          version: BigInt(payload.version),
          amount: BigInt(payload.amount),
          facilitatorFee: BigInt(payload.facilitatorFee),
          observedAt: BigInt(payload.observedAt),
        },
      })
      expect(`0x${Buffer.from(digest(payload)).toString('hex')}`).toBe(expected)
    }),
    { numRuns: 300 },
  )
})
