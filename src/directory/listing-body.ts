import type { Address } from 'viem'
import { z } from 'zod'
import type { ListedEndpoint } from '../store/listings.js'
import { addressProblem, isChannelContract, zeroAddress } from '../x402/address.js'
import { endpointBody } from './listing-endpoint.js'
import { listingLimits as limits } from './listing-limits.js'
import { quote } from './listing-text.js'
import { asSentence } from './sentence.js'
import { text } from './text-field.js'
import { WriteFault } from './write-codes.js'

/** A listing in the form in which it is kept. */
export interface ListingBody {
  name: string
  description: string
  /** Lower case. */
  payTo: Address
  endpoints: ListedEndpoint[]
}

/** An address in lower case; spelled in both cases, its checksum must be right. */
export const addressField = z
  .string()
  .transform((raw, context) => {
    if (addressProblem(raw) !== undefined) {
      const message = 'must be an address of 20 bytes in hex with 0x, with a right checksum if any'
      context.addIssue({ code: 'custom', message })
    } else if (raw === zeroAddress) {
      context.addIssue({ code: 'custom', message: 'must not be the zero address' })
    }
    return raw.toLowerCase() as Address
  })
  .meta({ wire: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } })

const countProblem = `must have ${limits.endpoints.min} to ${limits.endpoints.max} entries`

/** The body of a save. */
export const listingBody = z
  .strictObject({
    name: text({ kind: 'one-line', ...limits.name }),
    description: text({ kind: 'multi-line', minChars: 0, ...limits.description }).default(''),
    payTo: addressField.refine(
      (address) => !isChannelContract(address),
      'must not be a contract of x402, which keeps what it is paid',
    ),
    endpoints: z
      .array(endpointBody)
      .min(limits.endpoints.min, { error: countProblem })
      .max(limits.endpoints.max, { error: countProblem }),
  })
  .superRefine(({ endpoints }, context) => {
    const seen = new Map<string, number>()
    for (const [index, { url, method }] of endpoints.entries()) {
      const first = seen.get(`${method} ${url}`)
      if (first === undefined) seen.set(`${method} ${url}`, index)
      else {
        const message = `must not be listed twice with one method: endpoints[${first}] has it`
        context.addIssue({ code: 'custom', path: ['endpoints', index, 'url'], message })
      }
    }
  })
  .meta({ id: 'Listing' })

/** Parses the body of a save. Throws a `WriteFault` whose sentence names each field and its limit. */
export function parseListing(body: unknown): ListingBody {
  return parseBody(listingBody, body)
}

/** Problems told at once; the rest is counted. */
const MAX_TOLD = 8

/** Parses a body by its schema. Throws a `WriteFault` (`invalid_listing`). */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(body, { error: describeIssue })
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, MAX_TOLD).map(({ path, message }) => ({
    path: formatPath(path),
    message,
  }))
  throw listingFault(issues, parsed.error.issues.length - issues.length)
}

export function listingFault(
  issues: readonly { path: string; message: string }[],
  untold = 0,
): WriteFault {
  const sentences = issues.map(({ path, message }) => `${path || 'The body'} ${message}`)
  const rest = untold > 0 ? `; and ${untold} more` : ''
  return new WriteFault('invalidListing', asSentence(sentences.join('; ') + rest), { issues })
}

/** `endpoints[0].title`, as a person writes it. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}

/** In words that follow the name of the field; `undefined` leaves those the schema has of its own. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') {
    return `has members that are not known here: ${issue.keys.slice(0, 3).map(quote).join(', ')}`
  }
  if (issue.code === 'invalid_type') {
    return issue.input === undefined ? 'is required' : `must be ${nameOf(issue.expected)}`
  }
  if (issue.code === 'invalid_value') {
    return `must be ${issue.values.map((value) => `"${String(value)}"`).join(' or ')}`
  }
  return undefined
}

function nameOf(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}
