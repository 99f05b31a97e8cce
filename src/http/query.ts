import { z } from 'zod'
import { RequestFault } from './request-fault.js'

/** The query of a URL as Fastify parses it: a parameter that is there twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>

/** Longest merchant id, address, scheme, network, tag or key that is looked for. */
const MAX_NAME_CHARS = 200

const once = 'must be given once'

/** A text, at most so many characters; `missing` is said where it must be given. */
export function textParameter(maxChars: number, missing = once) {
  return z
    .string({ error: ({ input }) => (input === undefined ? missing : once) })
    .max(maxChars, `must be at most ${maxChars} characters`)
}

/** A text that is not empty. */
export function nameParameter() {
  return textParameter(MAX_NAME_CHARS).min(1, 'must not be empty; leave it out instead')
}

/** Plain decimal digits, within the bounds. */
export function integerParameter({ min, max }: { min: number; max: number }) {
  const problem = `must be an integer from ${min} to ${max}`
  return textParameter(MAX_NAME_CHARS)
    .regex(/^(0|[1-9][0-9]{0,15})$/, { error: problem, abort: true })
    .transform(Number)
    .refine((number) => number >= min && number <= max, problem)
    .meta({ wire: { type: 'integer', minimum: min, maximum: max } })
}

export function flagParameter() {
  return z
    .string(once)
    .pipe(z.enum(['true', 'false'], 'must be true or false'))
    .transform((text) => text === 'true')
    .meta({ wire: { type: 'boolean' } })
}

export function choiceParameter<const Value extends string>(values: readonly Value[]) {
  return z
    .string(once)
    .pipe(z.enum(values, `must be ${values.join(' or ')}`))
    .meta({ wire: { type: 'string', enum: values } })
}

/** Reads a query by its schema. Throws a 400 that names the parameter and what it may be. */
export function readQuery<Schema extends z.ZodType>(schema: Schema, query: unknown) {
  const parsed = schema.safeParse(query)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    throw parameterFault(`${issue.keys.join(', ')} is not a parameter of this route.`)
  }
  throw parameterFault(`${issue?.path.join('.') || 'The query'} ${issue?.message}.`)
}

export function parameterFault(message: string): RequestFault {
  return new RequestFault({ statusCode: 400, code: 'invalid_request', message })
}
