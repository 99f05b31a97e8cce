import { type Hex, isAddress } from 'viem'
import { z } from 'zod'
import { addressField, agentId, listingLimits as limits } from '../listing/listing.js'
import { CHECKSUM_PROBLEM, hasWrongChecksum } from '../x402/address.js'
import { merchantEventTypes } from './events.js'
import { endpointId } from './fields.js'

/*
 * The messages that wallets sign and send: the fields that are common to signed messages, the request of a write, and the bodies of the
 * actions.
 */

/** Long enough for any origin and any id; a text that does not match is refused with a code of its own. */
const MAX_TEXT_CHARS = 300
const hexProblem = (bytes: number) => `must be ${bytes} bytes of hex with 0x`

const addressText = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), { error: hexProblem(20), abort: true })
const wire = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const

/** The spelling of an address is not part of what is signed, so any is accepted. */
const address = addressText.transform((text) => text.toLowerCase() as Hex).meta({ wire })

/** The checksum of an address that money may go to must be right. */
const statedAddress = addressText
  .refine((text) => !hasWrongChecksum(text), { error: CHECKSUM_PROBLEM })
  .transform((text) => text.toLowerCase() as Hex)
  .meta({ wire })

const bytes32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, { error: hexProblem(32) })
  .transform((text) => text.toLowerCase() as Hex)

const shortText = z
  .string()
  .max(MAX_TEXT_CHARS, { error: `must be at most ${MAX_TEXT_CHARS} characters` })

/** Wallets write the integers of typed data as digits; both spellings sign the same. */
const integer = z
  .union([z.number(), z.string().regex(/^(0|[1-9][0-9]{0,15})$/)], {
    error: 'must be a whole number, or its decimal digits',
  })
  .transform(Number)
  .refine((value) => Number.isSafeInteger(value) && value >= 0, {
    error: 'must be a whole number from 0 to 9007199254740991',
  })

const signature = z
  .string()
  .max(2 + 2 * limits.signature.maxBytes, {
    error: `must be at most ${limits.signature.maxBytes} bytes`,
  })
  .regex(/^0x([0-9a-fA-F]{2})+$/, { error: 'must be hex with 0x' })
  .transform((text) => text as Hex)

/** The request of a write; `body` has the form of its action. */
export const writeEnvelope = z.strictObject({
  message: z
    .strictObject({
      action: shortText,
      audience: shortText,
      merchantId: shortText,
      owner: address,
      payTo: statedAddress,
      bodyHash: bytes32,
      revision: integer,
      nonce: bytes32,
      issuedAt: integer,
      deadline: integer,
    })
    .meta({
      id: 'ListingWrite',
      description: 'The EIP-712 message of `GET /api/signing`, as it was signed.',
    }),
  signature,
  /** JSON within the limits of a request, not checked further. */
  body: z.unknown(),
  /** The chain that the caller signed for, if the request names it. */
  chainId: integer.optional(),
})

/** The longest request of a write without a listing, in bytes: a message, and the signature of a contract wallet. */
export const SMALL_WRITE_BYTES = 32_768

/** Returns the request of a write whose body has this form. */
export function writeOf<Body extends z.ZodType>(body: Body) {
  return writeEnvelope.extend({ body })
}

/** Bodies of the actions other than saving the listing itself. */
export const emptyBody = z.strictObject({})
/** The id of the endpoint that should be bought from. */
export const checkBody = z.strictObject({ endpoint: endpointId })
/** `null` takes the offer back. */
export const offerBody = z.strictObject({ to: addressField.nullable() })
export const linkBody = z.strictObject({ agentId: agentId.nullable() })
/** `null` takes the confirmation back. */
export const confirmationBody = z.strictObject({ owner: addressField.nullable() })

const MAX_HOOK_URL_CHARS = 1_000

const hookId = z
  .string()
  .regex(/^hook_[A-Za-z0-9_-]{16}$/, 'must be the id of a webhook, such as hook_…')

/** `id` is `null` for a new one. `since` is the event after which deliveries go on; `null` leaves that as it is. */
export const hookBody = z.strictObject({
  id: hookId.nullable(),
  url: z.string().max(MAX_HOOK_URL_CHARS, `must be at most ${MAX_HOOK_URL_CHARS} characters`),
  types: z
    .array(z.enum(merchantEventTypes))
    .min(1, 'must name at least one event')
    .max(merchantEventTypes.length, 'must name each event once')
    .refine((types) => new Set(types).size === types.length, 'must name each event once'),
  since: z.int().min(0, 'must not be negative').nullable(),
})

/** Names the webhook to remove or to test. */
export const hookRemoval = z.strictObject({ id: hookId })
export const hookTargetBody = hookBody.pick({ url: true })
