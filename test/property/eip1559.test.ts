import fc from 'fast-check'
import { bytesToHex, type Hex, serializeTransaction } from 'viem'
import { describe, expect, it } from 'vitest'
import { encodeTransaction } from '../../src/relayer/signer.js'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const asHex = (value: Uint8Array): Hex => bytesToHex(value)

const transaction = fc.record({
  chainId: fc.integer({ min: 1, max: 2 ** 31 }),
  nonce: fc.oneof(fc.constantFrom(0, 1, 127, 128, 255, 256), fc.nat()),
  to: bytes(20).map(asHex),
  data: fc
    .oneof(fc.uint8Array({ maxLength: 70 }), fc.uint8Array({ minLength: 200, maxLength: 70_000 }))
    .map(asHex),
  gasLimit: fc.bigInt({ min: 0n, max: 2n ** 64n }),
  maxFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 80n }),
  maxPriorityFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 80n }),
})

/** Now and then a word begins with zeros, which RLP leaves out. */
const word = fc.tuple(fc.nat({ max: 4 }), bytes(32)).map(([zeros, value]) => {
  value.fill(0, 0, zeros)
  value[31] = 1
  return value
})

describe('encodeTransaction', () => {
  it('writes the bytes that viem writes, before and after signing', () => {
    fc.assert(
      fc.property(transaction, word, word, fc.nat({ max: 1 }), (fields, r, s, yParity) => {
        const { gasLimit, ...same } = fields
        // viem refuses a tip above the cap; the bytes are the same question.
        const maxPriorityFeePerGas =
          fields.maxPriorityFeePerGas > fields.maxFeePerGas ? 0n : fields.maxPriorityFeePerGas
        const sent = { ...fields, maxPriorityFeePerGas }
        const theirs = { type: 'eip1559', ...same, maxPriorityFeePerGas, gas: gasLimit } as const
        expect(asHex(encodeTransaction(sent))).toBe(serializeTransaction(theirs))
        expect(asHex(encodeTransaction(sent, { r, s, yParity }))).toBe(
          serializeTransaction(theirs, { r: asHex(r), s: asHex(s), yParity }),
        )
      }),
      { numRuns: 300 },
    )
  })
})
