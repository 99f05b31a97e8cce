import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { CHECKSUM_PROBLEM, hasWrongChecksum } from './address.js'
import { parseUint256 } from './amounts.js'

/** Signatures of contract wallets can be long (passkeys, multisigs), but not longer than this. */
const MAX_SIGNATURE_BYTES = 8_192
/** The longest network, scheme or URL text that is read. */
export const MAX_TEXT_CHARS = 2_048
/** A year: no merchant holds a request open that long, and the bound keeps timers in range. */
const MAX_TIMEOUT_SECONDS = 86_400 * 365

const text = z.string().min(1, 'must not be empty').max(MAX_TEXT_CHARS, 'is too long')

const addressText = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be a 20-byte hex address with 0x prefix')

/** An address in any case; parsed to lower case. */
export const address = addressText.transform((value) => value.toLowerCase() as Address)

/** An address that a merchant states: in mixed case its checksum must be right. Parsed to lower case. */
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

/** 32 bytes of hex; parsed to lower case. */
export const bytes32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 32 bytes of hex with 0x prefix')
  .transform((value) => value.toLowerCase() as Hex)

/** The bytes of a signature of an account or a contract wallet; parsed to lower case. */
export const signature = z
  .string()
  .max(2 + 2 * MAX_SIGNATURE_BYTES, `must be at most ${MAX_SIGNATURE_BYTES} bytes`)
  .regex(/^0x([0-9a-fA-F]{2})*$/, 'must be hex bytes with 0x prefix')
  .transform((value) => value.toLowerCase() as Hex)

const looseObject = z.record(z.string(), z.unknown())

/** Describes `paymentRequirements` of x402 v2, scheme `exact`. Unknown members are ignored. */
export const paymentRequirementsSchema = z.object({
  scheme: text,
  network: text.describe('CAIP-2.'),
  amount: uint256.describe('6-decimal units.'),
  asset: address.describe('The stablecoin.'),
  payTo: statedAddress.describe('The recipient; in mixed case its EIP-55 checksum must be right.'),
  maxTimeoutSeconds: z
    .number()
    .int('must be whole seconds')
    .positive('must be above 0')
    .max(MAX_TIMEOUT_SECONDS, 'is too long')
    .describe('The longest a settle waits, if it is below the limit of this service.'),
  extra: looseObject.nullish().describe("The token's EIP-712 `name` and `version`."),
})

/** Describes `paymentPayload` of x402 v2 before its scheme is known. Unknown members are ignored. */
export const paymentPayloadSchema = z.object({
  accepted: z.object({ scheme: text, network: text }),
  payload: looseObject,
  resource: z.unknown().optional(),
  extensions: z.unknown().optional(),
})

/** Describes `paymentPayload.payload` of scheme `exact` by EIP-3009. */
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

/** A nonce of Permit2, in decimal or hex and with any padding; parsed to 32 bytes of hex, the one form that is compared. */
export const permit2Nonce = z
  .string()
  .regex(/^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/, 'must be a uint256 in decimal or hex')
  .transform((value, context): Hex => {
    const digits = BigInt(value).toString(16)
    if (digits.length <= 64) return `0x${digits.padStart(64, '0')}`
    context.addIssue({ code: 'custom', message: 'must be a uint256 in decimal or hex' })
    return z.NEVER
  })
  .meta({ wire: { type: 'string', pattern: '^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$' } })

/** Describes `paymentPayload.payload` of scheme `exact` by Permit2. */
export const permit2PayloadSchema = z.object({
  permit2Authorization: z.object({
    from: address,
    permitted: z.object({ token: address, amount: uint256 }),
    spender: address.describe("x402's proxy for the scheme."),
    nonce: permit2Nonce,
    deadline: uint256.describe('The last second in which it can settle.'),
    witness: z.object({ to: address, validAfter: uint256 }),
  }),
  signature,
})

/** Describes `paymentPayload.payload` of scheme `upto`, whose witness also names the wallet that settles. */
export const uptoPayloadSchema = permit2PayloadSchema.extend({
  permit2Authorization: permit2PayloadSchema.shape.permit2Authorization.extend({
    witness: z.object({ to: address, facilitator: address, validAfter: uint256 }),
  }),
})

/** The extension in which a buyer signs a permit of the token, so that their first payment needs no approval. */
export const GAS_SPONSORING = 'eip2612GasSponsoring'

/** Describes what the extension `eip2612GasSponsoring` holds: a permit of the token that lets Permit2 take the amount. */
export const gasSponsoringSchema = z.object({
  from: address,
  asset: address,
  spender: address,
  amount: uint256,
  nonce: uint256,
  deadline: uint256,
  signature: z
    .string()
    .regex(/^0x[0-9a-fA-F]{130}$/)
    .transform((value) => value.toLowerCase() as Hex),
  version: z.string().regex(/^[0-9]+(\.[0-9]+)*$/),
})

const version = z.literal(2)
const otherScheme = z.string().regex(/^(?!(exact|upto)$)/)

/** Describes a body with a payload of this scheme and kind. */
function requestOf<Scheme extends 'exact' | 'upto', Payload extends z.ZodObject>(
  scheme: Scheme,
  payload: Payload,
) {
  return z.object({
    x402Version: version,
    paymentPayload: paymentPayloadSchema.extend({ x402Version: version, payload }),
    paymentRequirements: paymentRequirementsSchema.extend({ scheme: z.literal(scheme) }),
  })
}

/**
 * Describes the whole body of `/verify` and `/settle` for the API document. `parseRequest` checks the same parts one
 * after the other, because each has a code of its own.
 */
export const paymentRequestSchema = z.union([
  requestOf('exact', exactPayloadSchema).describe('A payment of scheme `exact` by EIP-3009.'),
  requestOf('exact', permit2PayloadSchema).describe('A payment of scheme `exact` by Permit2.'),
  requestOf('upto', uptoPayloadSchema).describe(
    'A payment of scheme `upto`: `amount` is the ceiling at verify and the charge at settle.',
  ),
  z
    .object({
      x402Version: version,
      paymentPayload: paymentPayloadSchema.extend({ x402Version: version }),
      paymentRequirements: z.looseObject({ scheme: otherScheme }),
    })
    .describe('A payment of another scheme; answered with `unsupported_scheme`.'),
])
