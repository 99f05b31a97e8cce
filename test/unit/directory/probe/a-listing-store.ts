import type { ProbeScheduleOptions } from '../../../../src/directory/probe/probe-schedule.js'
import type {
  CatalogEntry,
  EndpointHealth,
  Merchant,
  StoredEndpoint,
} from '../../../../src/directory/store/listings.js'
import { asset, network, payTo } from '../../../support/directory/a-402.js'
import { anEndpoint as anEndpointOfAMerchant } from '../../../support/directory/listed-merchants.js'

export function aMerchant(over: Partial<Merchant> = {}): Merchant {
  return {
    id: 'weather',
    owner: '0x1111111111111111111111111111111111111111',
    name: 'Weather',
    description: '',
    network,
    asset: asset.address,
    payTo,
    revision: 1,
    isOfficial: false,
    isPartner: false,
    hiddenReason: null,
    agentId: null,
    identity: null,
    offer: null,
    confirmation: null,
    nameLike: null,
    createdAt: 0,
    updatedAt: 0,
    deletedAt: null,
    ...over,
  }
}

export function anEndpoint(over: Partial<StoredEndpoint> = {}): StoredEndpoint {
  const draft = anEndpointOfAMerchant({
    url: `https://api-${over.id ?? 1}.example.com/weather`,
    description: '',
    tags: [],
    example: { queryParams: {} },
    inputSchema: null,
    output: null,
    status: 'unverified',
    nextProbeAt: 0,
  })
  const kept = { id: 1, merchantId: 'weather', isHosted: false, delivery: null, createdAt: 0 }
  return { ...draft, ...kept, lastUpdated: 0, ...over }
}

/** The part of the listing store that a schedule uses, in memory. */
export function aListingStore(endpoints: StoredEndpoint[], merchant = aMerchant()) {
  const rows = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const saved: { id: number; health: EndpointHealth; now: number }[] = []
  const toEntry = (endpoint: StoredEndpoint): CatalogEntry => ({
    endpoint,
    merchant,
    usage: null,
  })
  const store: ProbeScheduleOptions['store'] = {
    async dueEndpoints(now, limit) {
      return [...rows.values()]
        .filter(({ nextProbeAt }) => nextProbeAt !== null && nextProbeAt <= now)
        .sort((a, b) => (a.nextProbeAt ?? 0) - (b.nextProbeAt ?? 0))
        .slice(0, limit)
        .map(toEntry)
    },
    entriesById: async (ids) =>
      ids.flatMap((id) => {
        const endpoint = rows.get(id)
        return endpoint === undefined ? [] : [toEntry(endpoint)]
      }),
    async saveProbe(id, health, now) {
      saved.push({ id, health, now })
      const row = rows.get(id)
      if (row !== undefined) rows.set(id, { ...row, ...health })
    },
  }
  return {
    store,
    saved,
    rows,
  }
}
