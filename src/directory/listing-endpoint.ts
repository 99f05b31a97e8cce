import { z } from 'zod'
import type { ListedEndpoint } from '../store/listings.js'
import { jsonProblem, referenceProblem } from './json-bounds.js'
import { listingLimits as limits } from './listing-limits.js'
import { countChars, findUnwelcome, quote } from './listing-text.js'
import { urlProblem } from './listing-url.js'
import { text } from './text-field.js'

const output = z
  .strictObject({
    type: z.string().regex(/^[a-z0-9][a-z0-9.+/-]{0,39}$/, {
      error: `must be 1 to ${limits.outputType.maxChars} of a-z, 0-9, ".", "+", "/" and "-", such as json`,
    }),
    example: z.unknown().optional(),
  })
  .transform(({ type, example }, context): NonNullable<ListedEndpoint['output']> => {
    if (example === undefined) return { type }
    refuse(context, ['example'], jsonProblem(example, limits.outputExample))
    return { type, example }
  })

const inputSchema = z
  .custom<Record<string, unknown>>(isObject, { error: 'must be an object, or null' })
  .superRefine((schema, context) => {
    const problem = jsonProblem(schema, limits.inputSchema) ?? referenceProblem(schema)
    const isForObjects = schema.type === 'object'
    refuse(
      context,
      [],
      problem ?? (isForObjects ? undefined : 'must be an object schema: its type must be "object"'),
    )
  })

const url = z.string().transform((raw, context) => {
  const problem = urlProblem(raw)
  refuse(context, [], problem)
  return problem === undefined ? new URL(raw).href : raw
})

const PRICE = /^[1-9][0-9]*$/

const price = z.string().transform((digits, context) => {
  const { min, max } = limits.price
  const isRight = PRICE.test(digits) && digits.length <= max.length
  refuse(
    context,
    [],
    isRight ? undefined : `must be a whole number of millionths of a dollar, ${min} to ${max}`,
  )
  return isRight ? BigInt(digits) : 0n
})

const tags = z
  .array(text({ kind: 'one-line', ...limits.tags }))
  .max(limits.tags.max, { error: `must have at most ${limits.tags.max} entries` })
  .transform((all) => {
    const byCase = new Map(all.map((tag) => [tag.toLowerCase(), tag]))
    return [...byCase.values()]
  })

/** What an owner writes of one endpoint, normalised. Whether schema and example agree is judged elsewhere. */
export const endpointBody = z
  .strictObject({
    url,
    method: z.enum(['GET', 'POST']),
    title: text({ kind: 'one-line', ...limits.title }),
    description: text({ kind: 'multi-line', minChars: 0, ...limits.endpointDescription }).default(
      '',
    ),
    pricing: z.enum(['fixed', 'metered']).default('fixed'),
    price,
    tags: tags.default([]),
    example: z.unknown().optional(),
    inputSchema: inputSchema.nullable().default(null),
    output: output.nullable().default({ type: 'json' }),
  })
  .transform(({ example, ...endpoint }, context): ListedEndpoint => {
    const read = endpoint.method === 'GET' ? readQuery(example) : readBody(example)
    if ('problem' in read) {
      refuse(context, ['example', ...read.path], read.problem)
      return { ...endpoint, example: { queryParams: {} } }
    }
    return { ...endpoint, example: read }
  })

type Read = ListedEndpoint['example'] | { path: string[]; problem: string }

function readQuery(example: unknown): Read {
  if (example === undefined) return { queryParams: {} }
  if (!isObject(example) || !hasOnly(example, 'queryParams') || !isObject(example.queryParams)) {
    return { path: [], problem: 'must be { queryParams } with an object for GET' }
  }
  const { queryParams } = example
  const path = ['queryParams']
  const problem = jsonProblem(queryParams, limits.example)
  if (problem !== undefined) return { path, problem }
  const { max, nameMaxChars, valuesPerName } = limits.queryParams
  const entries = Object.entries(queryParams)
  if (entries.length > max) return { path, problem: `must have at most ${max} members` }
  for (const [name, value] of entries) {
    const character = findUnwelcome(name, 'one-line')
    if (character !== undefined) {
      return { path, problem: `must not have names with the character ${character}` }
    }
    if (countChars(name) > nameMaxChars || name.trim() === '') {
      return { path, problem: `must have names of 1 to ${nameMaxChars} characters` }
    }
    const values = Array.isArray(value) ? value : [value]
    if (values.length > valuesPerName || !values.every(isScalar)) {
      return {
        path,
        problem: `must have strings, numbers, booleans or up to ${valuesPerName} of them as values; ${quote(name)} has not`,
      }
    }
  }
  return { queryParams }
}

function readBody(example: unknown): Read {
  if (example === undefined) return { body: {} }
  if (!isObject(example) || !hasOnly(example, 'body') || example.body === undefined) {
    return { path: [], problem: 'must be { body } with JSON for POST' }
  }
  const problem = jsonProblem(example.body, limits.example)
  return problem === undefined ? { body: example.body } : { path: ['body'], problem }
}

function refuse(context: z.RefinementCtx, path: string[], message: string | undefined): void {
  if (message !== undefined) context.addIssue({ code: 'custom', path, message })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hasOnly(value: Record<string, unknown>, name: string): boolean {
  return Object.keys(value).every((key) => key === name)
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}
