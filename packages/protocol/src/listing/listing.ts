import type { Address } from 'viem'
import { z } from 'zod'
import { addressProblem, isChannelContract, zeroAddress } from '../x402/address.js'
import { parseUint256 } from '../x402/amounts.js'
import {
  bodyTypes,
  type CallExample,
  type CallMethod,
  type CallTarget,
  callMethods,
  isBodyMethod,
  isOneOf,
  mcpTransports,
  parametersIn,
  placesIn,
  TOOL_NAME,
  targetKey,
} from '../x402/calls.js'
import { isObject, walkJson } from '../x402/json.js'
import { findOutsideReference, schemaKeywords } from '../x402/json-schema.js'
import { parseUrl } from '../x402/parse-url.js'
import { countChars, findUnwelcome, hasVisible, normalizeText, quote } from './text.js'

/*
 * A listing as its owner writes it, and every rule it must keep. The service and the console use the same schemas, so
 * nothing here may need Node.
 */

interface ListingEndpointBase {
  /** Absolute, http or https. */
  url: string
  title: string
  description?: string
  /** `fixed` by default. With `metered` the price is a ceiling. */
  pricing?: 'fixed' | 'metered'
  /** Decimal digits, in millionths of a dollar or of another unit of money: "10000" is one cent. */
  price: string
  /** The token of the price. Without it, and without a currency, it is the directory's default one: dollars. */
  asset?: Address | null
  /** The currency of the price, ISO 4217, instead of the token or to go with it. */
  currency?: string | null
  tags?: string[]
  /** JSON Schema 2020-12 of the parameters, an object schema. */
  inputSchema?: Record<string, unknown> | null
  /** The answer of a paid call, `json` by default. */
  output?: { type: string; example?: unknown } | null
}

type QueryValue = string | number | boolean | (string | number | boolean)[]

/** Header values by name. They are shown to buyers, and Arcus never sends them. */
type Headers = Record<string, string>

/**
 * An endpoint as its owner writes it. The directory calls it with the `example`; PUT, PATCH and DELETE it never calls. `MCP`
 * is a tool of the MCP server at the URL.
 */
export type ListingEndpoint =
  | (ListingEndpointBase & {
      method: 'GET' | 'HEAD' | 'DELETE'
      example?: {
        queryParams: Record<string, QueryValue>
        headers?: Headers
        pathParams?: Record<string, string>
      }
    })
  | (ListingEndpointBase & {
      method: 'POST' | 'PUT' | 'PATCH'
      example?: {
        body: unknown
        /** `json` unless given. */
        bodyType?: (typeof bodyTypes)[number]
        queryParams?: Record<string, QueryValue>
        headers?: Headers
        pathParams?: Record<string, string>
      }
    })
  | (ListingEndpointBase & {
      method: 'MCP'
      toolName: string
      /** `streamable-http` unless given. Servers of the older `sse` are listed, and not called. */
      transport?: (typeof mcpTransports)[number]
      example?: { arguments: Record<string, unknown> }
    })

/** A listing as its owner writes it: the body of `listing.create` and `listing.update`. */
export interface Listing {
  name: string
  description?: string
  payTo: Address
  endpoints: ListingEndpoint[]
}

/** Every limit on what owners write, as `GET /api/signing` publishes them. Characters are Unicode code points. */
export const listingLimits = {
  /** Lower-case letters, digits and inner hyphens. */
  merchantId: { minChars: 3, maxChars: 40, pattern: '^[a-z0-9](?:[a-z0-9-]{1,38}[a-z0-9])$' },
  name: { minChars: 1, maxChars: 60 },
  description: { maxChars: 1_000 },
  endpoints: { min: 1, max: 100 },
  url: { maxChars: 2_048 },
  title: { minChars: 1, maxChars: 100 },
  endpointDescription: { maxChars: 1_000 },
  /** The limits of the bazaar for services. */
  tags: { max: 5, minChars: 1, maxChars: 32, pattern: '^[ -~]+$' },
  /** Fifteen digits are a billion dollars, and as many as a JSON number holds exactly. */
  price: { min: '1', max: '999999999999999' },
  queryParams: { max: 50, nameMaxChars: 64, valuesPerName: 20 },
  headers: { max: 20 },
  /** Bytes of the UTF-8 of the example's JSON, and how deep arrays and objects nest. */
  example: { maxBytes: 8_192, maxDepth: 10 },
  inputSchema: { maxBytes: 16_384, maxDepth: 24 },
  outputType: { maxChars: 40 },
  outputExample: { maxBytes: 8_192, maxDepth: 10 },
  agentId: { maxDigits: 78 },
  /** Limits of a whole request, with message and signature. */
  request: { maxBytes: 524_288, maxDepth: 32 },
  /** The wrapped signature of a wallet that is not deployed yet carries its deployment. */
  signature: { maxBytes: 8_192 },
  /** Seconds that a signer's clock may be ahead of ours, and that a deadline may be ahead of that. */
  issuedAt: { skewSeconds: 60 },
  deadline: { maxAheadSeconds: 600 },
  /** Seconds for which an offer of ownership stands. */
  offer: { openSeconds: 7 * 86_400 },
  history: { defaultEntries: 20, maxEntries: 100 },
} as const

const limits = listingLimits

const chosenId = new RegExp(limits.merchantId.pattern)
/** The id of what was seen in payments to an address. Nobody chooses such an id; the key of its payTo claims it. */
const seenInPaymentsId = /^payto-0x[0-9a-f]{40}$/

/** Names that are, or may become, a path next to `/api/merchants/{id}`, or that pass for the service itself. */
const reservedIds: ReadonlySet<string> = new Set(
  `activity admin agent agents all api arc arcus catalog changes claim console constructor directory discovery
  endpoints facilitator health history identity llms login logout mcp merchant merchants metrics new null official
  openapi operator owner owner-acceptance owner-offer owners partner payments payto payto-confirmation probe prototype
  search session settle signing siwe stats status stream supported table tools totals undefined unclaimed validate
  verify`.split(/\s+/),
)

/** `chosen` is free to take; `seenInPayments` exists or does not; nobody can take the others. */
type MerchantIdKind = 'chosen' | 'seenInPayments' | 'reserved' | 'malformed'

export function merchantIdKind(id: string): MerchantIdKind {
  if (seenInPaymentsId.test(id)) return 'seenInPayments'
  if (!chosenId.test(id)) return 'malformed'
  return reservedIds.has(id) || id.startsWith('payto-') ? 'reserved' : 'chosen'
}

/** Builds the schema of a text: kept in one form, within its limits, without characters that nobody sees. */
export function text(rule: {
  kind: 'one-line' | 'multi-line'
  minChars: number
  maxChars: number
}) {
  const { minChars: minLength, maxChars: maxLength } = rule
  return z
    .string()
    .transform((raw, context) => {
      const kept = normalizeText(raw)
      // Trimming removes byte order marks and line separators, so the text is checked as it was sent.
      refuse(context, [], lengthProblem(kept, rule) ?? characterProblem(raw, rule.kind))
      return kept
    })
    .meta({ wire: { type: 'string', minLength, maxLength } })
}

function lengthProblem(
  kept: string,
  { minChars, maxChars }: { minChars: number; maxChars: number },
): string | undefined {
  const chars = countChars(kept)
  const range = minChars === 0 ? `at most ${maxChars}` : `${minChars} to ${maxChars}`
  if (chars < minChars || chars > maxChars) return `must be ${range} characters; it has ${chars}`
  if (minChars > 0 && !hasVisible(kept)) return 'must have a visible character'
  return undefined
}

function characterProblem(
  raw: string,
  kind: Parameters<typeof findUnwelcome>[1],
): string | undefined {
  const character = findUnwelcome(raw, kind)
  return character === undefined ? undefined : `must not contain the character ${character}`
}

/** Parses an address to lower case. Spelled in both cases, it must have the right checksum. */
export const addressField = z
  .string()
  .transform((raw, context) => {
    const message = 'must be an address of 20 bytes in hex with 0x, with a right checksum if any'
    if (addressProblem(raw) !== undefined) refuse(context, [], message)
    else if (raw === zeroAddress) refuse(context, [], 'must not be the zero address')
    return raw.toLowerCase() as Address
  })
  .meta({ wire: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } })

/** The id of an ERC-8004 agent: decimal digits of a uint256 without leading zeros. */
export const agentId = z
  .string()
  .refine((digits) => parseUint256(digits) !== undefined, {
    error: `must be a uint256 in at most ${limits.agentId.maxDigits} decimal digits, without leading zeros, or null`,
  })
  .meta({ wire: { type: 'string', pattern: '^(0|[1-9][0-9]{0,77})$' } })

interface JsonBounds {
  maxBytes: number
  maxDepth: number
}

const encoder = new TextEncoder()

/** Says what is wrong with JSON that strangers will read, in words that follow its name. */
function jsonProblem(root: unknown, { maxBytes, maxDepth }: JsonBounds): string | undefined {
  for (const { key, value, depth } of walkJson(root)) {
    const problem =
      characterProblem(key ?? '', 'json') ??
      (typeof value === 'string' ? characterProblem(value, 'json') : undefined)
    if (problem !== undefined) return problem
    if (typeof value === 'number' && !Number.isFinite(value)) {
      return 'must not contain a number too large to be kept'
    }
    if (typeof value === 'object' && value !== null && depth >= maxDepth) {
      return `must not nest deeper than ${maxDepth} levels`
    }
  }
  const bytes = encoder.encode(JSON.stringify(root)).length
  return bytes > maxBytes ? `must be at most ${maxBytes} bytes of JSON; it has ${bytes}` : undefined
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Says why a schema cannot be used here: another dialect, or a keyword that makes its reader fetch something. */
export function schemaProblem(schema: unknown): string | undefined {
  for (const [keyword, value] of schemaKeywords(schema)) {
    if (keyword === '$schema' && typeof value === 'string' && value.replace(/#$/, '') !== DIALECT) {
      return `must have ${DIALECT} as $schema, or none`
    }
    // A keyword of the validator alone: it makes the check asynchronous, which would pass for a success.
    if (keyword === '$async') return 'must not contain $async'
  }
  const outside = findOutsideReference(schema)
  return outside && `must not refer outside itself: ${outside} must start with #`
}

/** Says what is wrong with the URL of an endpoint, in words that follow its name. The probe checks where it leads. */
function urlProblem(raw: string): string | undefined {
  const { maxChars } = limits.url
  const unwelcome = characterProblem(raw, 'one-line')
  if (unwelcome !== undefined) return unwelcome
  if (countChars(raw) > maxChars) return `must be at most ${maxChars} characters`
  if (/[\s\\]/.test(raw)) return 'must not contain blanks or backslashes'
  const url = /^https?:\/\//i.test(raw) ? parseUrl(raw) : undefined
  if (url === undefined) {
    return 'must be an absolute URL that starts with https:// or http://'
  }
  const { username, password, href } = url
  if (username !== '' || password !== '') return 'must not contain a user name or password'
  if (raw.includes('#')) return 'must not contain a fragment (#)'
  // Characters outside ASCII grow when they are escaped.
  if (href.length > maxChars) return `must be at most ${maxChars} characters when escaped`
  return undefined
}

const url = z
  .string()
  .transform((raw, context) => {
    const problem = urlProblem(raw)
    refuse(context, [], problem)
    return problem === undefined ? new URL(raw).href : raw
  })
  .meta({ wire: { type: 'string', format: 'uri', maxLength: limits.url.maxChars } })

const PRICE = /^[1-9][0-9]*$/

const price = z
  .string()
  .transform((digits, context) => {
    const { min, max } = limits.price
    if (PRICE.test(digits) && digits.length <= max.length) return BigInt(digits)
    const rule = 'must be a whole number of millionths of a dollar, or of the unit of its asset,'
    refuse(context, [], `${rule} ${min} to ${max}`)
    return 0n
  })
  .meta({ wire: { type: 'string', pattern: '^[1-9][0-9]{0,14}$' } })
  .describe('6-decimal units; with `metered` a ceiling.')

const printable = new RegExp(limits.tags.pattern)
const tag = z
  .string()
  .transform((raw, context) => {
    const kept = normalizeText(raw)
    const foreign = printable.test(kept) ? undefined : 'must be printable ASCII'
    const problem = characterProblem(raw, 'one-line') ?? lengthProblem(kept, limits.tags)
    refuse(context, [], problem ?? foreign)
    return kept
  })
  .meta({
    wire: {
      type: 'string',
      minLength: limits.tags.minChars,
      maxLength: limits.tags.maxChars,
      pattern: limits.tags.pattern,
    },
  })

const tags = z
  .array(tag)
  .max(limits.tags.max, { error: `must have at most ${limits.tags.max} entries` })
  .transform((all) => {
    const byCase = new Map(all.map((tag) => [tag.toLowerCase(), tag]))
    return [...byCase.values()]
  })

const inputSchema = z
  .custom<Record<string, unknown>>(isObject, { error: 'must be an object, or null' })
  .superRefine((schema, context) => {
    const problem = jsonProblem(schema, limits.inputSchema) ?? schemaProblem(schema)
    const isForObjects = schema.type === 'object'
    refuse(
      context,
      [],
      problem ?? (isForObjects ? undefined : 'must be an object schema: its type must be "object"'),
    )
  })
  .meta({ wire: { type: 'object', required: ['type'], properties: { type: { const: 'object' } } } })
  .describe('JSON Schema 2020-12 of the parameters.')

const output = z
  .strictObject({
    type: z.string().regex(/^[a-z0-9][a-z0-9.+/-]{0,39}$/, {
      error: `must be 1 to ${limits.outputType.maxChars} of a-z, 0-9, ".", "+", "/" and "-", such as json`,
    }),
    example: z.unknown().optional(),
  })
  .transform(({ type, example }, context): { type: string; example?: unknown } => {
    if (example === undefined) return { type }
    refuse(context, ['example'], jsonProblem(example, limits.outputExample))
    return { type, example }
  })

/** The schema of one endpoint. It does not check that the example satisfies the input schema: that takes a compiler. */
export const endpointBody = z
  .strictObject({
    url,
    method: z.enum(callMethods),
    toolName: z
      .string()
      .regex(TOOL_NAME, { error: 'must be 1 to 128 visible ASCII characters' })
      .optional()
      .describe('Only with `MCP`: the tool of the MCP server at `url`.'),
    transport: z
      .enum(mcpTransports)
      .optional()
      .describe('Of the MCP server; `streamable-http` unless given.'),
    title: text({ kind: 'one-line', ...limits.title }),
    description: text({ kind: 'multi-line', minChars: 0, ...limits.endpointDescription }).default(
      '',
    ),
    pricing: z.enum(['fixed', 'metered']).default('fixed'),
    price,
    asset: addressField
      .nullable()
      .default(null)
      .describe('Token of the price; the default one if it is absent.'),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, { error: 'must be a currency such as EUR (ISO 4217)' })
      .nullable()
      .default(null)
      .describe('Currency of the price, with the token or in its place.'),
    tags: tags.default([]),
    example: z
      .unknown()
      .optional()
      .describe(
        'The probe calls the endpoint with it: `{ queryParams }` for GET, HEAD and DELETE; `{ body, bodyType?, queryParams? }` for POST, PUT and PATCH; `{ arguments }` for MCP. `headers` next to them are shown, never sent; `pathParams` fill the places of a path such as `/users/:id`.',
      ),
    inputSchema: inputSchema.nullable().default(null),
    output: output
      .nullable()
      .optional()
      .describe('`{ type: "json" }` unless given, of a tool `{ type: "text" }`.'),
  })
  .transform(({ example, toolName, transport, ...endpoint }, context) => {
    const { method } = endpoint
    refuse(context, ['toolName'], toolProblem(method, toolName))
    if (transport !== undefined && method !== 'MCP') {
      refuse(context, ['transport'], 'must be left out: it goes with the method MCP')
    }
    const read = readExample(endpoint, example)
    if ('problem' in read) refuse(context, ['example', ...read.path], read.problem)
    return {
      ...endpoint,
      output: endpoint.output === undefined ? usualOutput(method) : endpoint.output,
      ...(toolName === undefined ? {} : { toolName }),
      ...(transport === undefined ? {} : { transport }),
      example: 'problem' in read ? {} : read.example,
    }
  })

/** MCP answers with text unless a tool says more. */
function usualOutput(method: CallMethod): { type: string; example?: unknown } {
  return { type: method === 'MCP' ? 'text' : 'json' }
}

function toolProblem(method: CallMethod, toolName: string | undefined): string | undefined {
  if (method === 'MCP')
    return toolName === undefined ? 'is required with the method MCP' : undefined
  return toolName === undefined ? undefined : 'must be left out: it goes with the method MCP'
}

type ReadExample = { example: CallExample } | { path: string[]; problem: string }

/** Reads the example of a call. The result has its members in one order, by which discovery knows it again. */
function readExample({ method, url }: CallTarget, raw: unknown): ReadExample {
  const main = parametersIn(method)
  const given = raw === undefined ? { [main]: {} } : raw
  const others = companionsOf(method)
  const isKnown = (name: string) => name === main || others.includes(name)
  if (!isObject(given) || given[main] === undefined || !Object.keys(given).every(isKnown)) {
    const optional = others.length === 0 ? '' : `, and ${others.join(', ')} if you like,`
    return { path: [], problem: `must be { ${main} }${optional} for ${method}` }
  }
  for (const [name, value] of Object.entries(given)) {
    const problem = jsonProblem(value, limits.example)
    if (problem !== undefined) return { path: [name], problem }
  }
  const { bodyType, body, queryParams, headers, pathParams, arguments: args } = given
  if (method === 'MCP') {
    return isObject(args)
      ? { example: { arguments: args } }
      : { path: ['arguments'], problem: 'must be an object' }
  }
  const params = queryParams ?? {}
  const paramProblem = isObject(params) ? paramsProblem(params) : 'must be an object'
  if (paramProblem !== undefined) return { path: ['queryParams'], problem: paramProblem }
  const headerProblem = headers === undefined ? undefined : headersProblem(headers)
  if (headerProblem !== undefined) return { path: ['headers'], problem: headerProblem }
  const places = placesIn(url)
  const placeProblem = pathParams === undefined ? undefined : placesProblem(places, pathParams)
  if (placeProblem !== undefined) return { path: ['pathParams'], problem: placeProblem }
  const last = {
    ...(headers === undefined ? {} : { headers: headers as Headers }),
    ...(pathParams === undefined ? {} : { pathParams: pathParams as Record<string, string> }),
  }
  const query = { queryParams: params as Record<string, unknown> }
  if (!isBodyMethod(method)) return { example: { ...query, ...last } }
  const bodyIssue = bodyProblem(bodyType, body)
  if (bodyIssue !== undefined) return bodyIssue
  const typed = bodyType === undefined || bodyType === 'json' ? {} : { bodyType }
  const asked = queryParams === undefined ? {} : query
  return { example: { ...typed, body, ...asked, ...last } as CallExample }
}

/** Returns the members of an example that may accompany its parameters. */
function companionsOf(method: CallMethod): readonly string[] {
  if (method === 'MCP') return []
  const all = ['headers', 'pathParams']
  return isBodyMethod(method) ? ['bodyType', 'queryParams', ...all] : all
}

function bodyProblem(
  bodyType: unknown,
  body: unknown,
): { path: string[]; problem: string } | undefined {
  if (bodyType !== undefined && !isOneOf(bodyTypes, bodyType)) {
    return { path: ['bodyType'], problem: `must be ${bodyTypes.join(', ')}` }
  }
  if (bodyType === 'text' && typeof body !== 'string') {
    return { path: ['body'], problem: 'must be a string with the bodyType text' }
  }
  if (bodyType === 'form-data' && !isObject(body)) {
    return { path: ['body'], problem: 'must be an object of fields with the bodyType form-data' }
  }
  return undefined
}

function placesProblem(places: readonly string[], pathParams: unknown): string | undefined {
  if (!isObject(pathParams)) return 'must be an object'
  const stray = Object.keys(pathParams).find((name) => !places.includes(name))
  if (stray !== undefined) return `has ${quote(stray)}, which is no place of the path`
  const isSound = (value: unknown) => typeof value === 'string' && !/^\.{0,2}$|\p{C}/u.test(value)
  return Object.values(pathParams).every(isSound) ? undefined : 'must have a text for each place'
}

const HEADER_NAME = /^[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,64}$/

function headersProblem(headers: unknown): string | undefined {
  if (!isObject(headers)) return 'must be an object'
  const entries = Object.entries(headers)
  if (entries.length > limits.headers.max) return `must have at most ${limits.headers.max} members`
  const isGood = ([name, value]: [string, unknown]) =>
    HEADER_NAME.test(name) && typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)
  return entries.every(isGood)
    ? undefined
    : 'must have names of headers, and strings of visible ASCII characters as values'
}

function paramsProblem(queryParams: Record<string, unknown>): string | undefined {
  const { max, nameMaxChars, valuesPerName } = limits.queryParams
  const entries = Object.entries(queryParams)
  if (entries.length > max) return `must have at most ${max} members`
  for (const [name, value] of entries) {
    const character = findUnwelcome(name, 'one-line')
    if (character !== undefined) return `must not have names with the character ${character}`
    if (countChars(name) > nameMaxChars || name.trim() === '') {
      return `must have names of 1 to ${nameMaxChars} characters`
    }
    const values = Array.isArray(value) ? value : [value]
    if (values.length > valuesPerName || !values.every(isScalar)) {
      return `must have strings, numbers, booleans or up to ${valuesPerName} of them as values; ${quote(name)} has not`
    }
  }
  return undefined
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

const countProblem = `must have ${limits.endpoints.min} to ${limits.endpoints.max} entries`

/** The schema of a listing: the body of a save. */
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
    for (const [index, endpoint] of endpoints.entries()) {
      const key = targetKey(endpoint)
      const first = seen.get(key)
      if (first === undefined) seen.set(key, index)
      else {
        const what = endpoint.method === 'MCP' ? 'tool' : 'method'
        const message = `must not be listed twice with one ${what}: endpoints[${first}] has it`
        refuse(context, ['endpoints', index, 'url'], message)
      }
    }
  })
  .meta({ id: 'Listing' })

/** A listing in the form in which it is kept: the output of `listingBody`. */
export type ListingBody = z.output<typeof listingBody>

function refuse(context: z.RefinementCtx, path: PropertyKey[], message: string | undefined): void {
  if (message !== undefined) context.addIssue({ code: 'custom', path, message })
}

/** Writes the path of a field as a person does: `endpoints[0].title`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}

/**
 * Describes an issue in words that follow the name of the field; hand it to `safeParse` as `error`. `undefined` leaves
 * the words that the schema has of its own.
 */
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
