import type { DiscoveryItem, EndpointCard } from '@arcus/protocol/answers/discovery'
import type { ProbeRecord } from '@arcus/protocol/answers/listings'
import { isBodyMethod, parametersIn } from '@arcus/protocol/x402/calls'
import { isObject } from '@arcus/protocol/x402/json'
import type {
  CatalogEntry,
  JsonText,
  Merchant,
  PublishedEndpoint,
  PublishedEntry,
  StoredEndpoint,
} from '../store/listings.js'
import { isUnclaimed, speaksForPayTo, unclaimedName } from '../store/ownership.js'
import { standingOf, tellLivePrice, tellPrice } from '../store/published.js'

/** Returns a discovery item as JSON. It is put together from stored JSON, because parsing that to write it again is half of the work of an answer. */
export function itemJson({ endpoint, merchant, usage }: PublishedEntry): JsonText {
  const { description, tags, status } = endpoint
  const extras: StoredEndpoint['extras'] = JSON.parse(endpoint.extras)
  const { mimeType, serviceName, iconUrl, extensions } = extras
  return object<DiscoveryItem>({
    resource: text(endpoint.url),
    type: endpoint.method === 'MCP' ? '"mcp"' : '"http"',
    x402Version: '2',
    accepts: endpoint.accepts,
    lastUpdated: String(endpoint.lastUpdated),
    metadata: object<DiscoveryItem['metadata']>({
      title: text(endpoint.title),
      description: text(description),
      // A name without proof is what a stranger calls somebody else's API.
      provider: text(speaksForPayTo(merchant) ? merchant.name : unclaimedName(merchant.payTo)),
      merchant: JSON.stringify(membersOf(merchant)),
      pricing: text(endpoint.pricing),
      ...priceOf(endpoint),
      hostedByArcus: endpoint.isHosted,
      input: inputOf(endpoint),
      inputSchema: toolSchemaOf(endpoint),
      // A tool of MCP answers with text unless it says more.
      output:
        endpoint.output ?? (endpoint.method === 'MCP' ? '{"type":"text"}' : '{"type":"json"}'),
      usage: usage !== null && speaksForPayTo(merchant) ? usage : undefined,
      delivery: endpoint.delivery ?? undefined,
    }),
    status: status === 'live' ? undefined : text(status),
    description: description === '' ? undefined : text(description),
    mimeType: textOf(mimeType),
    serviceName: textOf(serviceName),
    tags: tags === '[]' ? undefined : tags,
    iconUrl: textOf(iconUrl),
    extensions: isObject(extensions) ? JSON.stringify(extensions) : undefined,
  })
}

/** Returns a discovery item as an object. */
export function toItem({ endpoint, ...rest }: CatalogEntry): DiscoveryItem {
  const { tags, example, inputSchema, output, extras, accepts, isHosted, delivery } = endpoint
  const published: PublishedEndpoint = {
    ...endpoint,
    price: endpoint.price.toString(),
    toolName: endpoint.toolName ?? null,
    transport: endpoint.transport ?? null,
    tags: JSON.stringify(tags),
    example: JSON.stringify(example),
    inputSchema: inputSchema && JSON.stringify(inputSchema),
    output: output && JSON.stringify(output),
    extras: JSON.stringify(extras),
    accepts: JSON.stringify(accepts),
    isHosted: String(isHosted),
    delivery: delivery && JSON.stringify(delivery),
  }
  return JSON.parse(itemJson({ endpoint: published, ...rest }))
}

/** Returns an endpoint as the console shows it in a list: what is listed, what its 402 asks for, and its status. Times are in seconds, prices in atomic units. */
export function toCard({ endpoint, merchant, usage }: CatalogEntry): EndpointCard {
  const { id, url, method, toolName, title, description, tags, pricing } = endpoint
  const { status, failures, probe, isHosted, inputSchema, lastUpdated } = endpoint
  return {
    id,
    url,
    method,
    ...(toolName === undefined ? {} : { toolName }),
    title,
    description,
    tags,
    pricing,
    ...tellPrice(endpoint),
    ...tellLivePrice(endpoint, merchant),
    hosted: isHosted,
    hasSchema: inputSchema !== null,
    status,
    failures,
    probe: probe === null ? null : summarizeProbe(probe),
    lastUpdated,
    usage: usage !== null && speaksForPayTo(merchant) ? JSON.parse(usage) : null,
    delivery: endpoint.delivery,
    merchant: {
      id: merchant.id,
      name: merchant.name,
      official: merchant.isOfficial,
      partner: merchant.isPartner,
      unclaimed: isUnclaimed(merchant),
      ...standingOf(merchant),
      identity: summarizeIdentity(merchant),
    },
  }
}

/** Keeps the warnings, because a live endpoint may ask for something that no buyer expects of its listing. */
function summarizeProbe({ verdict, warnings, checkedAt }: ProbeRecord): EndpointCard['probe'] {
  return { verdict, warnings, checkedAt }
}

/** Returns all four checks, not only the first, because people are shown which of them hold. */
function summarizeIdentity({ agentId, identity }: Merchant): EndpointCard['merchant']['identity'] {
  if (identity === null || identity.agentId !== agentId) return null
  const { control, pay, file, domain } = identity.checks
  return {
    agentId,
    checks: {
      control: control.passed,
      pay: pay.passed,
      file: file.passed,
      domain: domain.passed,
    },
  }
}

/** Writes an object. Members that are `undefined` are left out. */
function object<Shape>(members: { [Name in keyof Shape]: JsonText | undefined }): JsonText {
  const written: string[] = []
  for (const name in members) {
    const json = members[name]
    if (json !== undefined) written.push(`"${name}":${json}`)
  }
  return `{${written.join(',')}}`
}

function text(value: string): JsonText {
  return JSON.stringify(value)
}

function textOf(value: unknown): JsonText | undefined {
  return typeof value === 'string' ? text(value) : undefined
}

function membersOf(merchant: Merchant): DiscoveryItem['metadata']['merchant'] {
  return {
    id: merchant.id,
    name: merchant.name,
    official: merchant.isOfficial,
    partner: merchant.isPartner,
    ...standingOf(merchant),
    identity: identityOf(merchant),
  }
}

/** Returns the agent, if it was proven that the merchant's owner controls it. */
function identityOf({ identity }: Merchant): { agentId: string } | null {
  return identity?.checks.control.passed === true ? { agentId: identity.agentId } : null
}

function priceOf(endpoint: PublishedEndpoint) {
  const { price, priceUsd, asset, symbol, currency } = tellPrice({
    ...endpoint,
    price: BigInt(endpoint.price),
  })
  return {
    price: text(price),
    priceUsd: textOf(priceUsd),
    asset: text(asset),
    symbol: text(symbol),
    currency: JSON.stringify(currency),
  }
}

/** Writes how to call the endpoint, with the values of the example. */
function inputOf(endpoint: PublishedEndpoint): JsonText {
  const { method } = endpoint
  const example: StoredEndpoint['example'] = JSON.parse(endpoint.example)
  if (method === 'MCP') return toolInputOf(endpoint, example)
  const { bodyType = 'json', body = {}, arguments: _, ...rest } = example
  const values = isBodyMethod(method) ? { bodyType, body, ...rest } : { queryParams: {}, ...rest }
  return JSON.stringify({ type: 'http', method, ...values })
}

function toolInputOf(endpoint: PublishedEndpoint, example: StoredEndpoint['example']): JsonText {
  const { toolName, transport, description } = endpoint
  return object({
    type: '"mcp"',
    toolName: text(toolName ?? ''),
    description: description === '' ? undefined : text(description),
    transport: textOf(transport),
    inputSchema: toolSchemaOf(endpoint),
    example: JSON.stringify(example.arguments ?? {}),
  })
}

/** The members that a tool definition is expected to have. A schema without one of them means these values. */
const toolMembers = { type: '"object"', properties: '{}', required: '[]' }

function toolSchemaOf(endpoint: PublishedEndpoint): JsonText {
  const schema = endpoint.inputSchema ?? schemaOfExample(endpoint)
  const known: Record<string, unknown> = JSON.parse(schema)
  const absent = Object.entries(toolMembers)
    .filter(([name]) => !Object.hasOwn(known, name))
    .map(([name, json]) => `"${name}":${json}`)
  if (absent.length === 0) return schema
  return `{${[...absent, schema.slice(1, -1)].filter((members) => members !== '').join(',')}}`
}

/** Makes a schema from the example. It names the parameters, but does not show which of them are required. */
function schemaOfExample({ method, example }: PublishedEndpoint): JsonText {
  const parsed: StoredEndpoint['example'] = JSON.parse(example)
  const values = parsed[parametersIn(method)]
  const names = isObject(values) ? Object.keys(values) : []
  return JSON.stringify({ properties: Object.fromEntries(names.map((name) => [name, {}])) })
}
