import {
  type Budget,
  capOf,
  judge,
  leftOf,
  readAmount,
  readBudget,
  refusalError,
  showAmount,
} from '@arcus/client/budget'
import { ArcusError } from '@arcus/client/calls'
import { DAY_MS, type LedgerEntry } from '@arcus/client/ledger'
import { circleTokens } from '@arcus/protocol/x402/currencies'
import { describe, expect, it } from 'vitest'
import { anEntry, anItem } from '../../support/directory/a-catalog.js'

const network = 'eip155:5042'
const [{ address: asset }, euro] = circleTokens[network]
const NOW = 10 * DAY_MS
const seller = { host: 'a.example', payTo: '0xA1', merchant: 'alpha' }
const other = { host: 'b.example', payTo: '0xb2', merchant: 'beta' }
const budget: Budget = { network, asset, perCall: 100n, perDay: 300n }

/** A call that cost so much, so long ago. */
function spent(amount: bigint, agoMs = 0, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    id: 'a call',
    at: NOW - agoMs,
    state: 'settled',
    network,
    asset,
    amount: `${amount}`,
    call: '',
    spent: amount,
    unproven: 0n,
    ...seller,
    ...changes,
  }
}

const call = (amount: bigint, changes = {}) => {
  return { amount: `${amount}`, item: undefined, ...seller, ...changes }
}

describe('what is left', () => {
  it('of a day is what was not spent in the last 24 hours, in this token', () => {
    const entries = [
      spent(50n, DAY_MS),
      spent(20n, DAY_MS - 1),
      spent(30n),
      spent(7n, 0, { asset: asset.toUpperCase() }),
      spent(1_000n, 0, { asset: euro?.address ?? '' }),
      spent(1_000n, 0, { network: 'eip155:1' }),
    ]
    expect(leftOf(entries, budget, NOW)).toEqual({ perDay: 243n })
    expect(leftOf([...entries, spent(500n)], budget, NOW)).toEqual({ perDay: 0n })
  })

  it('in total counts what a facilitator alone has given back', () => {
    const entries = [spent(50n, 5 * DAY_MS), spent(0n, 0, { unproven: 30n })]
    expect(leftOf(entries, { ...budget, total: 100n }, NOW)).toEqual({ perDay: 300n, total: 20n })
    expect(leftOf(entries, { ...budget, total: 80n }, NOW).total).toBe(0n)
  })

  it.each([
    ['of the same host', { ...other, host: 'A.example' }, 60n],
    ['of the same address', { ...other, payTo: '0xa1' }, 60n],
    ['of the same listing', { ...other, merchant: 'alpha' }, 60n],
    ['of another seller', other, 100n],
    ['of another seller without a listing', { ...other, merchant: undefined }, 100n],
  ])('for a seller counts what was spent for good, by a call %s', (_, who, perSeller) => {
    const entries = [spent(40n, 5 * DAY_MS)]
    const limits = { ...budget, perSeller: 100n }
    expect(leftOf(entries, limits, NOW, who).perSeller).toBe(perSeller)
    expect(leftOf(entries, limits, NOW)).not.toHaveProperty('perSeller')
  })
})

describe('a call', () => {
  it.each<[string, bigint, Partial<Budget>, LedgerEntry[], object | undefined]>([
    ['at the limit of a call', 100n, {}, [], undefined],
    ['above it', 101n, {}, [], { limit: 'perCall', left: 100n, until: null }],
    ['at what the day leaves', 100n, {}, [spent(200n)], undefined],
    [
      'of a seller who has all',
      1n,
      { perSeller: 40n },
      [spent(40n, 5 * DAY_MS)],
      {
        limit: 'perSeller',
        left: 0n,
        until: null,
      },
    ],
    ['of the last units in total', 10n, { total: 50n }, [spent(40n, 5 * DAY_MS)], undefined],
    [
      'of one unit more',
      11n,
      { total: 50n },
      [spent(40n, 5 * DAY_MS)],
      {
        limit: 'total',
        left: 10n,
        until: null,
      },
    ],
    [
      'of more than the day leaves fits once the first calls of it are a day old',
      60n,
      {},
      [spent(100n, 1_000), spent(100n, 3_000), spent(50n, 2_000), spent(9n, DAY_MS)],
      { limit: 'perDay', left: 50n, until: NOW - 3_000 + DAY_MS },
    ],
    [
      'of more than two of them leave fits after the third',
      100n,
      { perDay: 120n },
      [spent(20n, 3_000), spent(50n, 2_000), spent(50n, 1_000)],
      { limit: 'perDay', left: 0n, until: NOW - 1_000 + DAY_MS },
    ],
    [
      'of more than a whole day never fits',
      90n,
      { perDay: 80n },
      [],
      {
        limit: 'perDay',
        left: 80n,
        until: null,
      },
    ],
  ])('%s', (_, amount, limits, entries, refusal) => {
    const found = judge(entries, { ...budget, ...limits }, call(amount), NOW)
    if (refusal === undefined) expect(found).toBeUndefined()
    else expect(found).toEqual(refusal)
  })

  it('is bound by its own limit where that is lower than the one of all calls', () => {
    expect(capOf(budget, undefined)).toEqual({ limit: 'perCall', amount: 100n })
    expect(capOf(budget, 100n)).toEqual({ limit: 'perCall', amount: 100n })
    expect(capOf(budget, 99n)).toEqual({ limit: 'maxAmount', amount: 99n })
    const cap = capOf(budget, 50n)
    expect(judge([], budget, call(50n, { cap }), NOW)).toBeUndefined()
    expect(judge([], budget, call(51n, { cap }), NOW)).toMatchObject({ limit: 'maxAmount' })
  })

  it('is paid to sellers of the list alone, by host, address or listing', () => {
    const allows = (...sellers: string[]) =>
      judge([], { ...budget, sellers }, call(1n), NOW) === undefined
    expect(['A.EXAMPLE', '0xa1', 'alpha'].map((name) => allows('x', name))).toEqual(
      Array(3).fill(true),
    )
    expect([allows(), allows('b.example', '0xb2', 'beta')]).toEqual([false, false])
  })

  it('is paid to proven sellers, and to those whose last check delivered, where that is the limit', () => {
    const payTo = anEntry().merchant.payTo
    const unproven = anItem()
    const proven = anItem({}, { owner: payTo })
    const checked = (delivered: boolean, outdated?: true) => {
      const delivery = { last: { delivered }, ...(outdated && { outdated }) }
      return { ...proven, metadata: { ...proven.metadata, delivery } } as typeof proven
    }
    const allows = (sellers: 'proven' | 'delivered', item: typeof proven | undefined) =>
      judge([], { ...budget, sellers }, call(1n, { item }), NOW) === undefined
    expect([undefined, unproven, proven].map((it) => allows('proven', it))).toEqual([
      false,
      false,
      true,
    ])
    const items = [proven, checked(false), checked(true), checked(true, true)]
    expect(items.map((it) => allows('delivered', it))).toEqual([false, false, true, false])
  })
})

describe('an amount', () => {
  it.each<[bigint | string, bigint]>([
    ['$0.05', 50_000n],
    ['$1', 1_000_000n],
    ['$0.000001', 1n],
    ['7', 7n],
    [9n, 9n],
  ])('of %s is %s atomic units', (given, atomic) => {
    expect(readAmount(given, 'perCall', budget)).toBe(atomic)
  })

  it.each(['0', '$0', '-1', '1.5', '$1.0000001', '€1', '', 'all'])('is not "%s"', (given) => {
    expect(() => readAmount(given, 'perCall', budget)).toThrow(
      'perCall wants an amount above zero: atomic units, or money such as $0.05.',
    )
  })

  it('is shown in the money of its token, or in atomic units of one that is not known', () => {
    expect(showAmount(50_000n, budget)).toBe('0.05 USDC')
    expect(showAmount(5n, { network, asset: '0xff' })).toBe('5 atomic units of 0xff')
    const unknown = { network: 'eip155:1', asset }
    expect(() => readAmount('$1', 'total', unknown)).toThrow(
      /^total wants an amount above zero: atomic units\.$/,
    )
  })
})

it('limits are read once they are whole and spelled right', () => {
  const whole = { perCall: '$0.05', perDay: '$1' }
  expect(readBudget({ ...whole, total: 7n, sellers: ['a'] }, { network, asset })).toEqual({
    network,
    asset,
    perCall: 50_000n,
    perDay: 1_000_000n,
    total: 7n,
    sellers: ['a'],
  })
  const read = (limits: object) => () => readBudget({ ...whole, ...limits }, { network, asset })
  expect(read({ perday: '$1' })).toThrow('There is no limit perday.')
  expect(read({ perDay: undefined })).toThrow('perDay wants an amount above zero')
  expect(read({ sellers: 'prove' })).toThrow('sellers is "proven", "delivered" or a list.')
})

it('a refusal says what is left, and from when on the call fits', () => {
  const refusal = { limit: 'perDay', left: 10_000n, until: DAY_MS } as const
  const error = refusalError(refusal, 50_000n, budget)
  expect(error).toBeInstanceOf(ArcusError)
  expect(error.message).toBe(
    'The limit perDay does not allow 0.05 USDC: 0.01 USDC left. It fits from 1970-01-02T00:00:00.000Z on.',
  )
  expect(error.details).toEqual({
    limit: 'perDay',
    left: '10000',
    amount: '50000',
    until: '1970-01-02T00:00:00.000Z',
  })
  expect(refusalError({ ...refusal, until: null }, 50_000n, budget).message).toMatch(
    /Waiting will not help\.$/,
  )
})
