import { describeIssue, formatPath, listingLimits, text } from 'arcus-client/listing'
import { type RatingJson, ratingLimits } from 'arcus-client/rating'
import type { Hex } from 'viem'
import { z } from 'zod'
import { TOOL_NAME } from '../../x402/calls.js'
import { WriteFault } from '../listings/faults.js'
import { signedFields } from '../listings/signed-write.js'
import { checkTarget } from '../probe/target-rules.js'

const { address, bytes32, integer, signature } = signedFields

const score = integer.refine((value) => value <= ratingLimits.score.max, {
  error: `must be a whole number from 0 to ${ratingLimits.score.max}`,
})

const tag = z.string().regex(/^([!-~]([ -~]{0,30}[!-~])?)?$/, {
  error: `must be at most ${ratingLimits.tag.maxChars} visible characters of ASCII, with inner blanks`,
})

const link = z
  .string()
  .max(ratingLimits.link.maxChars, {
    error: `must be at most ${ratingLimits.link.maxChars} characters`,
    abort: true,
  })
  .refine((url) => url === '' || isPublicLink(url), {
    error: 'must be an https URL of a public host in plain ASCII, or empty',
  })
  .meta({ wire: { type: 'string', maxLength: ratingLimits.link.maxChars } })

/** A link is only shown. It still keeps to the rules of what is called, so that it leads where it seems to lead. */
function isPublicLink(url: string): boolean {
  const rules = { allowPrivateHosts: false, ownOrigins: [] }
  return /^https:\/\/[!-[\]-~]+$/.test(url) && checkTarget(url, rules).isAllowed
}

/** The request of a rating. */
export const ratingBody = z.strictObject({
  message: z
    .strictObject({
      audience: signedFields.text,
      network: signedFields.text,
      asset: address,
      payer: address,
      nonce: bytes32,
      resource: z.string().max(listingLimits.url.maxChars),
      toolName: z.union([z.literal(''), z.string().regex(TOOL_NAME)], {
        error: 'must be the name of a tool, or empty',
      }),
      score,
      tag,
      link,
      issuedAt: integer,
      deadline: integer,
    })
    .meta({
      id: 'RatingMessage',
      description: 'The EIP-712 message `rating` of `GET /api/signing`, as the payer signed it.',
    }),
  signature,
  method: z
    .enum(['eip3009', 'permit2'])
    .optional()
    .describe('Tells two payments of one nonce in one token apart.'),
})

export interface RatingRequest {
  message: RatingJson
  signature: Hex
  method?: 'eip3009' | 'permit2' | undefined
}

/** Parses the request of a rating. Throws a `WriteFault` (`invalid_rating`) that names the field. */
export function parseRating(request: unknown): RatingRequest {
  const parsed = ratingBody.safeParse(request, { error: describeIssue })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = formatPath(issue?.path ?? []) || 'The request'
  throw new WriteFault('invalid_rating', `${path} ${issue?.message ?? 'is malformed'}.`)
}

/** The body of the owner's answer: the id of the rating, and the text. */
export const answerBody = z.strictObject({
  rating: z.string().max(100),
  text: text({ kind: 'multi-line', ...ratingLimits.answer }),
})
