import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { parseUint256 } from './amounts.js'

/** A signature of a contract wallet can be long (passkeys, multisigs); past this it is not one. */
const MAX_SIGNATURE_BYTES = 8_192
/** The longest network, scheme or URL text that is looked at. */
export const MAX_TEXT_CHARS = 2_048
/** A day: no merchant holds a request open that long, and it keeps timers in range. */
const MAX_TIMEOUT_SECONDS = 86_400 * 365

const text = z.string().min(1, 'must not be empty').max(MAX_TEXT_CHARS, 'is too long')

/** Lower-cased. */
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be a 20-byte hex address with 0x prefix')
  .transform((value) => value.toLowerCase() as Address)

const uint256 = z.string().transform((value, context) => {
  const parsed = parseUint256(value)
  if (parsed !== undefined) return parsed
  context.addIssue({ code: 'custom', message: 'must be plain decimal digits of a uint256' })
  return z.NEVER
})

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
  network: text,
  amount: uint256,
  asset: address,
  payTo: address,
  maxTimeoutSeconds: z
    .number()
    .int('must be whole seconds')
    .positive('must be above 0')
    .max(MAX_TIMEOUT_SECONDS, 'is too long'),
  extra: looseObject.nullish(),
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
