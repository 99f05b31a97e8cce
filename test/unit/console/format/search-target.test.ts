import { describe, expect, it } from 'vitest'
import { mayBeMerchantId, readSearch } from '../../../../src/console/format/search-target.js'

describe('the one search box', () => {
  it.each([
    ['a hash', `0x${'Ab'.repeat(32)}`, { kind: 'hash', hash: `0x${'ab'.repeat(32)}` }],
    ['a hash without 0x', ` ${'ab'.repeat(32)} `, { kind: 'hash', hash: `0x${'ab'.repeat(32)}` }],
    ['an address', `0X${'Cd'.repeat(20)}`, { kind: 'address', address: `0x${'cd'.repeat(20)}` }],
    [
      'an address without 0x',
      'cd'.repeat(20),
      { kind: 'address', address: `0x${'cd'.repeat(20)}` },
    ],
    ['a hash with a digit too few', 'a'.repeat(63), { kind: 'words', words: 'a'.repeat(63) }],
    [
      'a payer and a nonce',
      `0x${'Cd'.repeat(20)} ${'ab'.repeat(32)}`,
      {
        kind: 'payment',
        network: undefined,
        payer: `0x${'cd'.repeat(20)}`,
        nonce: `0x${'ab'.repeat(32)}`,
      },
    ],
    [
      'the place of a payment on a network',
      `eip155:5042002/0x${'cd'.repeat(20)}/0x${'ab'.repeat(32)}`,
      {
        kind: 'payment',
        network: 'eip155:5042002',
        payer: `0x${'cd'.repeat(20)}`,
        nonce: `0x${'ab'.repeat(32)}`,
      },
    ],
    ['words', ' seven day forecast ', { kind: 'words', words: 'seven day forecast' }],
    ['hex that is a word', 'cafe', { kind: 'words', words: 'cafe' }],
  ])('reads %s', (_name, typed, target) => {
    expect(readSearch(typed)).toEqual(target)
  })

  it('knows the form of ids, those of unclaimed merchants too', () => {
    expect(['penny-weather', `payto-0x${'a'.repeat(40)}`].map(mayBeMerchantId)).toEqual([
      true,
      true,
    ])
    expect(['Penny Weather', '-a-', 'a', 'x'.repeat(65)].map(mayBeMerchantId)).toEqual(
      Array(4).fill(false),
    )
  })
})
