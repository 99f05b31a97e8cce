import { describeCodes } from '@arcus/protocol/answers/errors'
import { codesOf } from '@arcus/protocol/answers/payments'
import { cached, type DescribedRoute, described, type Operation } from '../http/operation.js'
import {
  attestationOperation,
  paymentOperation,
  receiptOperation,
  statusOperation,
  transactionOperation,
} from './lookup/operations.js'

const refusals = (family: 'verify' | 'settle') =>
  describeCodes(codesOf(family).filter(({ status }) => status === 200))
const errors = (family: 'verify' | 'settle') =>
  codesOf(family).filter(({ status }) => status !== 200)

export const supportedOperation: Operation = {
  id: 'getSupported',
  tag: 'Payments',
  summary: 'Schemes and networks served, and the wallets that pay the gas',
  answers: { 200: 'What is served.' },
}

export const verifyOperation: Operation = {
  id: 'verifyPayment',
  tag: 'Payments',
  summary: 'Check a signed payment without changing anything',
  description:
    'Call it before the work, and settle after the work has succeeded. A valid answer reserves nothing: keep the time between the two short.',
  answers: {
    200: `The result. With \`isValid\` false \`invalidReason\` is one of:\n\n${refusals('verify')}`,
  },
  codes: errors('verify'),
}

export const settleOperation: Operation = {
  id: 'settlePayment',
  tag: 'Payments',
  summary: 'Bring a signed payment on chain and wait for it',
  description:
    'The same payment settles once and is answered with success once. `settlement_pending`, which always names a transaction, and `settlement_unknown` are no failures: settle the same payment again, it waits on.',
  answers: {
    200: {
      description: `On chain, or refused. With \`success\` false \`errorReason\` is one of:\n\n${refusals('settle')}`,
      headers: {
        'EXTENSION-RESPONSES':
          'Base64 of JSON: whether the resource of the bazaar extension was listed, if the payment had one.',
      },
    },
  },
  codes: errors('settle'),
}

export const wellKnownOperation: Operation = {
  id: 'getFacilitator',
  tag: 'Payments',
  summary: 'Networks, schemes, tokens, wallets, keys and addresses of this facilitator',
  answers: cached('The facilitator.'),
}

/** Every route of the facilitator, for the description of the whole service. */
export const facilitatorOperations: readonly DescribedRoute[] = [
  described('GET /supported', supportedOperation, { limit: 'exempt' }),
  described('POST /verify', verifyOperation, { family: 'verify' }),
  described('POST /settle', settleOperation, { family: 'settle', limit: 'manual' }),
  described('GET /payments/:network/:payer/:nonce', paymentOperation),
  described('GET /payments/:network/:payer/:nonce/attestation', attestationOperation),
  described('GET /payments/:network/:payer/:nonce/receipt', receiptOperation),
  described('GET /payments/status/:paymentId', statusOperation),
  described('GET /payments/:transaction', transactionOperation),
  described('GET /.well-known/x402', wellKnownOperation),
]
