import type { Address } from 'viem'
import type { ToolCall, ToolsAnswer } from '../../api/merchants.js'
import type { Endpoint, Merchant } from '../../store/listings.js'
import { costOf, livePrices, priceUsd } from './published.js'
import { nameTools } from './tool-names.js'

/** `function` is what most makers of language models take, `mcp` the answer to `tools/list`. */
export const toolFormats = ['function', 'mcp'] as const
export type ToolFormat = (typeof toolFormats)[number]

/** A merchant's endpoints as tools, and apart from them, by name, what a call of each is made of. */
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
  return [title, description, `Costs ${costOf(endpoint, merchant)}.`]
    .filter((part) => part !== '')
    .join('\n')
}

/** The stored schema as it is; where none is stored, one with the parameters of the example. */
function inputSchemaOf({ inputSchema, example }: Endpoint): Record<string, unknown> {
  if (inputSchema !== null) {
    const { properties } = inputSchema
    return properties === undefined ? { ...inputSchema, properties: {} } : inputSchema
  }
  const values = 'queryParams' in example ? example.queryParams : example.body
  if (needsWrap(values)) return { type: 'object', properties: { body: {} }, required: ['body'] }
  const properties = Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [name, { examples: [value] }]),
  )
  return { type: 'object', properties }
}

/** Arguments of a tool are an object; a body that is none goes under a name. */
function needsWrap(body: unknown): boolean {
  return body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))
}

function toCall(
  merchant: Merchant,
  endpoint: Endpoint,
  checksum: (address: Address) => Address,
): ToolCall {
  const { method, url, pricing, price, status, inputSchema, example } = endpoint
  const isWrapped = inputSchema === null && 'body' in example && needsWrap(example.body)
  return {
    method,
    url,
    arguments: method === 'GET' ? 'query' : isWrapped ? 'body.body' : 'body',
    pricing,
    price: price.toString(),
    priceUsd: priceUsd(price),
    ...livePrices(endpoint, merchant),
    network: merchant.network,
    asset: checksum(merchant.asset),
    payTo: checksum(merchant.payTo),
    status,
  }
}
