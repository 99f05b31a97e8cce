import { z } from 'zod'
import { type AnswerOf, address, amount, hash, network, seconds } from './fields.js'

/** What a paid check found, by its code. Only the first is a delivery. */
export const checkReasons = {
  delivered: 'The answer came in time, and it is what the listing says.',
  bad_status: 'The answer to the payment had another status than 2xx.',
  too_late: 'The answer did not end within the time that its 402 gave, at most 30 seconds.',
  wrong_type: 'The answer is not of the content type that its 402 named.',
  wrong_shape: 'The answer does not satisfy the schema that its 402 declared.',
  too_large: 'The answer is above 1 MiB.',
  redirected: 'The answer to the payment leads to another address, which is not followed.',
  asked_again: 'The answer to the payment was another 402, which is never paid.',
  price_changed:
    'The 402 asked for more, or for other terms, than the catalog quotes. Nothing was paid.',
  no_answer: 'The connection ended after the payment without an answer.',
  interrupted: 'The check itself was interrupted. It says nothing about the endpoint.',
} as const

export type CheckReason = keyof typeof checkReasons

const reason = z
  .enum(Object.keys(checkReasons) as [CheckReason, ...CheckReason[]])
  .describe('`delivered`, or what was wrong; docs/directory.md has all codes.')

const verdict = {
  at: seconds,
  delivered: z.boolean(),
  reason,
  ms: z.int().nullable().describe('From the payment to the end of the answer; `null` without one.'),
  transaction: hash.nullable().describe('Of the payment; `null` where none was made.'),
}

export const delivery = z
  .object({
    last: z.object(verdict),
    share: z.number().describe('Share of the last ten paid checks that delivered, 0 to 1.'),
    checks: z
      .int()
      .optional()
      .describe(
        'Number of those checks, at most ten. Absent in figures that an older version made.',
      ),
    p50Ms: z.number().nullable().describe('Median of those that delivered.'),
    outdated: z
      .boolean()
      .describe('Whether the endpoint has declared another answer since the last check.'),
  })
  .meta({
    id: 'Delivery',
    description:
      'What this service found when it bought the documented example of the endpoint, like any buyer. Absent or `null` before the first paid check.',
  })

export type Delivery = AnswerOf<typeof delivery>

const statement = z.object({
  payload: z
    .object({
      network,
      resource: z.string(),
      method: z.string(),
      toolName: z.string(),
      payTo: address,
      amount,
      transaction: hash,
      delivered: z.boolean(),
      reason,
      ms: z.int(),
      bytes: z.int(),
      sha256: hash,
      checkedAt: seconds,
      checker: address,
    })
    .describe('The EIP-712 message; texts are empty and hashes zero where there is nothing.'),
  signature: z.string(),
})

const check = z.object({
  ...verdict,
  message: z.string(),
  amount: amount.describe('0 if nothing was paid.'),
  bytes: z.int().nullable(),
  sha256: hash.nullable().describe('Of the body, which is not kept.'),
  statement: statement
    .nullable()
    .describe('Signed by the key of attestations; `null` where the operator has set none.'),
})

export type CheckView = AnswerOf<typeof check>

export const checksAnswer = z.object({
  merchant: z.string(),
  endpoint: z.int(),
  delivery: delivery.nullable(),
  checks: z.array(check).describe('The last 50, newest first.'),
})

export type ChecksAnswer = AnswerOf<typeof checksAnswer>

export const checkRequested = z.object({
  endpoint: z.int(),
  left: z.int().describe('Checks that the merchant may ask for within the next day.'),
})
