import type { Address } from 'viem'
import type { ToolCall, ToolsAnswer } from '../../api/merchants.js'
import { publicWarnings, standingOf } from '../../store/listing-warnings.js'
import type { Endpoint, Merchant } from '../../store/listings.js'
import { parametersIn } from '../../x402/calls.js'
import { parseUrl } from '../../x402/parse-url.js'
import { catalogPrices, costOf } from '../listings/published.js'

/** `function` is the form of most language models, `mcp` the answer to `tools/list`. */
export const toolFormats = ['function', 'mcp'] as const
type ToolFormat = (typeof toolFormats)[number]

/** Returns a merchant's endpoints as tools, and by name the parts of a call of each. */
export function toTools(
  merchant: Merchant,
  endpoints: readonly Endpoint[],
  format: ToolFormat,
  checksum: (address: Address) => Address,
): ToolsAnswer {
  const names = nameTools(endpoints)
  const tools = endpoints.map((endpoint, i) => {
    const name = names[i] as string
    const description = describe(endpoint, merchant)
    const inputSchema = inputSchemaOf(endpoint)
    return format === 'mcp'
      ? { name, title: endpoint.title, description, inputSchema }
      : { type: 'function', function: { name, description, parameters: inputSchema } }
  })
  const calls = Object.fromEntries(
    endpoints.map((endpoint, i) => [names[i] as string, toCall(merchant, endpoint, checksum)]),
  )
  return { tools, calls }
}

function describe(endpoint: Endpoint, merchant: Merchant): string {
  const { title, description } = endpoint
  const warnings = publicWarnings(merchant).map(({ message }) => `Warning: ${message}`)
  return [...warnings, title, description, `Costs ${costOf(endpoint, merchant)}.`]
    .filter((part) => part !== '')
    .join('\n')
}

/** Returns the stored schema, or else one with the parameters of the example. */
function inputSchemaOf({ method, inputSchema, example }: Endpoint): Record<string, unknown> {
  if (inputSchema !== null) {
    const { properties } = inputSchema
    return properties === undefined ? { ...inputSchema, properties: {} } : inputSchema
  }
  const values = example[parametersIn(method)]
  if (needsWrap(values)) return { type: 'object', properties: { body: {} }, required: ['body'] }
  const properties = Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [name, { examples: [value] }]),
  )
  return { type: 'object', properties }
}

/** Tells whether a body needs a name: the arguments of a tool are an object. */
function needsWrap(body: unknown): boolean {
  return body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))
}

function toCall(
  merchant: Merchant,
  endpoint: Endpoint,
  checksum: (address: Address) => Address,
): ToolCall {
  const { method, url, toolName, pricing, status, inputSchema, example } = endpoint
  const isWrapped = inputSchema === null && needsWrap(example.body)
  const main = parametersIn(method)
  const place = { queryParams: 'query', arguments: 'arguments', body: 'body' } as const
  return {
    method,
    url,
    ...(toolName === undefined ? {} : { toolName }),
    arguments: main === 'body' && isWrapped ? 'body.body' : place[main],
    pricing,
    ...catalogPrices(endpoint, merchant),
    network: merchant.network,
    payTo: checksum(merchant.payTo),
    ...standingOf(merchant),
    status,
  }
}

/** Language models accept tool names of the form `^[a-zA-Z0-9_-]{1,64}$`. */
const MAX_NAME_CHARS = 64

/** Names the endpoints, in their order, by title or else by path. The names are unique. */
export function nameTools(endpoints: readonly Endpoint[]): string[] {
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
