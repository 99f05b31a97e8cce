import type { CatalogEntry, Endpoint, Merchant, QuotedRequirement } from '../store/listings.js'

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

export function toItem({ endpoint, merchant }: CatalogEntry): DiscoveryItem {
  return {
    resource: endpoint.url,
    type: 'http',
    x402Version: 2,
    accepts: endpoint.accepts,
    lastUpdated: endpoint.lastUpdated,
    metadata: {
      title: endpoint.title,
      description: endpoint.description,
      provider: merchant.name,
      merchant: {
        id: merchant.id,
        name: merchant.name,
        official: merchant.isOfficial,
        partner: merchant.isPartner,
        identity: identityOf(merchant),
      },
      pricing: endpoint.pricing,
      hostedByArcus: endpoint.isHosted,
      input: inputOf(endpoint),
      inputSchema: toolSchemaOf(endpoint),
      output: { ...(endpoint.output ?? { type: 'json' }) },
    },
    ...(endpoint.status !== 'live' && { status: endpoint.status }),
    ...optionalMembers(endpoint),
  }
}

/** An agent whose owner was not proven to control it is nobody's identity. */
function identityOf({ identity }: Merchant): { agentId: string } | null {
  return identity?.checks.control.passed === true ? { agentId: identity.agentId } : null
}

function inputOf({ method, example }: Endpoint): HttpInput {
  if (method === 'POST') {
    return { type: 'http', method, bodyType: 'json', body: 'body' in example ? example.body : {} }
  }
  return { type: 'http', method, queryParams: 'queryParams' in example ? example.queryParams : {} }
}

/** With all three members a tool definition is expected to have; what is left out of a schema means just these. */
function toolSchemaOf(endpoint: Endpoint): Record<string, unknown> {
  const schema = endpoint.inputSchema ?? schemaOfExample(endpoint)
  return { type: 'object', properties: {}, required: [], ...schema }
}

/** Without a schema of its own only the names of the parameters are known, not which of them are needed. */
function schemaOfExample({ example }: Endpoint): Record<string, unknown> {
  const values = 'body' in example ? example.body : example.queryParams
  const names = isObject(values) ? Object.keys(values) : []
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, {}])),
    required: [],
  }
}

function optionalMembers({
  description,
  tags,
  extras,
}: Endpoint): Pick<
  DiscoveryItem,
  'description' | 'mimeType' | 'serviceName' | 'tags' | 'iconUrl' | 'extensions'
> {
  const { mimeType, serviceName, iconUrl, extensions } = extras
  return {
    ...(description !== '' && { description }),
    ...(typeof mimeType === 'string' && { mimeType }),
    ...(typeof serviceName === 'string' && { serviceName }),
    ...(tags.length > 0 && { tags }),
    ...(typeof iconUrl === 'string' && { iconUrl }),
    ...(isObject(extensions) && { extensions }),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
