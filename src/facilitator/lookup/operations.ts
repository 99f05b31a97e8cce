import { httpCodes } from '@arcus/protocol/answers/errors'
import type { Operation } from '../../http/operation.js'

export const paymentOperation: Operation = {
  id: 'getPayment',
  tag: 'Payments',
  summary: 'State, transaction, amount and times of a payment',
  description: 'For anybody who knows its nonce. A browser that opens the address gets a page.',
  answers: { 200: 'The payment.' },
  codes: [httpCodes.not_found, httpCodes.ambiguous_nonce],
}

export const statusOperation: Operation = {
  id: 'getSettlementStatus',
  tag: 'Payments',
  summary: 'The outcome of anything that settle answered about',
  description:
    'The `statusUrl` of deposits, claims, payouts and refunds of channels. For a payment by `exact` or `upto` there is more at its own address.',
  answers: { 200: 'Its status.' },
  codes: [httpCodes.not_found],
}

/** The members of a route that only a confirmed payment has. */
const ofConfirmed = {
  tag: 'Payments',
  codes: [httpCodes.not_found, httpCodes.payment_not_confirmed, httpCodes.ambiguous_nonce],
} satisfies Partial<Operation>

export const attestationOperation: Operation = {
  id: 'getAttestation',
  ...ofConfirmed,
  summary: 'The signed statement that a payment settled here',
  description:
    'The extension `facilitator-attestation`. It is signed when the payment is confirmed and never changes. It says which facilitator settled the payment; look the transaction up on chain.',
  answers: { 200: 'The attestation.' },
}

export const receiptOperation: Operation = {
  id: 'getReceipt',
  ...ofConfirmed,
  summary: 'A receipt to print or keep',
  description:
    'A page without scripts. With `Accept: application/json` it is JSON of the schema below. Only a confirmed payment has one.',
  answers: { 200: 'The receipt.' },
}

export const transactionOperation: Operation = {
  id: 'listPaymentsOfTransaction',
  tag: 'Payments',
  summary: 'The same of every payment in a transaction',
  answers: {
    200: 'The payments in their order; one that landed elsewhere after all says where.',
  },
  codes: [httpCodes.not_found],
}
