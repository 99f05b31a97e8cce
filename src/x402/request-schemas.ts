import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { parseUint256 } from './amounts.js'
import { CHECKSUM_PROBLEM, hasWrongChecksum } from './checksum.js'

/** A signature of a contract wallet can be long (passkeys, multisigs); past this it is not one. */
const MAX_SIGNATURE_BYTES = 8_192
/** The longest network, scheme or URL text that is looked at. */
export const MAX_TEXT_CHARS = 2_048
/** A day: no merchant holds a request open that long, and it keeps timers in range. */
const MAX_TIMEOUT_SECONDS = 86_400 * 365

const text = z.string().min(1, 'must not be empty').max(MAX_TEXT_CHARS, 'is too long')

const addressText = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be a 20-byte hex address with 0x prefix')

/** Lower-cased. */
export const address = addressText.transform((value) => value.toLowerCase() as Address)

/** Lower-cased, where a merchant states it: spelled in both cases, its checksum must be right. */
export const statedAddress = addressText
  .refine((text) => !hasWrongChecksum(text), CHECKSUM_PROBLEM)
  .transform((value) => value.toLowerCase() as Address)

const uint256 = z
  .string()
  .transform((value, context) => {
    const parsed = parseUint256(value)
    if (parsed !== undefined) return parsed
    context.addIssue({ code: 'custom', message: 'must be plain decimal digits of a uint256' })
    return z.NEVER
  })
  .meta({ wire: { type: 'string', pattern: '^(0|[1-9][0-9]{0,77})$' } })

/** Lower-cased. */
export const bytes32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 32 bytes of hex with 0x prefix')
  .transform((value) => value.toLowerCase() as Hex)

/** Lower-cased; bytes of any wallet. */
export const signature = z
  .string()
  .max(2 + 2 * MAX_SIGNATURE_BYTES, `must be at most ${MAX_SIGNATURE_BYTES} bytes`)
  .regex(/^0x([0-9a-fA-F]{2})*$/, 'must be hex bytes with 0x prefix')
  .transform((value) => value.toLowerCase() as Hex)

const looseObject = z.record(z.string(), z.unknown())

/** `paymentRequirements` of x402 v2, scheme `exact`. Unknown members are ignored. */
export const paymentRequirementsSchema = z.object({
  scheme: text,
  network: text.describe('CAIP-2.'),
  amount: uint256.describe('6-decimal units.'),
  asset: address.describe('The stablecoin.'),
  payTo: statedAddress.describe('Who is paid; in mixed case its EIP-55 checksum must be right.'),
  maxTimeoutSeconds: z
    .number()
    .int('must be whole seconds')
    .positive('must be above 0')
    .max(MAX_TIMEOUT_SECONDS, 'is too long')
    .describe('The longest a settle waits, if below what this service waits itself.'),
  extra: looseObject.nullish().describe("The token's EIP-712 `name` and `version`."),
})

/** `paymentPayload` of x402 v2 before its scheme is known. Unknown members are ignored. */
export const paymentPayloadSchema = z.object({
  accepted: z.object({ scheme: text, network: text }),
  payload: looseObject,
  resource: z.unknown().optional(),
})

/** `paymentPayload.payload` of scheme `exact` by EIP-3009. */
export const exactPayloadSchema = z.object({
  authorization: z.object({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
  }),
  signature,
})

const version = z.literal(2)
const notExact = z.string().regex(/^(?!exact$)/)

/**
 * The body of `/verify` and `/settle` as a whole, for its description: `parse-request` judges the same parts one after
 * the other, because each has a code of its own.
 */
export const paymentRequestSchema = z.union([
  z
    .object({
      x402Version: version,
      paymentPayload: paymentPayloadSchema.extend({
        x402Version: version,
        payload: exactPayloadSchema,
      }),
      paymentRequirements: paymentRequirementsSchema.extend({ scheme: z.literal('exact') }),
    })
    .describe('A payment of scheme `exact` by EIP-3009.'),
  z
    .object({
      x402Version: version,
      paymentPayload: paymentPayloadSchema.extend({ x402Version: version }),
      paymentRequirements: z.looseObject({ scheme: notExact }),
    })
    .describe('Of another scheme; answered with `unsupported_scheme`.'),
])
