import { z } from 'zod'
import { RequestFault } from '../../http/request-fault.js'
import { activityRanges } from './ranges.js'

/** Rows of a page of the table. */
export const MAX_TABLE_ROWS = 200

const wholeNumber = (max: number) =>
  z
    .string('must be given once, as a whole number')
    .regex(/^\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value <= max, `must be at most ${max}`)

const filters = {
  range: z.enum(activityRanges, `must be one of ${activityRanges.join(', ')}`).default('24h'),
  endpoint: wholeNumber(Number.MAX_SAFE_INTEGER).optional(),
}

const tableFilters = {
  ...filters,
  kind: z.enum(['verify', 'settle'], 'must be verify or settle').optional(),
  state: z
    .enum(
      ['valid', 'invalid', 'settled', 'failed', 'pending'],
      'must be valid, invalid, settled, failed or pending',
    )
    .optional(),
}

export const summaryQuery = z.strictObject(filters)
export const exportQuery = z.strictObject(tableFilters)
export const tableQuery = z.strictObject({
  ...tableFilters,
  limit: wholeNumber(MAX_TABLE_ROWS)
    .refine((value) => value >= 1, 'must be at least 1')
    .default(50),
  before: wholeNumber(Number.MAX_SAFE_INTEGER).optional(),
})

/** Throws a 400 that names the parameter and what it may be. */
export function readQuery<Schema extends z.ZodType>(schema: Schema, query: unknown) {
  const parsed = schema.safeParse(query)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const isUnknown = issue?.code === 'unrecognized_keys'
  const name = isUnknown ? issue.keys.join(', ') : (issue?.path.join('.') ?? 'query')
  const problem = isUnknown ? 'is not a parameter of this route' : issue?.message
  throw new RequestFault({
    statusCode: 400,
    code: 'invalid_request',
    message: `${name} ${problem}.`,
  })
}
