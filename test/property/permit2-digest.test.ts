import { permit2Contracts } from '@arcus/protocol/x402/address'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { createPermit2Digest } from '@arcus/protocol/x402/permit2-digest'
import { permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import fc from 'fast-check'
import { type Address, type Hex, hashTypedData } from 'viem'
import { expect, it } from 'vitest'

const bytes = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((value): Hex => `0x${Buffer.from(value).toString('hex')}`)
const address = bytes(20) as fc.Arbitrary<Address>
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

const signed = fc.record({
  chainId: fc.nat(),
  authorization: fc.record({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256.map((deadline) => deadline + 1n),
    nonce: bytes(32),
  }),
  token: address,
  spender: address,
  facilitator: fc.option(address, { nil: undefined }),
})

it('computes the digest that the official client signs, for both proxies', async () => {
  const digest = createPermit2Digest(await createKeccak256())
  fc.assert(
    fc.property(signed, ({ chainId, authorization, token, spender, facilitator }) => {
      const { to, value, validAfter, validBefore, nonce } = authorization
      const domain = { name: 'Permit2', chainId, verifyingContract: permit2Contracts.permit2 }
      const message = {
        permitted: { token, amount: value },
        spender,
        nonce: BigInt(nonce),
        deadline: validBefore - 1n,
        witness: { to, validAfter, ...(facilitator && { facilitator }) },
      }
      const expected = hashTypedData({
        domain,
        types: facilitator === undefined ? permit2WitnessTypes : uptoPermit2WitnessTypes,
        primaryType: 'PermitWitnessTransferFrom',
        message: message as never,
      })
      const terms = { token, spender, ...(facilitator && { facilitator }) }
      const found = Buffer.from(digest(chainId, authorization, terms)).toString('hex')
      expect(`0x${found}`).toBe(expected)
    }),
    { numRuns: 300 },
  )
})
