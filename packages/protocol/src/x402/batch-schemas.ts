import { z } from 'zod'
import { parseUint256 } from './amounts.js'
import {
  address,
  bytes32,
  paymentRequirementsSchema,
  signature,
  statedAddress,
} from './request-schemas.js'
import { canonicalSignature } from './signature-forms.js'

/** The most rows of one claim: they fit a transaction of a third of a block with room to spare. */
const MAX_CLAIMS = 150

const MAX_UINT128 = 2n ** 128n - 1n
const MAX_UINT40 = 2 ** 40 - 1

/** Plain decimal digits. They stay a string, because the scheme of the official package takes strings. */
const uint256 = z
  .string()
  .refine((text) => parseUint256(text) !== undefined, 'must be plain decimal digits of a uint256')
const uint128 = z
  .string()
  .refine(
    (text) => (parseUint256(text) ?? MAX_UINT128 + 1n) <= MAX_UINT128,
    'must be plain decimal digits of a uint128',
  )

const salt = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/, 'must be up to 32 bytes of hex')

export const channelConfigSchema = z.object({
  payer: address,
  payerAuthorizer: address,
  receiver: address,
  receiverAuthorizer: address,
  token: address,
  withdrawDelay: z.number().int('must be whole seconds').min(0).max(MAX_UINT40),
  salt: bytes32,
})

export const voucherFieldsSchema = z.object({
  channelId: bytes32,
  maxClaimableAmount: uint128,
  signature,
})

/**
 * Merchants post vouchers as the official package accepted and stored them. It reads amounts with `BigInt` and leaves salt
 * and signature to viem, which accepts more spellings than our schemas do. A claim must not fail for such a spelling.
 */
const keptChannel = channelConfigSchema.extend({
  salt: z.preprocess(
    (value) => (typeof value === 'string' && value.length === 65 ? `${value}0` : value),
    bytes32,
  ),
})
const keptUint128 = z.preprocess(readAsBigInt, uint128)
const keptSignature = z.preprocess(
  (value) => (isEvenHex(value) ? value : (canonicalSignature(value) ?? value)),
  signature,
)

const claim = z.object({
  voucher: z.object({ channel: keptChannel, maxClaimableAmount: keptUint128 }),
  signature: keptSignature,
  totalClaimed: keptUint128,
})
const claims = z.array(claim).max(MAX_CLAIMS, `must be at most ${MAX_CLAIMS} rows`)

export const depositSchema = z.object({
  type: z.literal('deposit'),
  channelConfig: channelConfigSchema,
  voucher: voucherFieldsSchema,
  deposit: z.object({
    amount: uint128,
    authorization: z.object({
      erc3009Authorization: z.object({
        validAfter: uint256,
        validBefore: uint256,
        salt,
        signature,
      }),
    }),
  }),
})

export const voucherSchema = z.object({
  type: z.literal('voucher'),
  channelConfig: channelConfigSchema,
  voucher: voucherFieldsSchema,
})

/** A refund as the buyer sends it; the merchant adds the rest before it is settled. */
export const refundSchema = z.object({
  type: z.literal('refund'),
  channelConfig: channelConfigSchema,
  voucher: voucherFieldsSchema,
  amount: uint128.optional(),
})

export const enrichedRefundSchema = refundSchema.extend({
  channelConfig: keptChannel,
  voucher: voucherFieldsSchema.extend({
    maxClaimableAmount: keptUint128,
    signature: keptSignature,
  }),
  amount: uint128,
  refundNonce: uint256,
  claims,
  refundAuthorizerSignature: signature.optional(),
  claimAuthorizerSignature: signature.optional(),
})

export const claimSchema = z.object({
  type: z.literal('claim'),
  claims: claims.min(1, 'must have at least one row'),
  claimAuthorizerSignature: signature.optional(),
})

export const settleSchema = z.object({
  type: z.literal('settle'),
  receiver: statedAddress,
  token: address,
})

/** The channel manager of the official package sends an amount of "0" and a timeout of 0. */
export const batchRequirementsSchema = paymentRequirementsSchema.extend({
  maxTimeoutSeconds: z
    .number()
    .int('must be whole seconds')
    .min(0)
    .max(86_400 * 365, 'is too long'),
  extra: z
    .object({
      receiverAuthorizer: statedAddress.optional(),
      withdrawDelay: z.number().int('must be whole seconds').min(0).max(MAX_UINT40).optional(),
      name: z.string().max(200).optional(),
      version: z.string().max(200).optional(),
      assetTransferMethod: z.string().max(200).optional(),
    })
    .nullish(),
})

export type ChannelConfig = z.infer<typeof channelConfigSchema>
export type Deposit = z.infer<typeof depositSchema>
export type Voucher = z.infer<typeof voucherSchema>
export type ChannelRefund = z.infer<typeof refundSchema>
export type EnrichedRefund = z.infer<typeof enrichedRefundSchema>
export type Claim = z.infer<typeof claimSchema>
export type ClaimRow = Claim['claims'][number]
export type ReceiverSettle = z.infer<typeof settleSchema>
export type BatchPayload =
  | Deposit
  | Voucher
  | ChannelRefund
  | EnrichedRefund
  | Claim
  | ReceiverSettle
export type BatchRequirements = z.infer<typeof batchRequirementsSchema>

/** Longer texts are no amounts, and slow to parse. */
const MAX_AMOUNT_CHARS = 100

function readAsBigInt(value: unknown): unknown {
  if (typeof value === 'string' && value.length > MAX_AMOUNT_CHARS) return value
  try {
    return BigInt(value as never).toString()
  } catch {
    return value
  }
}

function isEvenHex(value: unknown): boolean {
  return typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)
}
