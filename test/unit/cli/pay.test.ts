import { expect, it } from 'vitest'
import { complaintOf, reasonOf } from '../../../src/cli/pay.js'

const failed = { ok: false, status: 502, headers: new Headers() }
const transaction = '0xab'
const unsigned = { isSigned: false, spent: 0n }
const signed = { isSigned: true, spent: 0n }

it.each([
  ['no price', undefined, unsigned, 'Not paid: nothing was asked.'],
  [
    'nothing said of a signed payment',
    undefined,
    signed,
    'Not known whether it is paid: the payment was signed, and the seller answered 502 without saying what became of it.',
  ],
  [
    'nothing said of money that left',
    undefined,
    { isSigned: true, spent: 10_000n },
    'Charged 0.01 USDC, although the call failed: the seller names no transaction.',
  ],
  [
    'a success',
    { success: true, transaction },
    { isSigned: true, spent: 10_000n },
    'Charged, although the call failed: transaction 0xab.',
  ],
  [
    'a refusal',
    { success: false, transaction: '', errorReason: 'insufficient_balance' },
    signed,
    'Not paid: insufficient_balance.',
  ],
  [
    'a payment that is on its way',
    { success: false, transaction, errorReason: 'settlement_pending' },
    signed,
    'Not known yet whether it is paid: settlement_pending, transaction 0xab.',
  ],
])('a call that failed with %s says whether money left', (_, settlement, call, said) => {
  expect(complaintOf(failed, settlement, call)).toBe(said)
})

it('says what to do where nothing listens', () => {
  const closed = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  expect(reasonOf(new Error('fetch failed', { cause: closed }))).toMatch(
    /\(ECONNREFUSED\)\. Nothing listens there: start the seller/,
  )
  expect(reasonOf(new Error('The price is above the limit.'))).toBe('The price is above the limit.')
})
