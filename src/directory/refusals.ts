import { codesByStatus, type DescribedCode } from '@arcus/protocol/answers/errors'
import { describeIssue, formatPath } from '@arcus/protocol/listing/listing'
import { asSentence } from '@arcus/protocol/listing/text'
import { getAddress } from 'viem'
import type { z } from 'zod'
import { RequestFault, retryAfter } from '../http/errors.js'
import type { Operation } from '../http/operation.js'
import { parameterFault } from '../http/query.js'
import type { Merchant } from './store/listings.js'

/** Every reason to refuse a request about a listing. */
export const writeCodes = codesByStatus({
  400: {
    invalid_write:
      'The request is not { message, signature, body }, or a member has the wrong form.',
    invalid_listing: 'The body breaks a rule or a limit; the sentence names the field.',
    offer_to_self: 'The merchant was offered to the owner it has; `null` takes an offer back.',
    invalid_merchant_id: 'The id has the wrong form, or is reserved.',
    unknown_action: 'The message names an action that does not exist.',
    wrong_action: 'The message is signed for another action than it was sent for.',
    wrong_merchant: 'The message names another merchant than the path.',
    wrong_audience: 'The message was signed for another directory.',
    wrong_chain: 'The message was signed in the domain of another chain.',
    write_expired: 'The deadline is past.',
    issued_in_future: 'The message is issued later than our clock and the allowed skew.',
    deadline_too_far:
      'The deadline is further ahead than allowed, or before the message was issued.',
    body_mismatch: 'The body is not the one whose hash was signed.',
    pay_to_mismatch: 'The payTo of the message is not the one the listing has, or will have.',
  },
  401: {
    invalid_signature: 'The signature is not one of the owner over this message.',
  },
  403: {
    not_owner: 'The merchant belongs to somebody else.',
    not_offered: 'There is no open offer of the merchant to the signer.',
    not_pay_to: 'The signer is not the address that the merchant is paid at.',
    pay_to_unproven:
      'The owner has not shown that the payout address is theirs: its key has to confirm the owner.',
    pay_to_not_allowed: 'The operator refuses payments to the payout address.',
    merchant_hidden: 'The operator hides the merchant; the sentence says why.',
  },
  404: {
    merchant_not_found: 'There is no such merchant.',
    hook_not_found: 'The merchant has no webhook with this id.',
  },
  409: {
    hook_not_confirmed:
      'The receiver of the webhook has not answered its challenge, or nothing is delivered to it any more.',
    too_many_hooks: 'The merchant has as many webhooks as it may have.',
    replayed_nonce:
      'The owner used this nonce before; `details.revision` is the revision that the message became, if it is the same message.',
    stale_revision: 'The revision is not the next one; `details.revision` is the present one.',
  },
  410: { merchant_deleted: 'The merchant was deleted; its id stays with its owner.' },
  413: { body_too_large: 'The request is larger than the published limit.' },
  422: {
    endpoint_refused:
      'An endpoint gave a definite wrong answer; `details.endpoints` says which and what.',
  },
  429: {
    tested_recently:
      'The webhook was tested as often as it may be within an hour, or is being tested.',
    replayed_recently: 'The owner had events sent again within the last ten minutes.',
    too_many_saves:
      'The owner, or owners at addresses near theirs, had many endpoints checked in a short time.',
    too_many_new_owners:
      'As many new owners as are taken in within an hour came from the same addresses.',
    too_much_written:
      'As much was written as is kept within an hour: by the owner, from these addresses, or by new owners.',
  },
  503: {
    storage_low: 'The disk of the service is nearly full, and the rest of it is kept for payments.',
    chain_unavailable:
      'The signature may be a contract wallet’s, and the chain could not be asked.',
  },
})

/** The further reasons to refuse a wish for a paid check. */
const checkCodes = codesByStatus({
  409: {
    checks_off: 'The operator has set no wallets to buy with.',
    not_checkable: 'The endpoint is none that checks can buy from; the sentence says why.',
  },
  429: { too_many_checks: 'The owner asked for three paid checks within a day.' },
})

const codes = { ...writeCodes, ...checkCodes }

export type RefusalCode = keyof typeof codes

/** Returns the codes of a route as they are documented. */
export function refusals(...given: readonly RefusalCode[]): DescribedCode[] {
  return given.map((code) => codes[code])
}

/** A refused request about a listing, answered as `{ error, message, details? }`. */
export class WriteFault extends RequestFault {
  constructor(
    code: RefusalCode,
    message: string,
    details?: Readonly<Record<string, unknown>>,
    retryAfterSeconds?: number,
  ) {
    const headers = retryAfter(retryAfterSeconds)
    super({ statusCode: codes[code].status, code, message, headers, details })
  }
}

/** Parses what a caller sent. Throws the error that `refuse` makes of the problems. */
function parse<Schema extends z.ZodType>(
  schema: Schema,
  sent: unknown,
  refuse: (issues: readonly z.core.$ZodIssue[]) => Error,
): z.output<Schema> {
  const parsed = schema.safeParse(sent, { error: describeIssue })
  if (parsed.success) return parsed.data
  throw refuse(parsed.error.issues)
}

/** Parses a request by its schema. Throws a `WriteFault` with this code, which names the first problem. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
  code: RefusalCode,
): z.output<Schema> {
  return parse(schema, request, ([issue]) => {
    const path = formatPath(issue?.path ?? []) || 'The request'
    return new WriteFault(code, `${path} ${issue?.message ?? 'is malformed'}.`)
  })
}

/** Problems of a body that one answer lists; the rest is counted. */
const MAX_ISSUES = 8

/** Parses a body by its schema. Throws a `WriteFault` (`invalid_listing`) that names each field and its limit. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  return parse(schema, body, (issues) => {
    const named = issues
      .slice(0, MAX_ISSUES)
      .map(({ path, message }) => ({ path: formatPath(path), message }))
    return listingFault(named, issues.length - named.length)
  })
}

/** Longest name of a field that a refusal repeats. */
const MAX_FIELD_CHARS = 100

/** Parses the body of an unsigned request. Throws a 400 (`invalid_request`) that names the first wrong field and its rule. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  return parse(schema, body, ([issue]) => {
    const field = formatPath(issue?.path ?? []).slice(0, MAX_FIELD_CHARS) || 'The body'
    return parameterFault(asSentence(`${field} ${issue?.message ?? 'is malformed'}`))
  })
}

/** Makes the fault of a body from its issues; `omitted` is how many more there are. */
export function listingFault(
  issues: readonly { path: string; message: string }[],
  omitted = 0,
): WriteFault {
  const sentences = issues.map(({ path, message }) => `${path || 'The body'} ${message}`)
  const rest = omitted > 0 ? `; and ${omitted} more` : ''
  return new WriteFault('invalid_listing', asSentence(sentences.join('; ') + rest), { issues })
}

/**
 * Makes the fault for a merchant that is not there: 404 if it never existed, 410 if its owner deleted it, with the
 * revision that the owner needs to list it again.
 */
export function missingFault(merchant: Merchant | undefined): WriteFault {
  if (merchant === undefined) {
    return new WriteFault('merchant_not_found', 'There is no merchant with this id.')
  }
  const { revision, payTo, deletedAt } = merchant
  const details = { revision, payTo: getAddress(payTo), deletedAt }
  return new WriteFault('merchant_deleted', 'The merchant was deleted by its owner.', details)
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
  throw new WriteFault('merchant_hidden', text)
}

/** The path of a route about one merchant. */
export type OfMerchant = { Params: { id: string } }

/** The description that routes about one merchant share if the public may see it. */
export const aboutMerchant = {
  tag: 'Directory',
  codes: refusals('merchant_not_found', 'merchant_deleted', 'merchant_hidden'),
} as const satisfies Partial<Operation>
