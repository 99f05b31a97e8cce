import type { Item } from '@arcus/client/sellers'
import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import { createCatalog, type MemoryCatalog } from '../../../src/directory/discovery/catalog.js'
import type { EndpointList } from '../../../src/directory/discovery/endpoint-list.js'
import { toItem } from '../../../src/directory/discovery/item.js'
import type {
  CatalogEntry,
  ListingStore,
  Merchant,
  StoredEndpoint,
} from '../../../src/directory/store/listings.js'
import { aRequirement, network as mainnet, tokens } from './a-402.js'
import { anEndpoint as anEndpointOfAMerchant, openListings } from './listed-merchants.js'

type Draft = Parameters<ListingStore['saveByOperator']>[1][number]
export type MerchantDraft = Parameters<ListingStore['saveByOperator']>[0]

const [dollars, euros] = tokens as readonly [Stablecoin, Stablecoin]
const asset: Address = dollars.address
/** The token of a price in euros. */
export const inEuros = { asset: euros.address, symbol: euros.symbol }
export const payTo: Address = '0x3333333333333333333333333333333333333333'
export const network = mainnet

/** An empty store in memory, and a catalog that follows it once it is started. */
export async function aCatalog() {
  const { database, sql, store } = openListings()
  const faults: unknown[] = []
  const onFault = (fault: unknown) => void faults.push(fault)
  const catalog = createCatalog({ source: store, onFault })
  return { database, sql, store, catalog, faults }
}

/** Starts the reader and waits until the catalog is read. */
export async function whenReady(catalog: MemoryCatalog): Promise<EndpointList> {
  catalog.start()
  return whenRead(catalog)
}

/** Waits until the catalog is read. */
export async function whenRead(catalog: MemoryCatalog): Promise<EndpointList> {
  for (;;) {
    const list = await catalog.current()
    if (list !== undefined) return list
    await new Promise((resolve) => setImmediate(resolve))
  }
}

export function aMerchant(over: Partial<MerchantDraft> = {}): MerchantDraft {
  return {
    id: 'weather',
    owner: '0x1111111111111111111111111111111111111111',
    name: 'Weather House',
    description: '',
    network,
    asset,
    payTo,
    isOfficial: false,
    isPartner: false,
    hiddenReason: null,
    ...over,
  }
}

/** What the 402 of an endpoint asks for. */
export const aQuote = aRequirement

let urls = 0

export function anEndpoint(over: Partial<Draft> = {}): Draft {
  const draft = anEndpointOfAMerchant({
    url: `https://api.example.com/${++urls}`,
    title: 'Forecast',
    description: 'By city',
    tags: [],
    inputSchema: null,
  })
  return { ...draft, accepts: [aQuote()], isHosted: false, ...over }
}

/** The same endpoint as the catalog holds it, with its merchant. */
export function anEntry(
  endpoint: Partial<StoredEndpoint> = {},
  merchant: Partial<Merchant> = {},
): CatalogEntry {
  return {
    endpoint: {
      ...anEndpoint({ url: 'https://api.example.com/v1' }),
      id: 7,
      merchantId: 'weather',
      delivery: null,
      createdAt: 1_000,
      lastUpdated: 2_000,
      ...endpoint,
    },
    merchant: {
      ...aMerchant(),
      revision: 1,
      agentId: null,
      identity: null,
      offer: null,
      confirmation: null,
      nameLike: null,
      createdAt: 1_000,
      updatedAt: 1_000,
      deletedAt: null,
      ...merchant,
    },
    usage: null,
  }
}

/** The same entry as a client reads it. */
export function anItem(...entry: Parameters<typeof anEntry>): Item {
  return JSON.parse(JSON.stringify(toItem(anEntry(...entry))))
}

/** Saves as the operator does; the time is a second. */
export function save(
  store: ListingStore,
  merchant: Partial<MerchantDraft>,
  endpoints: Partial<Draft>[],
  now = 1_000,
): Promise<void> {
  return store.saveByOperator(aMerchant(merchant), endpoints.map(anEndpoint), now)
}

export async function merchantOf(store: ListingStore, id: string): Promise<Merchant> {
  const merchant = await store.findMerchant(id)
  if (merchant === undefined) throw new Error(`no merchant ${id}`)
  return merchant
}

/** Lists a seller whom nothing connects with the others; returns the payment that buys from them. */
export async function openMarket(store: ListingStore) {
  const key: Address = '0x0000000000000000000000000000000000003a6e'
  const url = 'https://market.example.org/stall'
  const market = { id: 'market', name: 'Market', owner: key, payTo: key }
  await save(store, market, [{ url, title: 'Stall', status: 'live' }])
  return { payTo: key, resourceUrl: url }
}
