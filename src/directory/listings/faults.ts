import { describeIssue, formatPath } from 'arcus-client/listing'
import { asSentence } from 'arcus-client/text'
import type { FastifyInstance } from 'fastify'
import { getAddress } from 'viem'
import { z } from 'zod'
import { RequestFault } from '../../http/errors.js'
import type { Example } from '../../http/operation.js'
import type { Merchant } from '../../store/listings.js'

interface WriteCode {
  /** On the wire, in `error`. */
  code: string
  status: number
  /** One sentence for the documentation. */
  meaning: string
}

/** Every reason to refuse a request about a listing, each with a code of its own. */
export const writeCodes = {
  invalidWrite: {
    code: 'invalid_write',
    status: 400,
    meaning: 'The request is not { message, signature, body }, or a member has the wrong form.',
  },
  invalidListing: {
    code: 'invalid_listing',
    status: 400,
    meaning: 'The body breaks a rule or a limit; the sentence names the field.',
  },
  offerToSelf: {
    code: 'offer_to_self',
    status: 400,
    meaning: 'The merchant was offered to the owner it has; `null` takes an offer back.',
  },
  invalidMerchantId: {
    code: 'invalid_merchant_id',
    status: 400,
    meaning: 'The id has the wrong form, or is reserved.',
  },
  unknownAction: {
    code: 'unknown_action',
    status: 400,
    meaning: 'The message names an action that does not exist.',
  },
  wrongAction: {
    code: 'wrong_action',
    status: 400,
    meaning: 'The message is signed for another action than it was sent for.',
  },
  wrongMerchant: {
    code: 'wrong_merchant',
    status: 400,
    meaning: 'The message names another merchant than the path.',
  },
  wrongAudience: {
    code: 'wrong_audience',
    status: 400,
    meaning: 'The message was signed for another directory.',
  },
  wrongChain: {
    code: 'wrong_chain',
    status: 400,
    meaning: 'The message was signed in the domain of another chain.',
  },
  writeExpired: { code: 'write_expired', status: 400, meaning: 'The deadline is past.' },
  issuedInFuture: {
    code: 'issued_in_future',
    status: 400,
    meaning: 'The message is issued later than our clock and the allowed skew.',
  },
  deadlineTooFar: {
    code: 'deadline_too_far',
    status: 400,
    meaning: 'The deadline is further ahead than allowed, or before the message was issued.',
  },
  bodyMismatch: {
    code: 'body_mismatch',
    status: 400,
    meaning: 'The body is not the one whose hash was signed.',
  },
  payToMismatch: {
    code: 'pay_to_mismatch',
    status: 400,
    meaning: 'The payTo of the message is not the one the listing has, or will have.',
  },
  invalidSignature: {
    code: 'invalid_signature',
    status: 401,
    meaning: 'The signature is not one of the owner, or of the payer who rates, over this message.',
  },
  notOwner: { code: 'not_owner', status: 403, meaning: 'The merchant belongs to somebody else.' },
  notOffered: {
    code: 'not_offered',
    status: 403,
    meaning: 'There is no open offer of the merchant to the signer.',
  },
  notPayTo: {
    code: 'not_pay_to',
    status: 403,
    meaning: 'The signer is not the address that the merchant is paid at.',
  },
  payToUnproven: {
    code: 'pay_to_unproven',
    status: 403,
    meaning:
      'The owner has not shown that the payout address is theirs: its key has to confirm the owner.',
  },
  merchantHidden: {
    code: 'merchant_hidden',
    status: 403,
    meaning: 'The operator hides the merchant; the sentence says why.',
  },
  merchantNotFound: {
    code: 'merchant_not_found',
    status: 404,
    meaning: 'There is no such merchant.',
  },
  merchantDeleted: {
    code: 'merchant_deleted',
    status: 410,
    meaning: 'The merchant was deleted; its id stays with its owner.',
  },
  hookNotFound: {
    code: 'hook_not_found',
    status: 404,
    meaning: 'The merchant has no webhook with this id.',
  },
  tooManyHooks: {
    code: 'too_many_hooks',
    status: 409,
    meaning: 'The merchant has as many webhooks as it may have.',
  },
  replayedNonce: {
    code: 'replayed_nonce',
    status: 409,
    meaning:
      'The owner used this nonce before; `details.revision` is what the message became, where it is that very one.',
  },
  staleRevision: {
    code: 'stale_revision',
    status: 409,
    meaning: 'The revision is not the next one; `details.revision` is the present one.',
  },
  endpointRefused: {
    code: 'endpoint_refused',
    status: 422,
    meaning: 'An endpoint gave a definite wrong answer; `details.endpoints` says which and what.',
  },
  tooManySaves: {
    code: 'too_many_saves',
    status: 429,
    meaning: 'The owner had many endpoints checked in a short time.',
  },
  tooManyNewOwners: {
    code: 'too_many_new_owners',
    status: 429,
    meaning: 'As many new owners as are taken in within an hour came from the same addresses.',
  },
  tooMuchWritten: {
    code: 'too_much_written',
    status: 429,
    meaning:
      'As much was written as is kept within an hour: by the owner, from these addresses, or by new owners.',
  },
  storageLow: {
    code: 'storage_low',
    status: 503,
    meaning: 'The disk of the service is nearly full, and what is left is kept for payments.',
  },
  bodyTooLarge: {
    code: 'body_too_large',
    status: 413,
    meaning: 'The request is larger than the published limit.',
  },
  chainUnavailable: {
    code: 'chain_unavailable',
    status: 503,
    meaning: 'The signature may be a contract wallet’s, and the chain could not be asked.',
  },
  busy: {
    code: 'busy',
    status: 503,
    meaning: 'Too many schemas wait to be checked; try again.',
  },
} as const satisfies Record<string, WriteCode>

/** The further reasons to refuse a request about a rating. */
export const ratingCodes = {
  invalidRating: {
    code: 'invalid_rating',
    status: 400,
    meaning: 'The rating breaks a rule or a limit; the sentence names the field.',
  },
  paymentNotFound: {
    code: 'payment_not_found',
    status: 404,
    meaning:
      'No payment with this payer, nonce and token was settled here. A call paid through a channel has no payment of its own.',
  },
  paymentNotConfirmed: {
    code: 'payment_not_confirmed',
    status: 409,
    meaning: 'The payment is on its way, or failed.',
  },
  paymentUnclear: {
    code: 'payment_unclear',
    status: 409,
    meaning:
      'It cannot be told what the payment was for: several have this nonce, or it names no resource, or it is archived.',
  },
  paymentElsewhere: {
    code: 'payment_elsewhere',
    status: 403,
    meaning: 'The payment was for another endpoint than the rating is about.',
  },
  selfRating: {
    code: 'self_rating',
    status: 403,
    meaning: 'The payer is the recipient, the owner of the listing, or a wallet of this service.',
  },
  raterBlocked: {
    code: 'rater_blocked',
    status: 403,
    meaning: 'The operator blocks the payer.',
  },
  alreadyRated: { code: 'already_rated', status: 409, meaning: 'The payment is rated already.' },
  ratingNotFound: {
    code: 'rating_not_found',
    status: 404,
    meaning: 'There is no such rating, or the operator hides it.',
  },
  alreadyAnswered: {
    code: 'already_answered',
    status: 409,
    meaning: 'The owner answered the rating before, which is done once.',
  },
  feedbackUnavailable: {
    code: 'feedback_unavailable',
    status: 409,
    meaning: 'The rating cannot be put on the ERC-8004 reputation registry; the sentence says why.',
  },
} as const satisfies Record<string, WriteCode>

const codes = { ...writeCodes, ...ratingCodes }

export type WriteCodeKey = keyof typeof codes

/** A refused request about a listing, answered as `{ error, message, details? }`. */
export class WriteFault extends RequestFault {
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(
    key: WriteCodeKey,
    message: string,
    details?: Readonly<Record<string, unknown>>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const { code, status } = codes[key]
    super({ statusCode: status, code, message, headers })
    this.details = details
  }
}

/** Answers faults that carry details; the error handler of the server answers all others. */
export function answerWithDetails(app: FastifyInstance): void {
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof WriteFault) || error.details === undefined) throw error
    const { statusCode, headers, code, message, details } = error
    return reply.code(statusCode).headers(headers).send({ error: code, message, details })
  })
}

/** Problems of a body that one answer lists; the rest is counted. */
const MAX_ISSUES = 8

/** Parses a body by its schema. Throws a `WriteFault` (`invalid_listing`) that names each field and its limit. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(body, { error: describeIssue })
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    path: formatPath(path),
    message,
  }))
  throw listingFault(issues, parsed.error.issues.length - issues.length)
}

/** Makes the fault of a body from its issues; `omitted` is how many more there are. */
export function listingFault(
  issues: readonly { path: string; message: string }[],
  omitted = 0,
): WriteFault {
  const sentences = issues.map(({ path, message }) => `${path || 'The body'} ${message}`)
  const rest = omitted > 0 ? `; and ${omitted} more` : ''
  return new WriteFault('invalidListing', asSentence(sentences.join('; ') + rest), { issues })
}

/**
 * Makes the fault for a merchant that is not there: 404 if it never existed, 410 if its owner deleted it, with the
 * revision that the owner needs to list it again.
 */
export function missingFault(merchant: Merchant | undefined): WriteFault {
  if (merchant === undefined) {
    return new WriteFault('merchantNotFound', 'There is no merchant with this id.')
  }
  const { revision, payTo, deletedAt } = merchant
  const details = { revision, payTo: getAddress(payTo), deletedAt }
  return new WriteFault('merchantDeleted', 'The merchant was deleted by its owner.', details)
}

/** Returns the merchant if it is there. Throws a `WriteFault` (404 or 410). */
export function present(merchant: Merchant | undefined): Merchant {
  if (merchant === undefined || merchant.deletedAt !== null) throw missingFault(merchant)
  return merchant
}

/** Returns the merchant if the public may see it. Throws a `WriteFault` (404, 410, or 403 with the operator's reason). */
export function presentInPublic(merchant: Merchant | undefined): Merchant {
  const found = present(merchant)
  if (found.hiddenReason === null) return found
  const text = asSentence(`The operator hides this merchant: ${found.hiddenReason}`)
  throw new WriteFault('merchantHidden', text)
}

/** The path of the routes about one merchant, for the API document. */
export const ofMerchant = z.object({ id: z.string().max(200).describe('Merchant id.') })

/** The example of their 404. */
export const unknownMerchant: Example = {
  summary: 'An unknown id',
  params: { id: 'nobody' },
  status: 404,
  answer: { error: 'merchant_not_found', message: 'There is no merchant with this id.' },
}
