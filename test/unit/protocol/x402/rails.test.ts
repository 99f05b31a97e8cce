import { otherRailOf } from '@arcus/protocol/x402/rails'
import { expect, it } from 'vitest'

const asset = '0x3600000000000000000000000000000000000000'
const domain = { name: 'USDC', version: '2' }
const gateway = { name: 'GatewayWalletBatched', version: '1' }

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['a domain', domain],
  ['no object', 'GatewayWalletBatched'],
  ['no contract', { ...domain, verifyingContract: null }],
  ['an empty contract', { ...domain, verifyingContract: '' }],
  ['the asset', { ...domain, verifyingContract: asset }],
  ['the asset in capitals', { ...gateway, verifyingContract: asset.replace('0x', '0X') }],
])('a requirement that quotes %s is plain', (_, extra) => {
  expect(otherRailOf(asset, extra)).toBeUndefined()
})

it.each<[unknown, string]>([
  ['0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE', 'Circle Gateway'],
  ['0x77777777DCC4D5A8B6E418FD04D8997EF11000EE', 'Circle Gateway'],
  ['0x0077777d7eba4688bdef3e311b846f25870a19b9', 'Circle Gateway'],
  [`0x${'aB'.repeat(20)}`, `the contract 0x${'aB'.repeat(20)}`],
  [`${asset}0`, 'another contract'],
  ['<b>0x36</b>', 'another contract'],
  [7, 'another contract'],
  [{ toString: 1 }, 'another contract'],
])('a requirement for %j is of another rail', (verifyingContract, rail) => {
  expect(otherRailOf(asset, { ...domain, verifyingContract })).toBe(rail)
})

it('a requirement under the name of Circle Gateway is of that rail without its contract too', () => {
  expect(otherRailOf(asset, gateway)).toBe('Circle Gateway')
})
