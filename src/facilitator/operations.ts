import { z } from 'zod'
import { describeCodes } from '../api/errors.js'
import { codesOf, settleAnswer, supportedAnswer, verifyAnswer } from '../api/payments.js'
import type { Operation } from '../http/operation.js'
import { paymentRequestSchema } from '../x402/request-schemas.js'
import { unpaidPayment, wellFormedPayment } from './example-payments.js'

const { payer } = wellFormedPayment
const transaction = '0xef502e9d01e181504e4fc174d71d78c091aeff95fe00364beaf6ec6e561cc4fe'
const network = 'eip155:5042'

const refusals = (family: 'verify' | 'settle') =>
  describeCodes(codesOf(family).filter(({ status }) => status === 200))
const errors = (family: 'verify' | 'settle') =>
  codesOf(family).filter(({ status }) => status !== 200)

const mismatch = {
  invalidReason: 'invalid_exact_evm_payload_authorization_value_mismatch',
  invalidMessage: 'The authorization value 10000 does not match the required amount 20000.',
}
const version = {
  reason: 'invalid_x402_version',
  message: 'x402Version must be the number 2, got 1.',
}

export const supportedOperation: Operation = {
  id: 'getSupported',
  tag: 'Payments',
  summary: 'Schemes and networks served, and the wallets that pay the gas',
  answers: { 200: { description: 'What is served.', schema: supportedAnswer } },
  examples: {
    supported: {
      summary: 'Arc mainnet',
      status: 200,
      answer: {
        kinds: [{ x402Version: 2, scheme: 'exact', network }],
        extensions: ['bazaar'],
        signers: { 'eip155:*': ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'] },
      },
    },
  },
}

export const verifyOperation: Operation = {
  id: 'verifyPayment',
  tag: 'Payments',
  summary: 'Judge a signed payment without changing anything',
  description:
    'Call it before the work, and settle after the work has succeeded. A yes reserves nothing: keep the time between the two short.',
  body: paymentRequestSchema,
  answers: {
    200: {
      description: `Judged. With \`isValid\` false \`invalidReason\` is one of:\n\n${refusals('verify')}`,
      schema: verifyAnswer,
    },
  },
  codes: errors('verify'),
  examples: {
    valid: {
      summary: 'A payment of one cent',
      body: wellFormedPayment.body,
      status: 200,
      answer: { isValid: true, payer },
    },
    mismatch: {
      summary: 'The authorization moves another amount',
      body: unpaidPayment.body,
      status: 200,
      answer: { isValid: false, ...mismatch, payer },
    },
    version1: {
      summary: 'A body of x402 version 1',
      body: { x402Version: 1, paymentPayload: {}, paymentRequirements: {} },
      status: 400,
      answer: { isValid: false, invalidReason: version.reason, invalidMessage: version.message },
    },
  },
}

export const settleOperation: Operation = {
  id: 'settlePayment',
  tag: 'Payments',
  summary: 'Bring a signed payment on chain and wait for it',
  description:
    'The same payment settles once and is answered with success once. `settlement_pending` is no failure: settle the same payment again, it waits on.',
  headers: z.object({
    'Idempotency-Key': z
      .string()
      .regex(/^[\x21-\x7e]{16,128}$/)
      .optional()
      .describe('A fresh one for each payment; the same key and payment get the success again.'),
  }),
  body: paymentRequestSchema,
  answers: {
    200: {
      description: `On chain, or refused. With \`success\` false \`errorReason\` is one of:\n\n${refusals('settle')}`,
      schema: settleAnswer,
      headers: {
        'EXTENSION-RESPONSES':
          'Base64 of JSON: what became of the bazaar extension of the payment, if it had one.',
      },
    },
  },
  codes: errors('settle'),
  examples: {
    settled: {
      summary: 'A payment of one cent',
      body: wellFormedPayment.body,
      status: 200,
      answer: { success: true, payer, transaction, network },
    },
    mismatch: {
      summary: 'The authorization moves another amount',
      body: unpaidPayment.body,
      status: 200,
      answer: {
        success: false,
        errorReason: mismatch.invalidReason,
        errorMessage: mismatch.invalidMessage,
        transaction: '',
        network,
        payer,
      },
    },
    version1: {
      summary: 'A body of x402 version 1',
      body: { x402Version: 1, paymentPayload: {}, paymentRequirements: {} },
      status: 400,
      answer: {
        success: false,
        errorReason: version.reason,
        errorMessage: version.message,
        transaction: '',
        network: '',
      },
    },
  },
}
