import { readOffer } from '@arcus/client/terms'
import { expect, it } from 'vitest'

const transaction = `0x${'aa'.repeat(32)}`
const required = { x402Version: 2, accepts: [] }
const settlement = { success: true, transaction }

it.each([
  ['of this version is read', required, true],
  ['without a list of what is accepted is none', { ...required, accepts: {} }, false],
  ['of an earlier version is none', { ...required, x402Version: 1 }, false],
  ['that is no object is none', 'x402Version', false],
  ['that is nothing is none', null, false],
])('an offer %s', (_, given, isRead) => {
  expect(readOffer(given, undefined)).toEqual(isRead ? { required: given } : {})
})

it.each([
  ['with a transaction is read', settlement, true],
  ['with none is read', { success: false, transaction: '' }, true],
  ['with what is no hash is none', { ...settlement, transaction: '0x1' }, false],
  ['without a transaction is none', { success: true }, false],
  ['that says nothing of success is none', { ...settlement, success: 'true' }, false],
  ['that is nothing is none', undefined, false],
])('a settlement %s', (_, given, isRead) => {
  expect(readOffer(undefined, given)).toEqual(isRead ? { settlement: given } : {})
})
