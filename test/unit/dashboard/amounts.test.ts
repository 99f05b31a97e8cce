import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  atomicToUsd,
  duration,
  exactUsdc,
  percent,
  shortCount,
  shortUsd,
  usdToAtomic,
} from '../../../src/dashboard/format/amounts.js'

describe('dollars as people read them', () => {
  it.each([
    ['0', '$0.00'],
    ['1234567.891234', '$1,234,567.89'],
    ['5.999999', '$5.99'],
    ['0.01', '$0.01'],
    ['0.002', '$0.002'],
    ['0.000001', '$0.000001'],
    ['0.00154321', '$0.00154'],
    ['0.000000000001', '< $0.000001'],
    ['-3.5', '-$3.50'],
  ])('shows %s as %s', (usd, shown) => {
    expect(shortUsd(usd)).toBe(shown)
  })

  it('keeps every digit for the hover', () => {
    expect(exactUsdc('1234567.891230')).toBe('1,234,567.89123 USDC')
    expect(exactUsdc('5')).toBe('5 USDC')
  })
})

describe('dollars as people type them', () => {
  it.each([
    ['0.01', '10000'],
    ['$1', '1000000'],
    ['.5', '500000'],
    [' 1,200.25 ', '1200250000'],
    ['0', '0'],
  ])('reads %s as %s atomic units', (typed, atomic) => {
    expect(usdToAtomic(typed)).toBe(atomic)
  })

  it.each(['', '.', 'free', '0.0000001', '-1', '1e3', '1.2.3'])('refuses %j', (typed) => {
    expect(usdToAtomic(typed)).toBeUndefined()
  })

  it('gives back every amount unchanged', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 999_999_999_999_999n }), (amount) => {
        expect(usdToAtomic(atomicToUsd(amount.toString()))).toBe(amount.toString())
      }),
    )
  })
})

describe('counts, shares and durations', () => {
  it('shortens counts downwards only', () => {
    expect([999, 9_999, 12_499, 3_190_000].map(shortCount)).toEqual([
      '999',
      '9,999',
      '12.4k',
      '3.1M',
    ])
  })

  it('says 100% and 0% only when it is all or nothing', () => {
    expect([1, 0.99999, 0.5, 0.00001, 0, null].map(percent)).toEqual([
      '100%',
      '99.9%',
      '50%',
      '0.1%',
      '0%',
      '–',
    ])
  })

  it('tells durations in the unit that suits', () => {
    expect([null, 750, 1_500, 30_000].map(duration)).toEqual(['–', '750 ms', '1.5 s', '30 s'])
  })
})
