import { formatAtomic, formatNative, formatUnits, parseUint256 } from '@arcus/protocol/x402/amounts'
import { describe, expect, it } from 'vitest'

describe('parsing a uint256', () => {
  it('takes plain decimal digits up to 2^256 - 1', () => {
    expect(parseUint256('0')).toBe(0n)
    expect(parseUint256('10000')).toBe(10_000n)
    expect(parseUint256((2n ** 256n - 1n).toString())).toBe(2n ** 256n - 1n)
  })

  it('refuses one more than 2^256 - 1, and 79 digits unread', () => {
    expect(parseUint256((2n ** 256n).toString())).toBeUndefined()
    expect(parseUint256('1'.repeat(79))).toBeUndefined()
    expect(parseUint256('1'.repeat(10_000_000))).toBeUndefined()
  })
})

describe('formatting', () => {
  it('needs no decimals', () => {
    expect(formatUnits(7n, 0)).toBe('7')
  })

  it('knows the two scales of a dollar on Arc', () => {
    expect(formatAtomic(1_230_000n)).toBe('1.23')
    expect(formatNative(1_230_000_000_000_000_000n)).toBe('1.23')
    expect(formatNative(1n)).toBe('0.000000000000000001')
  })
})
