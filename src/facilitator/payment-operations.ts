import { z } from 'zod'
import { httpCodes } from '../api/errors.js'
import { paymentStatus, transactionAnswer } from '../api/payments.js'
import type { Operation } from '../http/operation.js'
import { wellFormedPayment } from './example-payments.js'

const { payer, nonce } = wellFormedPayment
const transaction = '0xef502e9d01e181504e4fc174d71d78c091aeff95fe00364beaf6ec6e561cc4fe'
const network = 'eip155:5042'

const bytes32 = /^0x[0-9a-fA-F]{64}$/

/** Parameters of `/payments/{network}/{payer}/{nonce}`. */
export const paymentParams = z.object({
  network: z.string().describe('CAIP-2; eip155:5042 is Arc.'),
  payer: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be a 20-byte hex address with 0x prefix')
    .describe('`authorization.from`.'),
  nonce: z
    .string()
    .regex(bytes32, 'must be 32 bytes of hex with 0x prefix')
    .describe('`authorization.nonce`.'),
})

/** Parameters of `/payments/{transaction}`. */
export const transactionParams = z.object({
  transaction: z
    .string()
    .regex(bytes32, 'must be 32 bytes of hex with 0x prefix')
    .describe('As a settle was answered with.'),
})

const settledPayment = {
  network,
  asset: '0x3600000000000000000000000000000000000000',
  payer,
  payTo: wellFormedPayment.payTo,
  nonce,
  amount: '10000',
  state: 'confirmed',
  transaction,
  explorerUrl: `https://explorer.arc.io/tx/${transaction}`,
  blockNumber: 12,
  errorReason: null,
  errorMessage: null,
  delivered: true,
  createdAt: '2026-11-21T10:00:00.000Z',
  updatedAt: '2026-11-21T10:00:01.000Z',
  validAfter: '0',
  validBefore: '4102444800',
  gasUsd: '0.00226',
}

export const paymentOperation: Operation = {
  id: 'getPayment',
  tag: 'Payments',
  summary: 'State, transaction, amount and times of a payment',
  description: 'For anybody who knows its nonce.',
  params: paymentParams,
  answers: { 200: { description: 'The payment.', schema: paymentStatus } },
  codes: [httpCodes.notFound],
  examples: {
    settled: {
      summary: 'The payment above, once it is settled',
      params: { network, payer, nonce },
      status: 200,
      answer: settledPayment,
    },
    unknown: {
      summary: 'A nonce nobody used here',
      params: { network, payer, nonce: `0x${'00'.repeat(32)}` },
      status: 404,
      answer: {
        error: 'not_found',
        message: 'No payment of this payer with this nonce was settled here.',
      },
    },
  },
}

export const transactionOperation: Operation = {
  id: 'listPaymentsOfTransaction',
  tag: 'Payments',
  summary: 'The same of every payment in a transaction',
  params: transactionParams,
  answers: {
    200: {
      description: 'The payments in their order; one that landed elsewhere after all says where.',
      schema: transactionAnswer,
    },
  },
  codes: [httpCodes.notFound],
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
