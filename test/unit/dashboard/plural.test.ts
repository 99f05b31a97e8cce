import { expect, it } from 'vitest'
import { counted, exactCount } from '../../../src/dashboard/format/amounts.js'

it.each([
  [0, '0 payers'],
  [1, '1 payer'],
  [2, '2 payers'],
  [12_400, '12.4k payers'],
])('counts %i as %s', (count, text) => {
  expect(counted(count, { one: '# payer', other: '# payers' })).toBe(text)
})

it('writes every digit on request', () => {
  expect(counted(12_400, { other: '# payers in all' }, exactCount)).toBe('12,400 payers in all')
})
