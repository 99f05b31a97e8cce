import { expect, it } from 'vitest'
import { complaintOf } from '../../../src/cli/pay.js'

const failed = { ok: false, headers: new Headers() }
const transaction = '0xab'

it.each([
  ['nothing', undefined, 'Not paid: nothing was asked.'],
  [
    'a success',
    { success: true, transaction },
    'Charged, although the call failed: transaction 0xab.',
  ],
  [
    'a refusal',
    { success: false, transaction: '', errorReason: 'insufficient_balance' },
    'Not paid: insufficient_balance.',
  ],
  [
    'a payment that is on its way',
    { success: false, transaction, errorReason: 'settlement_pending' },
    'Not known yet whether it is paid: settlement_pending, transaction 0xab.',
  ],
])('a call that failed with %s says whether money left', (_, settlement, said) => {
  expect(complaintOf(failed, settlement)).toBe(said)
})
