import { z } from 'zod'
import { type ReasonKey, reasons } from '../x402/reasons.js'
import { permit2Nonce } from '../x402/request-schemas.js'
import {
  type AnswerOf,
  address,
  amount,
  anyObject,
  currency,
  hash,
  network,
  time,
  usd,
} from './fields.js'
import { choiceParameter } from './parameters.js'

/** Reasons that only a settle can give. */
const settleOnly: readonly ReasonKey[] = [
  'idempotencyKeyConflict',
  'transactionFailed',
  'transferEventMismatch',
  'settlementPending',
  'settlementUnknown',
  'notSentInTime',
  'unexpectedSettleError',
]
const verifyOnly: readonly ReasonKey[] = ['unexpectedVerifyError']

/** Returns the codes of the table that an answer of the family can carry. */
export function codesOf(family: 'verify' | 'settle') {
  const foreign = family === 'verify' ? settleOnly : verifyOnly
  return Object.entries(reasons)
    .filter(([key]) => !foreign.includes(key as ReasonKey))
    .map(([, reason]) => reason)
}

/** The codes of payments that were checked and refused, which is a 200. */
function refusals(family: 'verify' | 'settle') {
  const codes = codesOf(family).filter(({ status }) => status === 200)
  return z.enum(codes.map(({ code }) => code) as [string, ...string[]])
}

const sentence = z.string().describe('One sentence with the expected and the actual value.')

export const takenAsset = z
  .object({
    address,
    symbol: z.string(),
    decimals: z.int(),
    name: z.string().describe('Quoted in `extra.name`: the name of the EIP-712 domain.'),
    version: z.string().describe('Quoted in `extra.version`.'),
    currency,
    minAmount: amount.describe('The least payment, in atomic units.'),
  })
  .meta({ id: 'TakenAsset', description: 'A token in which payments are settled.' })

export type TakenAsset = AnswerOf<typeof takenAsset>

export const supportedAnswer = z.object({
  kinds: z.array(
    z.object({
      x402Version: z.literal(2),
      scheme: z.string(),
      network,
      extra: z.object({
        assets: z.array(takenAsset),
        assetTransferMethods: z
          .array(z.enum(['eip3009', 'permit2']))
          .optional()
          .describe('How `exact` moves the tokens, and how deposits of `batch-settlement` do.'),
        facilitatorAddress: address
          .optional()
          .describe(
            'The address that a payer of `upto` names, and that alone can settle: the multicall of the relayers, or one of them.',
          ),
      }),
    }),
  ),
  extensions: z.array(z.string()),
  signers: z.record(z.string(), z.array(address)).describe('Relayer wallets by family of chains.'),
})

export type SupportedAnswer = AnswerOf<typeof supportedAnswer>

const channelState = anyObject
  .optional()
  .describe('State of the payment channel, for `batch-settlement`.')

export const verifyAnswer = z
  .union([
    z.object({ isValid: z.literal(true), payer: address, extra: channelState }),
    z.object({
      isValid: z.literal(false),
      invalidReason: refusals('verify'),
      invalidMessage: sentence,
      payer: address.optional(),
      extra: channelState,
    }),
  ])
  .meta({ id: 'VerifyAnswer' })

/** The status of a payment, in the form of other facilitators. */
const settlementStatus = z
  .enum(['pending', 'completed', 'failed'])
  .describe('`completed`: on chain, and settled by it. `failed`: not settled here.')
const paymentId = z.string().describe('The id of the payment in this service.')

const followed = {
  status: settlementStatus,
  paymentId,
  statusUrl: z.url().describe('Its answer has the same `status`, now or later.'),
}

const settleExtensions = z
  .looseObject({
    'settlement-status': z
      .object({
        ...followed,
        info: z.object(followed).describe('The same, in the form of x402.'),
        schema: anyObject,
      })
      .optional(),
  })
  .optional()

export const settleAnswer = z
  .union([
    z.object({
      success: z.literal(true),
      transaction: z.union([hash, z.literal('')]),
      network,
      payer: address.optional(),
      amount: amount.optional().describe('What moved on chain, for `upto` and `batch-settlement`.'),
      extra: channelState,
      extensions: settleExtensions.describe(
        '`settlement-status`: where to follow it. `facilitator-attestation`: the signed statement, where settlements are attested.',
      ),
    }),
    z.object({
      success: z.literal(false),
      errorReason: refusals('settle'),
      errorMessage: sentence,
      transaction: z
        .union([hash, z.literal('')])
        .describe('Empty until there is a transaction; every later answer names it.'),
      network: z.string(),
      payer: address.optional(),
      extensions: settleExtensions.describe('`settlement-status`, while the payment is pending.'),
    }),
  ])
  .meta({ id: 'SettleAnswer' })

const payment = {
  network,
  asset: address,
  payer: address,
  payTo: address,
  nonce: hash,
  amount,
  explorerUrl: z.url().nullable(),
  blockNumber: z.int().nullable(),
}

const refundPaid = z
  .object({
    amount: amount.describe('Atomic units, at most those that were paid.'),
    from: address.describe('The address that was paid, or the wallet that pays its refunds.'),
    nonce: hash.describe('Follows from the payment. With network and `from` it finds the refund.'),
    transaction: hash,
    confirmedAt: time,
  })
  .nullable()
  .describe(
    'What the seller gave back of it: a payment to the payer that settled here, and whose nonce is the one of a refund of this payment. `null` where there is none, which a transfer by hand is not.',
  )

export type RefundPaid = NonNullable<AnswerOf<typeof refundPaid>>

/** A payment, for anybody who knows its nonce. */
export const paymentStatus = z
  .object({
    ...payment,
    settlementId: z.string().describe('The id in the log lines of this service.'),
    paymentId: z.string().describe('The same id, under the name that other facilitators use.'),
    status: settlementStatus,
    symbol: z.string().nullable().describe('Of the asset; `null` for one that is no longer taken.'),
    currency,
    state: z
      .enum(['queued', 'submitted', 'confirmed', 'failed', 'used'])
      .describe(
        '`queued`: accepted; it may have been sent within the last 1.5 seconds. `submitted`: sent. `confirmed`: on chain. `failed`: not settled here; until `unusedAtBlock` is known, others may still bring it on chain. `used`: it failed here, and the chain shows its authorization as used all the same, in `transaction` where that was found.',
      ),
    unusedAtBlock: z
      .int()
      .nullable()
      .describe(
        'A block after `validBefore` in which the chain showed the authorization of a failed payment as unused: it can never move money any more. `null` before anybody looked, and for every other payment.',
      ),
    transaction: hash.nullable(),
    errorReason: z.string().nullable(),
    errorMessage: z.string().nullable(),
    delivered: z.boolean().describe('Whether a caller of settle received the success.'),
    createdAt: time.describe('When it was found valid and accepted.'),
    sentAt: time
      .nullable()
      .describe('When its transaction was sent; `null` without one, and for one of somebody else.'),
    deliveredAt: time.nullable().describe('When the success was answered.'),
    updatedAt: time.describe('When its state changed last: of a confirmed one, its confirmation.'),
    validAfter: z.string(),
    validBefore: z.string(),
    gasUsd: usd.nullable().describe("This payment's share of the gas."),
    refund: refundPaid,
  })
  .meta({ id: 'PaymentStatus' })

export type PaymentStatus = AnswerOf<typeof paymentStatus>

/** The status of a row of the journal, found by its id. */
export const statusAnswer = z
  .object({
    paymentId,
    status: settlementStatus,
    network,
    transaction: hash.nullable(),
    updatedAt: time,
  })
  .meta({ id: 'SettlementStatus' })

export type SettlementStatus = AnswerOf<typeof statusAnswer>

const decimal = z.string().regex(/^(0|[1-9][0-9]*)$/)

/** The signed statement of the extension `facilitator-attestation`. */
export const attestationAnswer = z
  .object({
    format: z.literal('eip712'),
    payload: z.object({
      version: z.literal(1),
      network,
      transaction: hash,
      payer: address,
      payee: address,
      asset: address,
      amount,
      facilitator: address,
      facilitatorFee: amount,
      observedAt: decimal.describe('Unix seconds.'),
    }),
    signature: z
      .string()
      .regex(/^0x[0-9a-f]{130}$/)
      .describe('EIP-712: domain `x402 receipt`, version `1`, chain 1.'),
  })
  .meta({ id: 'Attestation' })

/** The headers of a settle. */
export const settleHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{16,128}$/)
    .optional()
    .describe('A fresh one for each payment; the same key and payment get the success again.'),
})

/** A receipt that a person can keep. */
export const receiptAnswer = z
  .object({
    ...payment,
    merchant: z
      .string()
      .nullable()
      .describe('The listing that speaks for `payTo`; `null` if there is none.'),
    merchantId: z.string().nullable().describe('The id of that listing.'),
    resource: z
      .string()
      .nullable()
      .describe(
        'Host and path as the payer stated them, unsigned, without the query; `null` if it is not known.',
      ),
    price: z.string().describe('The amount in whole units of the token.'),
    symbol: z.string().describe('Of the token.'),
    transaction: hash,
    acceptedAt: time,
    confirmedAt: time,
    refund: refundPaid,
    attestation: attestationAnswer.nullable(),
  })
  .meta({ id: 'Receipt' })

export type ReceiptAnswer = AnswerOf<typeof receiptAnswer>

export const transactionAnswer = z.object({ transaction: hash, payments: z.array(paymentStatus) })

/** Parameters of `/payments/{network}/{payer}/{nonce}`. */
export const paymentParams = z.object({
  network: z.string().describe('CAIP-2; eip155:5042 is Arc.'),
  payer: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be a 20-byte hex address with 0x prefix')
    .describe('`authorization.from`.'),
  nonce: z
    .string()
    .regex(
      /^(0x[0-9a-fA-F]{64}|[0-9]{1,78})$/,
      'must be 32 bytes of hex with 0x prefix, or the decimal nonce of Permit2',
    )
    .pipe(permit2Nonce)
    .describe('`authorization.nonce`, or `permit2Authorization.nonce` in decimal or hex.'),
})

/** The query that distinguishes payments with one nonce. */
export const whichQuery = z.object({
  asset: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be a 20-byte hex address with 0x prefix')
    .optional()
    .describe('The token, where a payer used one nonce in several.'),
  method: choiceParameter(['eip3009', 'permit2'])
    .optional()
    .describe('`permit2` for payments by Permit2, where a payer used one nonce by both methods.'),
})

export const transactionParams = z.object({
  transaction: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 32 bytes of hex with 0x prefix')
    .describe('As the answer to a settle names it.'),
})

/** Parameters of `/payments/status/{paymentId}`. */
export const statusParams = z.object({
  paymentId: z
    .string()
    .regex(/^[0-9A-Za-z-]{1,64}$/, 'must be the paymentId of an answer of settle')
    .describe('As the answer to a settle names it.'),
})
