import { expect, it } from 'vitest'
import { parseAgentId } from '../../../../src/directory/identity/registration-file.js'

const max = (2n ** 256n - 1n).toString()

it.each(['0', '1', '214', max])('takes %s', (id) => {
  expect(parseAgentId(id)).toBe(id)
})

it.each([
  ['a leading zero', '00'],
  ['a leading zero before digits', '07'],
  ['2^256', (2n ** 256n).toString()],
  ['nothing', ''],
  ['a sign', '-1'],
  ['hex', '0x1'],
  ['a blank', ' 1'],
  ['an exponent', '1e3'],
  ['a fraction', '1.0'],
  ['digits of another script', '١'],
  ['a number', 0],
  ['null', null],
])('refuses %s', (_, id) => {
  expect(parseAgentId(id)).toBeUndefined()
})
