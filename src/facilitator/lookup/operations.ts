import { httpCodes } from '@arcus/protocol/answers/errors'
import type { Operation } from '../../http/operation.js'

/**
 * The example payment of the API document. Its payer is an account of the public test mnemonic, which has money on a devnet
 * only, so there it really settles.
 */
export const examplePayment = {
  network: 'eip155:5042',
  payer: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  nonce: `0x${'a5'.repeat(32)}`,
  transaction: '0xef502e9d01e181504e4fc174d71d78c091aeff95fe00364beaf6ec6e561cc4fe',
} as const
const { network, payer, payTo, nonce, transaction } = examplePayment

const paymentId = '0b8f3a52-6f0e-4d56-9f1d-3a0c5d8e7f21'

const settledPayment = {
  settlementId: paymentId,
  paymentId,
  status: 'completed',
  network,
  asset: '0x3600000000000000000000000000000000000000',
  symbol: 'USDC',
  currency: 'USD',
  payer,
  payTo,
  nonce,
  amount: '10000',
  state: 'confirmed',
  unusedAtBlock: null,
  transaction,
  explorerUrl: `https://explorer.arc.io/tx/${transaction}`,
  blockNumber: 12,
  errorReason: null,
  errorMessage: null,
  delivered: true,
  createdAt: '2026-11-21T10:00:00.000Z',
  sentAt: '2026-11-21T10:00:00.300Z',
  deliveredAt: '2026-11-21T10:00:01.000Z',
  updatedAt: '2026-11-21T10:00:01.000Z',
  validAfter: '0',
  validBefore: '4102444800',
  gasUsd: '0.00226',
  refund: null,
}

/** An answer of the routes about one payment. */
const unknownPayment = {
  summary: 'A nonce nobody used here',
  params: { network, payer, nonce: `0x${'00'.repeat(32)}` },
  status: 404,
  answer: {
    error: 'not_found',
    message: 'No payment of this payer with this nonce was settled here.',
  },
}

export const paymentOperation: Operation = {
  id: 'getPayment',
  tag: 'Payments',
  summary: 'State, transaction, amount and times of a payment',
  description: 'For anybody who knows its nonce. A browser that opens the address gets a page.',
  answers: { 200: 'The payment.' },
  codes: [httpCodes.not_found, httpCodes.ambiguous_nonce],
  examples: {
    settled: {
      summary: 'The payment above, once it is settled',
      params: { network, payer, nonce },
      status: 200,
      answer: settledPayment,
    },
    unknown: unknownPayment,
  },
}

export const statusOperation: Operation = {
  id: 'getSettlementStatus',
  tag: 'Payments',
  summary: 'The outcome of anything that settle answered about',
  description:
    'The `statusUrl` of deposits, claims, payouts and refunds of channels. For a payment by `exact` or `upto` there is more at its own address.',
  answers: { 200: 'Its status.' },
  codes: [httpCodes.not_found],
  examples: {
    unknown: {
      summary: 'An id that no answer named',
      params: { paymentId: '00000000-0000-4000-8000-000000000000' },
      status: 404,
      answer: { error: 'not_found', message: 'Nothing with this id was settled here.' },
    },
  },
}

/** The members of a route that only a confirmed payment has. */
const ofConfirmed = {
  tag: 'Payments',
  codes: [httpCodes.not_found, httpCodes.payment_not_confirmed, httpCodes.ambiguous_nonce],
  examples: { unknown: unknownPayment },
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
  examples: {
    unknown: {
      summary: 'A transaction that settled nothing here',
      params: { transaction: `0x${'00'.repeat(32)}` },
      status: 404,
      answer: {
        error: 'not_found',
        message: 'No payment of this transaction was settled here.',
      },
    },
    malformed: {
      summary: 'Not a hash',
      params: { transaction: '0x12' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'transaction must be 32 bytes of hex with 0x prefix.',
      },
    },
  },
}
