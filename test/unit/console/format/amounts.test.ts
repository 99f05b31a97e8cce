import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  atomicToUsd,
  counted,
  duration,
  exactCount,
  exactUsdc,
  percent,
  shortCount,
  shortMoney,
  shortUsd,
} from '../../../../src/console/format/amounts.js'
import { priceProblem, usdToAtomic } from '../../../../src/console/format/typed-price.js'

describe('dollars for reading', () => {
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

  it('keep every digit on hover', () => {
    expect(exactUsdc('1234567.891230')).toBe('1,234,567.89123 USDC')
    expect(exactUsdc('5')).toBe('5 USDC')
  })
})

describe('typed dollars', () => {
  it.each([
    ['0.01', '10000'],
    ['$1', '1000000'],
    ['.5', '500000'],
    [' 1,200.25 ', '1200250000'],
    ['1,234,567.5', '1234567500000'],
    ['0', '0'],
    ['0,01', '10000'],
    ['$0,01', '10000'],
    [',5', '500000'],
    ['0,001', '1000'],
    ['0,000001', '1'],
    ['12,5', '12500000'],
    ['1,00', '1000000'],
    ['1200,250', '1200250000'],
  ])('reads %s as %s atomic units', (typed, atomic) => {
    expect(usdToAtomic(typed)).toBe(atomic)
  })

  it.each(['', '.', ',', 'free', '0.0000001', '-1', '1e3', '1.2.3', '٠,٠١', '0，01', '0 01'])(
    'refuses %j',
    (typed) => {
      expect(usdToAtomic(typed)).toBeUndefined()
    },
  )

  it.each([
    '1,000',
    '$10,000',
    '100,000',
    '0,01,5',
    '1,234,567',
    '12,34,567.00',
    '0,010.5',
    '1.000,50',
    '0,0000001',
    '1,2000000',
    "1'000,5",
  ])('refuses %s and explains the comma', (typed) => {
    expect(usdToAtomic(typed)).toBeUndefined()
    expect(priceProblem(typed)).toMatch(/comma/)
  })

  it('never ignores a comma', () => {
    const part = fc.stringMatching(/^\d{1,6}$/)
    fc.assert(
      fc.property(part, part, (whole, fraction) => {
        const read = usdToAtomic(`${whole},${fraction}`)
        expect([undefined, usdToAtomic(`${whole}.${fraction}`)]).toContain(read)
      }),
    )
  })

  it('round-trips every amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 999_999_999_999_999n }), (amount) => {
        expect(usdToAtomic(atomicToUsd(amount.toString()))).toBe(amount.toString())
      }),
    )
  })
})

describe('counts, shares and durations', () => {
  it('rounds shortened counts down', () => {
    expect([999, 9_999, 12_499, 3_190_000].map(shortCount)).toEqual([
      '999',
      '9,999',
      '12.4k',
      '3.1M',
    ])
  })

  it('writes 100% and 0% only for exactly 1 and 0', () => {
    expect([1, 0.99999, 0.5, 0.00001, 0, null].map(percent)).toEqual([
      '100%',
      '99.9%',
      '50%',
      '0.1%',
      '0%',
      '–',
    ])
  })

  it('writes durations in a fitting unit', () => {
    expect([null, 750, 1_500, 30_000].map(duration)).toEqual(['–', '750 ms', '1.5 s', '30 s'])
  })
})

it.each([
  ['0.01', 'USD', 'USDC', '$0.01'],
  ['0.01', 'EUR', 'EURC', '€0.01'],
  ['1234.5', 'EUR', 'EURC', '€1,234.50'],
  ['0.01', null, 'XYZ', '0.01 XYZ'],
  ['0.0000001', 'EUR', 'EURC', '< €0.000001'],
])('shows %s of %s (%s) as %s', (decimal, currency, symbol, shown) => {
  expect(shortMoney(decimal, { currency, symbol })).toBe(shown)
})

it.each([
  [0, '0 buyers'],
  [1, '1 buyer'],
  [2, '2 buyers'],
  [12_400, '12.4k buyers'],
])('counts %i as %s', (count, text) => {
  expect(counted(count, { one: '# buyer', other: '# buyers' })).toBe(text)
})

it('writes every digit on request', () => {
  expect(counted(12_400, { other: '# buyers in all' }, exactCount)).toBe('12,400 buyers in all')
})
