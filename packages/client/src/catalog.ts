import { type Answer, ArcusError, type Call } from './calls.js'
import type { Item } from './sellers.js'

/** An endpoint by the merchant that lists it. An `Item` has all of it. */
export interface EndpointName {
  merchant: string
  url: string
  /** `MCP` for a tool. */
  method: string
  /** The name of a tool at its MCP server. */
  toolName?: string | undefined
}

/** An endpoint with what its last probe found. */
export interface Description {
  item: Item
  state: Answer<'GET /api/merchants/{id}'>['endpoints'][number]['state']
}

/** An address as somebody got it, with or without a query, and what is known besides. */
export interface Address {
  url: string
  method?: string | undefined
  toolName?: string | undefined
}

export interface CatalogClient {
  /** Reads one endpoint as it is listed now, with its health. Rejects with `not_found` if it is listed no more. */
  describe(endpoint: Item | EndpointName): Promise<Description>
  /**
   * Finds the listing of an address: the first with a proven payout address, else the first of all. Resolves to
   * `undefined` where nobody lists it.
   */
  findAt(address: Address): Promise<Item | undefined>
}

/** Longest page of the list. */
const PAGE_ITEMS = 100

export function createCatalog(call: Call): CatalogClient {
  async function findItem(name: EndpointName): Promise<Item> {
    for (let offset = 0; ; offset += PAGE_ITEMS) {
      const query = { merchant: name.merchant, limit: PAGE_ITEMS, offset }
      const { items, pagination } = await call('GET /discovery/resources', { query })
      const found = items.find((item) => isSame(nameOf(item), name))
      if (found !== undefined) return found
      if (offset + PAGE_ITEMS >= pagination.total) {
        const message = `${name.merchant} lists no ${name.method} ${name.url}.`
        throw new ArcusError('not_found', message, 404)
      }
    }
  }

  async function describe(endpoint: Item | EndpointName): Promise<Description> {
    const name = 'resource' in endpoint ? nameOf(endpoint) : endpoint
    // An unknown merchant is the better reason, so it is looked for first.
    const { endpoints } = await call('GET /api/merchants/{id}', { path: { id: name.merchant } })
    const item = await findItem(name)
    const listed = endpoints.find((endpoint) => isSame(endpoint, name))
    if (listed !== undefined) return { item, state: listed.state }
    // The listing was saved between the two answers.
    throw new ArcusError('not_found', `${name.merchant} changed its listing just now.`, 404)
  }

  async function findAt({ url, method, toolName }: Address): Promise<Item | undefined> {
    for (const resource of new Set([url, url.replace(/[?#].*$/s, '')])) {
      const query = { resource, method: method as 'GET' | undefined, toolName }
      const { entries } = await call('GET /discovery/status', { query })
      const shown = entries.filter(({ status }) => status !== 'hidden')
      const best = shown.find(({ payToProof }) => payToProof !== null) ?? shown[0]
      if (best !== undefined) return (await describe(best)).item
    }
    return undefined
  }

  return { describe, findAt }
}

function nameOf({ resource, type, metadata: { merchant, input } }: Item): EndpointName {
  const method = type === 'mcp' ? 'MCP' : (input.method ?? '')
  return { merchant: merchant.id, url: resource, method, toolName: input.toolName }
}

type Named = Omit<EndpointName, 'merchant'>

function isSame(a: Named, b: Named): boolean {
  return a.url === b.url && a.method === b.method && a.toolName === b.toolName
}
