import { describeCodes } from '@arcus/protocol/answers/errors'
import { codesOf } from '@arcus/protocol/answers/payments'
import { cached, type DescribedRoute, described, type Operation } from '../http/operation.js'
import {
  attestationOperation,
  examplePayment,
  paymentOperation,
  receiptOperation,
  statusOperation,
  transactionOperation,
} from './lookup/operations.js'

const { network, payer, payTo, nonce, transaction } = examplePayment

const requirement = {
  scheme: 'exact',
  network,
  amount: '10000',
  asset: '0x3600000000000000000000000000000000000000',
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

const paymentPayload = {
  x402Version: 2,
  resource: { url: 'https://api.example.com/quote', description: 'A quote' },
  accepted: requirement,
  payload: {
    authorization: {
      from: payer,
      to: payTo,
      value: '10000',
      validAfter: '0',
      validBefore: '4102444800',
      nonce,
    },
    signature:
      '0x64e19fe0d46e59ec3256263a74b35dfcdb3751ee76fa595adc8a4c0b4a983f00031a85cffa7d26d0c6dbbc3f09bcebfd75ede0fe8d069630d5e347be5c3a75281c',
  },
}

/** One cent, signed, valid until 2100. */
const wellFormedPayment = {
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
        from: payer,
        permitted: { token: requirement.asset, amount: '10000' },
        spender: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
        nonce: '7',
        deadline: '4102444800',
        witness: {
          to: payTo,
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
        invalidMessage: `The payer ${payer.toLowerCase()} lets Permit2 take 0 of the token, the payment needs 10000: the payer must approve Permit2, or sign a permit (eip2612GasSponsoring).`,
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

export const wellKnownOperation: Operation = {
  id: 'getFacilitator',
  tag: 'Payments',
  summary: 'Networks, schemes, tokens, wallets, keys and addresses of this facilitator',
  answers: cached('The facilitator.'),
  examples: { facilitator: { summary: 'This deployment', status: 200 } },
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
