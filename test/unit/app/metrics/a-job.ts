import type { Job, Outcome } from '../../../../src/facilitator/journal/settlement-journal.js'

const asset = `0x${'a5'.repeat(20)}`
const payer = `0x${'c1'.repeat(20)}`
const nonce = `0x${'0d'.repeat(32)}`

/** A body with the members metrics look at; addresses may be in any case. */
export const aBody = (network = 'eip155:5042') => ({
  paymentPayload: { payload: { authorization: { from: payer.toUpperCase(), nonce } } },
  paymentRequirements: { network, asset },
})

/** The job of that body. */
export const aJob = {
  kind: 'exact',
  network: 'eip155:5042',
  key: `0x${'a5'.repeat(20)}/${payer}/${nonce}`,
} as Job

export const confirmed: Outcome = {
  state: 'confirmed',
  transaction: '0x01',
  reason: null,
  message: null,
  blockNumber: 1,
  gasCost: 1_600_000_000_000_000n,
}

export const failed: Outcome = {
  ...confirmed,
  state: 'failed',
  reason: 'insufficientBalance',
  message: 'The balance does not cover the amount.',
}
