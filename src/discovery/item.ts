import type { CatalogEntry, Endpoint, QuotedRequirement } from '../store/listings.js'
import type {
  JsonText,
  PublishedEndpoint,
  PublishedEntry,
  PublishedMerchant,
} from '../store/published.js'

/** An element of `items`, as the product defines it, with the optional members of the official packages beside. */
export interface DiscoveryItem {
  resource: string
  type: 'http'
  x402Version: 2
  accepts: readonly QuotedRequirement[]
  /** Unix seconds. */
  lastUpdated: number
  metadata: {
    title: string
    description: string
    provider: string
    merchant: {
      id: string
      name: string
      official: boolean
      partner: boolean
      identity: { agentId: string } | null
    }
    pricing: Endpoint['pricing']
    hostedByArcus: boolean
    input: HttpInput
    inputSchema: Record<string, unknown>
    output: Record<string, unknown>
  }
  /** Only of what is not live: seen to be wrong, or not seen yet. */
  status?: 'unverified' | 'failing'
  description?: string
  mimeType?: string
  serviceName?: string
  tags?: readonly string[]
  iconUrl?: string
  extensions?: Record<string, unknown>
}

type HttpInput =
  | { type: 'http'; method: string; queryParams: Record<string, unknown> }
  | { type: 'http'; method: string; bodyType: 'json'; body: unknown }

/** A discovery item as JSON, put together from what is stored: it is made for each endpoint of every answer. */
export function itemJson({ endpoint, merchant }: PublishedEntry): JsonText {
  const { description, tags, status } = endpoint
  const { mimeType, serviceName, iconUrl, extensions } = extrasOf(endpoint)
  return object<DiscoveryItem>({
    resource: text(endpoint.url),
    type: '"http"',
    x402Version: '2',
    accepts: endpoint.accepts,
    lastUpdated: String(endpoint.lastUpdated),
    metadata: object<DiscoveryItem['metadata']>({
      title: text(endpoint.title),
      description: text(description),
      provider: text(merchant.name),
      merchant: JSON.stringify(membersOf(merchant)),
      pricing: text(endpoint.pricing),
      hostedByArcus: endpoint.isHosted,
      input: inputOf(endpoint),
      inputSchema: toolSchemaOf(endpoint),
      output: endpoint.output ?? '{"type":"json"}',
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

/** The same as an object. */
export function toItem({ endpoint, merchant }: CatalogEntry): DiscoveryItem {
  const { tags, example, inputSchema, output, extras, accepts, isHosted } = endpoint
  const published: PublishedEndpoint = {
    ...endpoint,
    tags: JSON.stringify(tags),
    example: JSON.stringify(example),
    inputSchema: inputSchema && JSON.stringify(inputSchema),
    output: output && JSON.stringify(output),
    extras: JSON.stringify(extras),
    accepts: JSON.stringify(accepts),
    isHosted: String(isHosted),
  }
  return JSON.parse(itemJson({ endpoint: published, merchant }))
}

/** Members that are `undefined` are left out. */
function object<Shape>(members: { [Name in keyof Shape]: JsonText | undefined }): JsonText {
  const written: string[] = []
  for (const name in members) {
    const json = members[name]
    if (json !== undefined) written.push(`"${name}":${json}`)
  }
  // Joined, not added up: items are kept, and a text added up keeps every piece it was made of.
  return `{${written.join(',')}}`
}

function text(value: string): JsonText {
  return JSON.stringify(value)
}

function textOf(value: unknown): JsonText | undefined {
  return typeof value === 'string' ? text(value) : undefined
}

function membersOf(merchant: PublishedMerchant): DiscoveryItem['metadata']['merchant'] {
  return {
    id: merchant.id,
    name: merchant.name,
    official: merchant.isOfficial,
    partner: merchant.isPartner,
    identity: identityOf(merchant),
  }
}

/** An agent whose owner was not proven to control it is nobody's identity. */
function identityOf({ identity }: PublishedMerchant): { agentId: string } | null {
  return identity?.checks.control.passed === true ? { agentId: identity.agentId } : null
}

/** The one member that an example has is the last one here. */
function inputOf({ method, example }: PublishedEndpoint): JsonText {
  if (method === 'POST') {
    const body = example.startsWith('{"body":') ? example : '{"body":{}}'
    return `{"type":"http","method":"POST","bodyType":"json",${body.slice(1)}`
  }
  const params = example.startsWith('{"queryParams":') ? example : '{"queryParams":{}}'
  return `{"type":"http","method":"GET",${params.slice(1)}`
}

/** The members a tool definition is expected to have; what is left out of a schema means just these. */
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

/** Without a schema of its own only the names of the parameters are known, not which of them are needed. */
function schemaOfExample({ example }: PublishedEndpoint): JsonText {
  const parsed: Endpoint['example'] = JSON.parse(example)
  const values = 'body' in parsed ? parsed.body : parsed.queryParams
  const names = isObject(values) ? Object.keys(values) : []
  return JSON.stringify({ properties: Object.fromEntries(names.map((name) => [name, {}])) })
}

const NO_EXTRAS: Endpoint['extras'] = {}

function extrasOf({ extras }: PublishedEndpoint): Endpoint['extras'] {
  return extras === '{}' ? NO_EXTRAS : JSON.parse(extras)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
