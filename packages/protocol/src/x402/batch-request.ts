import type { Address } from 'viem'
import type { z } from 'zod'
import {
  type BatchPayload,
  type BatchRequirements,
  batchRequirementsSchema,
  claimSchema,
  type Deposit,
  depositSchema,
  enrichedRefundSchema,
  refundSchema,
  settleSchema,
  voucherSchema,
} from './batch-schemas.js'
import { quote } from './json.js'
import { badShape, malformed, readPaidResource, versionProblem } from './parse-request.js'
import { type AnsweredPayment, type PaidResource, paidResourceOf } from './payment.js'
import { readPaymentIdentifier } from './payment-identifier.js'
import type { Rejection } from './reasons.js'
import { paymentPayloadSchema } from './request-schemas.js'

export const BATCH_SETTLEMENT = 'batch-settlement'

/** A request of the scheme `batch-settlement`, parsed: hex in lower case, amounts as the decimal strings of the wire. */
export interface BatchRequest extends PaidResource {
  network: string
  requirements: BatchRequirements
  acceptedScheme: string
  acceptedNetwork: string
  payload: BatchPayload
}

type ParsedBatchRequest =
  | { ok: true; request: BatchRequest }
  | { ok: false; rejection: Rejection; payer?: Address }

/** Returns whether a body is for this scheme: the requirement names it, and the version is 2. */
export function isBatchBody(body: unknown): boolean {
  const { x402Version, paymentRequirements } = (body ?? {}) as Record<string, unknown>
  const scheme = (paymentRequirements as { scheme?: unknown } | null | undefined)?.scheme
  return x402Version === 2 && scheme === BATCH_SETTLEMENT
}

/** Parses a body of `/verify` or `/settle` that `isBatchBody` accepts; unknown members are dropped. */
export function parseBatchRequest(body: unknown): ParsedBatchRequest {
  const parts = body as Record<string, unknown>
  const version = versionProblem(parts)
  if (version !== undefined) return malformed('invalidX402Version', version)
  const paid = paymentPayloadSchema.safeParse(parts.paymentPayload)
  if (!paid.success) return badShape('invalidPayload', 'paymentPayload', paid.error, body)
  const asked = batchRequirementsSchema.safeParse(parts.paymentRequirements)
  if (!asked.success) {
    return badShape('invalidPaymentRequirements', 'paymentRequirements', asked.error, body)
  }
  const { accepted, payload } = paid.data
  const schema = findSchema(payload)
  if ('reason' in schema) return { ok: false, rejection: schema }
  const parsed = schema.safeParse(payload)
  if (!parsed.success) {
    return badShape('invalidPayload', 'paymentPayload.payload', parsed.error, body)
  }
  // The id is not bound: repeats are recognised by the channel's totals. One that the merchant requires must be there.
  const identified = readPaymentIdentifier(body)
  if (!identified.ok) return identified
  return {
    ok: true,
    request: {
      network: asked.data.network,
      requirements: asked.data,
      acceptedScheme: accepted.scheme,
      acceptedNetwork: accepted.network,
      payload: parsed.data,
      ...readPaidResource(paid.data),
    },
  }
}

/** Returns the payer of a payload that is about one channel. */
export function payerOf(payload: BatchPayload): Address | undefined {
  return 'channelConfig' in payload ? payload.channelConfig.payer : undefined
}

function findSchema(payload: Record<string, unknown>): z.ZodType<BatchPayload> | Rejection {
  switch (payload.type) {
    case 'deposit':
      return hasPermit2(payload) ? permit2 : depositSchema
    case 'voucher':
      return voucherSchema
    case 'refund':
      // The merchant's members come together: if one of them is there, the others are required.
      return 'refundNonce' in payload || 'claims' in payload ? enrichedRefundSchema : refundSchema
    case 'claim':
      return claimSchema
    case 'settle':
      return settleSchema
    default:
      return {
        reason: 'batchPayloadType',
        message: `paymentPayload.payload.type must be "deposit", "voucher", "claim", "settle" or "refund", got ${quote(payload.type)}.`,
      }
  }
}

function hasPermit2(payload: Record<string, unknown>): boolean {
  const deposit = payload.deposit as { authorization?: Record<string, unknown> } | undefined
  return deposit?.authorization?.permit2Authorization != null
}

const permit2: Rejection = {
  reason: 'unsupportedPayloadType',
  message: 'Permit2 deposits are not settled here; expected an erc3009Authorization.',
}

/**
 * Makes the summary of a request: a deposit or a voucher pays for one call at the price of its requirement. Claims,
 * payouts and refunds are no sales, so they have none.
 */
export function toAnsweredBatchPayment(request: BatchRequest): AnsweredPayment | undefined {
  const { payload, requirements, network } = request
  const payer = payerOf(payload)
  if (payer === undefined || payload.type === 'refund') return undefined
  const { asset, payTo } = requirements
  const amount =
    payload.type === 'deposit' ? paidBy(payload, requirements.amount) : requirements.amount
  const proof = 'voucher' in payload ? payload.voucher.signature : undefined
  return {
    network,
    asset,
    payTo,
    payer,
    amount,
    ...(proof && { proof }),
    ...paidResourceOf(request),
  }
}

/** Limits the price, which the caller states, to what the voucher grants and the deposit brings. */
function paidBy({ voucher, deposit }: Deposit, price: bigint): bigint {
  const bounds = [price, BigInt(voucher.maxClaimableAmount), BigInt(deposit.amount)]
  return bounds.reduce((least, bound) => (bound < least ? bound : least))
}
