import { z } from 'zod'
import { type AnswerOf, anyObject, endpointId } from './fields.js'

/** Longest value of a header that carries a payment: servers take headers of 16 KiB in all. */
const MAX_PAYMENT_CHARS = 16_384
const MAX_HEADER_CHARS = 512

/** The most query parameters or headers of a call; a listing names fewer. */
const MAX_MEMBERS = 64

function isFew(members: Record<string, unknown>): boolean {
  return Object.keys(members).length <= MAX_MEMBERS
}

const few = { error: `must have at most ${MAX_MEMBERS} members` }

export const tryBody = z.strictObject({
  merchantId: z.string().max(200, 'must have at most 200 characters').describe('Merchant id.'),
  endpointId: endpointId.describe('The id in the `state` of the endpoint.'),
  input: z
    .strictObject({
      pathParams: z
        .record(z.string(), z.string())
        .refine(isFew, few)
        .optional()
        .describe('For the places of the path, such as `:id`.'),
      queryParams: anyObject.refine(isFew, few).optional(),
      body: z.unknown().optional().describe('Sent in the `bodyType` of the listing.'),
      headers: z
        .record(
          z.string(),
          z
            .string()
            .regex(/^[\x20-\x7e]*$/, 'must be of visible ASCII characters and spaces')
            .max(MAX_HEADER_CHARS, `must have at most ${MAX_HEADER_CHARS} characters`),
        )
        .refine(isFew, few)
        .optional()
        .describe('Of those that the listing names, `Accept`, `Accept-Language` and `X-…`.'),
    })
    .describe('What stands in the place of the example of the listing.'),
  payment: z
    .string()
    .max(MAX_PAYMENT_CHARS, `must have at most ${MAX_PAYMENT_CHARS} characters`)
    .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'must be base64')
    .optional()
    .describe('Base64, as the header `PAYMENT-SIGNATURE` has it.'),
})

export const tryAnswer = z
  .union([
    z.object({
      outcome: z.literal('answered'),
      status: z.int(),
      headers: z
        .record(z.string(), z.string())
        .describe(
          'Lower-case: type and encoding of the body, the terms and the outcome of a payment.',
        ),
      body: z.string().describe('Base64.'),
      missing: z
        .string()
        .nullable()
        .describe('One sentence that says why the body is not whole; `null` for a whole one.'),
    }),
    z.object({
      outcome: z.literal('unanswered'),
      message: z.string().describe('One sentence.'),
      wasSent: z.boolean().describe('Whether the server may have received the call.'),
    }),
  ])
  .meta({ id: 'TryAnswer' })

export type TryAnswer = AnswerOf<typeof tryAnswer>
export type TryInput = z.infer<typeof tryBody>['input']
