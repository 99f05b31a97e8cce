import type { Address } from 'viem'
import type { CatalogEntry, ListingReader } from '../../store/listings.js'

/** Whom an answer is about. */
export interface Attribution {
  merchantId: string
  /** `null` when only the recipient tells. */
  endpointId: number | null
  owner: Address | null
}

export interface Attributor {
  /** By the paid URL and the recipient; by the recipient alone; or nobody. */
  find(payTo: Address, resource: string | null): Promise<Attribution | undefined>
  /** Forgets what it found when a listing has changed since. */
  refresh(): Promise<void>
}

/** Pairs of URL and recipient that are remembered: the URL is a buyer's word, so they could be without end. */
const MAX_REMEMBERED = 5_000

/** The URL is a stranger's word: it names an endpoint only where its merchant is the one who is paid. */
export function createAttributor(
  listings: Pick<ListingReader, 'findByUrl' | 'merchantsPaidTo' | 'lastChange'>,
): Attributor {
  const found = new Map<string, Attribution | undefined>()
  let lastChange = -1

  async function look(payTo: Address, resource: string | null): Promise<Attribution | undefined> {
    const entries = resource === null ? [] : await findEntries(resource)
    const entry = entries.find(({ merchant }) => merchant.payTo === payTo)
    if (entry !== undefined) {
      const { merchant, endpoint } = entry
      return { merchantId: merchant.id, endpointId: endpoint.id, owner: merchant.owner }
    }
    const [merchant] = await listings.merchantsPaidTo(payTo)
    if (merchant === undefined) return undefined
    return { merchantId: merchant.id, endpointId: null, owner: merchant.owner }
  }

  async function findEntries(resource: string): Promise<CatalogEntry[]> {
    const [gets, posts] = await Promise.all([
      listings.findByUrl(resource, 'GET'),
      listings.findByUrl(resource, 'POST'),
    ])
    return [...gets, ...posts]
  }

  return {
    async find(payTo, resource) {
      const key = `${payTo} ${resource}`
      if (found.has(key)) return found.get(key)
      const attribution = await look(payTo, resource)
      if (found.size >= MAX_REMEMBERED) found.clear()
      found.set(key, attribution)
      return attribution
    },
    async refresh() {
      const change = await listings.lastChange()
      if (change !== lastChange) found.clear()
      lastChange = change
    },
  }
}

/** Origin and path of a paid URL: its query is the buyer's own business. `null` for what is no web address. */
export function canonicalResource(url: string | undefined): string | null {
  if (url === undefined || !URL.canParse(url)) return null
  const { protocol, origin, pathname } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' ? origin + pathname : null
}
