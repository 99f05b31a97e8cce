import { formatUnits, parseUint256 } from '@arcus/protocol/x402/amounts'
import fc from 'fast-check'
import { formatUnits as viemFormatUnits } from 'viem'
import { expect, it } from 'vitest'

const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

it('parses back every uint256 it is written as', () => {
  fc.assert(
    fc.property(uint256, (value) => {
      expect(parseUint256(value.toString())).toBe(value)
    }),
  )
})

it('takes no text but the one a uint256 is written as', () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'0123456789.-+ex_ \n') }),
    fc.string({ unit: 'grapheme' }),
    fc.bigInt({ min: -(2n ** 260n), max: 2n ** 260n }).map(String),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const value = parseUint256(text)
      if (value !== undefined) expect(value.toString()).toBe(text)
    }),
    { numRuns: 1_000 },
  )
})

it('writes units as viem does, and loses nothing', () => {
  fc.assert(
    fc.property(
      uint256,
      fc.integer({ min: 1, max: 30 }),
      fc.boolean(),
      (size, decimals, isDebt) => {
        const value = isDebt ? -size : size
        const text = formatUnits(value, decimals)
        expect(text).toBe(viemFormatUnits(value, decimals))
        const [whole = '', fraction = ''] = text.replace('-', '').split('.')
        const back = BigInt(whole + fraction.padEnd(decimals, '0'))
        expect(text.startsWith('-') ? -back : back).toBe(value)
      },
    ),
  )
})
