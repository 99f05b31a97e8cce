import { describeCodes, httpCodes } from '@arcus/protocol/answers/errors'
import { codesOf } from '@arcus/protocol/answers/payments'
import { cached, type DescribedRoute, described, type Operation } from '../http/operation.js'

/*
 * The example payments of the API document. The payer is an account of the public test mnemonic, which has money on a
 * devnet only, so there the first payment really settles.
 */
const examplePayer = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const examplePayTo = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const exampleNonce = `0x${'a5'.repeat(32)}`

const requirement = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '10000',
  asset: '0x3600000000000000000000000000000000000000',
  payTo: examplePayTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

const paymentPayload = {
  x402Version: 2,
  resource: { url: 'https://api.example.com/quote', description: 'A quote' },
  accepted: requirement,
  payload: {
    authorization: {
      from: examplePayer,
      to: examplePayTo,
      value: '10000',
      validAfter: '0',
      validBefore: '4102444800',
      nonce: exampleNonce,
    },
    signature:
      '0x64e19fe0d46e59ec3256263a74b35dfcdb3751ee76fa595adc8a4c0b4a983f00031a85cffa7d26d0c6dbbc3f09bcebfd75ede0fe8d069630d5e347be5c3a75281c',
  },
}

/** One cent, signed, valid until 2100. */
const wellFormedPayment = {
  payer: examplePayer,
  payTo: examplePayTo,
  nonce: exampleNonce,
  body: { x402Version: 2, paymentPayload, paymentRequirements: requirement },
}

/** The same authorization for a price of two cents. */
const unpaidPayment = {
  body: { ...wellFormedPayment.body, paymentRequirements: { ...requirement, amount: '20000' } },
}

const uptoRequirement = {
  ...requirement,
  scheme: 'upto',
  extra: {
    ...requirement.extra,
    assetTransferMethod: 'permit2',
    facilitatorAddress: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  },
}

/** A ceiling of one cent, signed for a wallet of the devnet. */
const uptoPayment = {
  x402Version: 2,
  paymentPayload: {
    x402Version: 2,
    accepted: uptoRequirement,
    payload: {
      permit2Authorization: {
        from: examplePayer,
        permitted: { token: requirement.asset, amount: '10000' },
        spender: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
        nonce: '7',
        deadline: '4102444800',
        witness: {
          to: examplePayTo,
          facilitator: uptoRequirement.extra.facilitatorAddress,
          validAfter: '0',
        },
      },
      signature:
        '0x4bde01d5b3403b4c899c42618aae02b7f3f06ad40caf9abe039c97be70ca186f170688b2719694f84dd58b8b8decf68a11bccbf357e101ad184eb869a13bb32d1c',
    },
  },
  paymentRequirements: uptoRequirement,
}

const { payer, nonce } = wellFormedPayment
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
const ofVersion1 = {
  summary: 'A body of x402 version 1',
  body: { x402Version: 1, paymentPayload: {}, paymentRequirements: {} },
  status: 400,
}

export const supportedOperation: Operation = {
  id: 'getSupported',
  tag: 'Payments',
  summary: 'Schemes and networks served, and the wallets that pay the gas',
  answers: { 200: 'What is served.' },
  examples: {
    supported: {
      summary: 'Arc mainnet',
      status: 200,
      answer: {
        kinds: [
          {
            x402Version: 2,
            scheme: 'exact',
            network,
            extra: {
              assets: [
                {
                  address: requirement.asset,
                  symbol: 'USDC',
                  decimals: 6,
                  name: 'USDC',
                  version: '2',
                  currency: 'USD',
                  minAmount: '1',
                },
              ],
            },
          },
        ],
        extensions: ['bazaar', 'payment-identifier'],
        signers: { 'eip155:*': ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'] },
      },
    },
  },
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
    upto: {
      summary: 'Up to one cent, by Permit2, from a payer who has not approved it',
      body: uptoPayment,
      status: 200,
      answer: {
        isValid: false,
        invalidReason: 'permit2_allowance_required',
        invalidMessage: `The payer ${examplePayer.toLowerCase()} lets Permit2 take 0 of the token, the payment needs 10000: the payer must approve Permit2, or sign a permit (eip2612GasSponsoring).`,
        payer,
      },
    },
    version1: {
      ...ofVersion1,
      answer: { isValid: false, invalidReason: version.reason, invalidMessage: version.message },
    },
  },
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
  examples: {
    settled: {
      summary: 'A payment of one cent',
      body: wellFormedPayment.body,
      status: 200,
      answer: { success: true, payer, transaction, network },
    },
    nothingUsed: {
      summary: 'Up to one cent, of which nothing was used',
      body: {
        ...uptoPayment,
        paymentRequirements: { ...uptoRequirement, amount: '0' },
      },
      status: 200,
      answer: { success: true, payer, transaction: '', network, amount: '0' },
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
      ...ofVersion1,
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
  payTo: wellFormedPayment.payTo,
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

export const attestationOperation: Operation = {
  id: 'getAttestation',
  tag: 'Payments',
  summary: 'The signed statement that a payment settled here',
  description:
    'The extension `facilitator-attestation`. It is signed when the payment is confirmed and never changes. It says which facilitator settled the payment; look the transaction up on chain.',
  answers: { 200: 'The attestation.' },
  codes: [httpCodes.not_found, httpCodes.payment_not_confirmed, httpCodes.ambiguous_nonce],
  examples: { unknown: unknownPayment },
}

export const receiptOperation: Operation = {
  id: 'getReceipt',
  tag: 'Payments',
  summary: 'A receipt to print or keep',
  description:
    'A page without scripts. With `Accept: application/json` it is JSON of the schema below. Only a confirmed payment has one.',
  answers: { 200: 'The receipt.' },
  codes: [httpCodes.not_found, httpCodes.payment_not_confirmed, httpCodes.ambiguous_nonce],
  examples: { unknown: unknownPayment },
}

export const wellKnownOperation: Operation = {
  id: 'getFacilitator',
  tag: 'Payments',
  summary: 'Networks, schemes, tokens, wallets, keys and addresses of this facilitator',
  answers: cached('The facilitator.'),
  examples: { facilitator: { summary: 'This deployment', status: 200 } },
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
