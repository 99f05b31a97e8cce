import { type Hex, isAddress } from 'viem'
import { z } from 'zod'
import {
  type ListingAction,
  type ListingWriteJson,
  listingActions,
} from '../listing-client/listing-write.js'
import { CHECKSUM_PROBLEM, hasWrongChecksum } from '../x402/address.js'
import { isDeeperThan } from './json-bounds.js'
import { describeIssue, formatPath } from './listing-body.js'
import { listingLimits as limits } from './listing-limits.js'
import { quote } from './listing-text.js'
import { WriteFault } from './write-codes.js'

/** A signed write as it is sent. */
export interface WriteEnvelope {
  message: ListingWriteJson
  signature: Hex
  /** JSON within the limits of a request, not judged further. */
  body: unknown
  /** The chain the caller says it signed for; it need not say. */
  chainId?: number | undefined
}

/** Long enough for any origin and any id; what does not match is refused by its own code. */
const MAX_TEXT_CHARS = 300
const hexProblem = (bytes: number) => `must be ${bytes} bytes of hex with 0x`

const addressText = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), { error: hexProblem(20), abort: true })
const wire = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const

/** Addresses keep their spelling: it is not part of what is signed. */
const address = addressText.transform((text) => text.toLowerCase() as Hex).meta({ wire })

/** The same of an address that money may go to. */
const statedAddress = addressText
  .refine((text) => !hasWrongChecksum(text), { error: CHECKSUM_PROBLEM })
  .transform((text) => text.toLowerCase() as Hex)
  .meta({ wire })

const bytes32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, { error: hexProblem(32) })
  .transform((text) => text.toLowerCase() as Hex)

const text = z
  .string()
  .max(MAX_TEXT_CHARS, { error: `must be at most ${MAX_TEXT_CHARS} characters` })

/** Wallets write integers of typed data as digits; both are the same in what is signed. */
const integer = z
  .union([z.number(), z.string().regex(/^(0|[1-9][0-9]{0,15})$/)], {
    error: 'must be a whole number, or its decimal digits',
  })
  .transform(Number)
  .refine((value) => Number.isSafeInteger(value) && value >= 0, {
    error: 'must be a whole number from 0 to 9007199254740991',
  })

/** The request of a write; `body` is that of its action. */
export const writeEnvelope = z.strictObject({
  message: z
    .strictObject({
      action: text,
      audience: text,
      merchantId: text,
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
  signature: z
    .string()
    .max(2 + 2 * limits.signature.maxBytes, {
      error: `must be at most ${limits.signature.maxBytes} bytes`,
    })
    .regex(/^0x([0-9a-fA-F]{2})+$/, { error: 'must be hex with 0x' })
    .transform((text) => text as Hex),
  body: z.unknown(),
  chainId: integer.optional(),
})

/** Reads the request of a write. Throws a `WriteFault`: `invalid_write`, `unknown_action` or `invalid_listing`. */
export function parseEnvelope(request: unknown): WriteEnvelope {
  const parsed = writeEnvelope.safeParse(request, { error: describeIssue })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const path = formatPath(issue?.path ?? []) || 'The request'
    throw new WriteFault('invalidWrite', `${path} ${issue?.message ?? 'is malformed'}.`)
  }
  const { message, body, ...rest } = parsed.data
  if (body === undefined) throw new WriteFault('invalidWrite', 'body is required.')
  const { maxDepth } = limits.request
  if (isDeeperThan(body, maxDepth)) {
    throw new WriteFault('invalidListing', `The body must not nest deeper than ${maxDepth} levels.`)
  }
  const { action } = message
  if (isAction(action)) return { ...rest, body, message: { ...message, action } }
  const known = listingActions.join(', ')
  throw new WriteFault('unknownAction', `message.action ${quote(action)} is not one of ${known}.`)
}

function isAction(text: string): text is ListingAction {
  return (listingActions as readonly string[]).includes(text)
}
