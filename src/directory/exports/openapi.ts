import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { isBodyMethod } from '@arcus/protocol/x402/calls'
import { moneyOf } from '@arcus/protocol/x402/currencies'
import { isObject } from '@arcus/protocol/x402/json'
import { dataKeywords, schemaKeywords, schemasByName } from '@arcus/protocol/x402/json-schema'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import type { Address } from 'viem'
import type { Merchant, StoredEndpoint } from '../store/listings.js'
import {
  livePriceOf,
  propertiesOf,
  publicWarnings,
  publishedIdentity,
  standingOf,
} from '../store/published.js'

interface MerchantDocumentOptions {
  facilitator: string
  checksum: (address: Address) => Address
}

/**
 * Describes a merchant's endpoints as OpenAPI 3.1, from the store alone. Returns the document as pieces of JSON text, made
 * one after another: a hundred endpoints with large schemas are half a megabyte.
 */
export async function writeOpenApi(
  merchant: Merchant,
  endpoints: readonly StoredEndpoint[],
  options: MerchantDocumentOptions,
): Promise<string[]> {
  // A tool of an MCP server is no operation of HTTP.
  const described = endpoints.filter(
    ({ url, method }) => method !== 'MCP' && parseUrl(url) !== undefined,
  )
  const server = described[0] === undefined ? undefined : new URL(described[0].url).origin
  const names = nameOperations(described)
  /** Members of each path item, as text. */
  const paths = new Map<string, Map<string, string>>()
  const schemas: string[] = []
  for (const [i, endpoint] of described.entries()) {
    const name = names[i] as string
    const base = `#/components/schemas/${name}`
    const { origin, pathname } = new URL(endpoint.url)
    const method = endpoint.method.toLowerCase()
    // Two endpoints may differ in host or query alone. A fragment, which is never sent, makes their paths differ.
    const path = paths.get(pathname)?.has(method) ? `${pathname}#${name}` : pathname
    const operation = toOperation(endpoint, merchant, name, base)
    const servers = origin === server ? {} : { servers: [{ url: origin }] }
    const item = paths.get(path) ?? new Map<string, string>()
    paths.set(path, item.set(method, member(method, { ...operation, ...servers })))
    if (needsComponent(endpoint)) {
      schemas.push(member(name, rebaseSchema(endpoint.inputSchema, base)))
    }
    // Each may have a large schema, and everything else goes on in between.
    await nextTurn()
  }
  const items = [...paths].map(
    ([path, item]) => `${JSON.stringify(path)}:{${[...item.values()].join()}}`,
  )
  return [
    JSON.stringify(headOf(merchant, server, options)).slice(0, -1),
    ',"paths":{',
    ...separated(items),
    '},"components":{"schemas":{',
    ...separated(schemas),
    `},${member('responses', { PaymentRequired: paymentRequired })}}}\n`,
  ]
}

function headOf(
  merchant: Merchant,
  server: string | undefined,
  { facilitator, checksum }: MerchantDocumentOptions,
) {
  const warnings = publicWarnings(merchant).map(({ message }) => `Warning: ${message}`)
  const description = [...warnings, merchant.description].filter((it) => it !== '').join('\n\n')
  return {
    openapi: '3.1.0',
    info: {
      title: merchant.name,
      version: String(merchant.revision),
      ...(description === '' ? {} : { description }),
    },
    ...(server === undefined ? {} : { servers: [{ url: server }] }),
    'x-x402': {
      facilitator,
      merchant: merchant.id,
      network: merchant.network,
      asset: checksum(merchant.asset),
      payTo: checksum(merchant.payTo),
      ...standingOf(merchant),
      identity: publishedIdentity(merchant),
    },
  }
}

function member(name: string, value: unknown): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

function separated(members: readonly string[]): string[] {
  return members.map((text, i) => (i === 0 ? text : `,${text}`))
}

const paymentRequired = {
  description:
    'Payment is asked for. Sign one of `accepts` and send the same request again with PAYMENT-SIGNATURE (x402 version 2).',
  headers: {
    'PAYMENT-REQUIRED': {
      description: 'Base64 of JSON with `accepts`, the requirements of which one must be met.',
      required: true,
      schema: { type: 'string', contentEncoding: 'base64', contentMediaType: 'application/json' },
    },
  },
}

const contentTypes: Readonly<Record<string, string>> = {
  json: 'application/json',
  text: 'text/plain',
  html: 'text/html',
  csv: 'text/csv',
  xml: 'application/xml',
  'form-data': 'multipart/form-data',
}
const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]*\/[a-z0-9*][a-z0-9.+-]*$/

/** Describes an endpoint as an Operation of OpenAPI 3.1. `base` is the JSON pointer to its input schema. */
function toOperation(
  endpoint: StoredEndpoint,
  merchant: Merchant,
  operationId: string,
  base: string,
): Record<string, unknown> {
  const { title, description, tags, method } = endpoint
  return {
    operationId,
    summary: title,
    ...(description === '' ? {} : { description }),
    ...(tags.length === 0 ? {} : { tags }),
    parameters: [...fixedParameters(endpoint), ...queryParameters(endpoint, base)],
    ...(isBodyMethod(method) ? { requestBody: requestBody(endpoint, base) } : {}),
    responses: {
      '200': success(endpoint),
      '402': { $ref: '#/components/responses/PaymentRequired' },
    },
    'x-payment-info': paymentInfo(endpoint, merchant),
  }
}

/**
 * Returns whether the document needs the input schema as a whole: for a body it does; the parameters of a query stand alone
 * unless they refer to one another.
 */
function needsComponent({ method, inputSchema }: StoredEndpoint): boolean {
  if (inputSchema === null) return false
  return (
    isBodyMethod(method) ||
    [...schemaKeywords(inputSchema)].some(([keyword]) => references.has(keyword))
  )
}

/** Returns the parameters of the query, each with its part of the schema, which next to a body is unknown, and the example. */
function queryParameters(endpoint: StoredEndpoint, base: string) {
  const { method, example, url } = endpoint
  const inputSchema = isBodyMethod(method) ? null : endpoint.inputSchema
  const values = example.queryParams ?? {}
  const schemas = propertiesOf(inputSchema)
  const required = Array.isArray(inputSchema?.required) ? inputSchema.required : []
  const fixed = parseUrl(url)?.searchParams ?? new URLSearchParams()
  const names = [...new Set([...Object.keys(schemas), ...Object.keys(values)])]
  return names
    .filter((name) => name !== '' && !fixed.has(name))
    .map((name) => {
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : typeOf(values[name])
      const about = isObject(schema) ? schema.description : undefined
      return {
        name,
        in: 'query',
        required: required.includes(name),
        ...(typeof about === 'string' ? { description: about } : {}),
        schema: rebaseSchema(schema, base),
        ...(Object.hasOwn(values, name) ? { example: values[name] } : {}),
      }
    })
}

/** Returns the query of the URL itself as parameters with one value, because a path of OpenAPI has no query. */
function fixedParameters({ url }: StoredEndpoint) {
  const query = parseUrl(url)?.searchParams ?? new URLSearchParams()
  return [...new Set(query.keys())].map((name) => {
    const values = query.getAll(name)
    const schema =
      values.length === 1 ? { type: 'string', const: values[0] } : { type: 'array', const: values }
    return { name, in: 'query', required: true, schema }
  })
}

function requestBody({ inputSchema, example }: StoredEndpoint, base: string) {
  const { body, bodyType = 'json' } = example
  const schema = inputSchema === null ? typeOf(body) : { $ref: base }
  return {
    required: true,
    content: {
      [contentTypes[bodyType] as string]: {
        schema,
        ...(body === undefined ? {} : { example: body }),
      },
    },
  }
}

function success({ output, extras }: StoredEndpoint) {
  const type = output?.type ?? ''
  const said = typeof extras.mimeType === 'string' ? extras.mimeType : type
  const contentType = MEDIA_TYPE.test(said) ? said : contentTypes[type]
  const example = output !== null && 'example' in output ? { example: output.example } : {}
  return {
    description: 'The paid answer.',
    headers: {
      'PAYMENT-RESPONSE': {
        description: 'Base64 of the settlement as JSON, with the hash of its transaction.',
        schema: { type: 'string' },
      },
    },
    content: { [contentType ?? '*/*']: example },
  }
}

/** Returns the price, live before listed, in the form that other directories read, and the quoted requirements. */
function paymentInfo(endpoint: StoredEndpoint, merchant: Merchant) {
  const { pricing, price, symbol, accepts } = endpoint
  const amount = formatAtomic(livePriceOf(endpoint, merchant) ?? price)
  const currency = moneyOf(symbol)
  return {
    price:
      pricing === 'fixed'
        ? { mode: 'fixed', currency, amount }
        : { mode: 'dynamic', currency, min: '0', max: amount },
    protocols: [{ x402: { x402Version: 2, accepts } }],
  }
}

function typeOf(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (Array.isArray(value)) return { type: 'array' }
  return { type: typeof value }
}

/** Deeper than any schema that is let in. */
const MAX_DEPTH = 64

/** Keywords that hold for a whole document, which the schema no longer is. */
const ofDocument = new Set([
  '$id',
  '$schema',
  '$anchor',
  '$dynamicAnchor',
  '$vocabulary',
  '$recursiveAnchor',
])
const references = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

/**
 * Copies a schema to a JSON pointer (`base`) of another document, such as `#/components/schemas/Input`. References within it are
 * adjusted; others are left out, so that no reader fetches an address of a stranger.
 */
export function rebaseSchema(schema: unknown, base: string, depth = 0): unknown {
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema) || depth > MAX_DEPTH) return {}
  const deeper = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(deeper)
    return isObject(value) ? rebaseSchema(value, base, depth + 1) : value
  }
  const members: [string, unknown][] = []
  for (const [key, value] of Object.entries(schema)) {
    if (ofDocument.has(key)) continue
    if (references.has(key)) {
      const isWithin = typeof value === 'string' && (value === '#' || value.startsWith('#/'))
      if (isWithin) members.push(['$ref', base + value.slice(1)])
    } else if (schemasByName.has(key) && isObject(value)) {
      const entries = Object.entries(value)
      members.push([key, Object.fromEntries(entries.map(([name, it]) => [name, deeper(it)]))])
    } else {
      members.push([key, dataKeywords.has(key) ? value : deeper(value)])
    }
  }
  return Object.fromEntries(members)
}

/** An operation id is also the name of a tool: language models accept `^[a-zA-Z0-9_-]{1,64}$`. */
const MAX_NAME_CHARS = 64

/** Names the endpoints, in their order, by title or else by path. The names are unique. */
export function nameOperations(endpoints: readonly StoredEndpoint[]): string[] {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return endpoints.map((endpoint) => {
    const wanted = toName(endpoint.title) || toName(pathOf(endpoint.url)) || 'endpoint'
    let count = counts.get(wanted) ?? 1
    let name = wanted
    while (taken.has(name)) {
      const suffix = `_${++count}`
      name = wanted.slice(0, MAX_NAME_CHARS - suffix.length) + suffix
    }
    counts.set(wanted, count)
    taken.add(name)
    return name
  })
}

function toName(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_NAME_CHARS)
    .replace(/^_+|_+$/g, '')
}

function pathOf(url: string): string {
  return parseUrl(url)?.pathname ?? ''
}
