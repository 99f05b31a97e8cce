import { circleTokens, type Stablecoin } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import { type Catalog, createCatalog } from '../../../src/directory/discovery/catalog.js'
import type { EndpointList } from '../../../src/directory/discovery/endpoint-list.js'
import type { ListingStore, Merchant } from '../../../src/directory/store/listings.js'
import { createListingStore } from '../../../src/directory/store/sql/listings.js'
import { openDatabase } from '../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../../src/sql/sqlite/sql.js'

type Draft = Parameters<ListingStore['saveByOperator']>[1][number]
export type MerchantDraft = Parameters<ListingStore['saveByOperator']>[0]

const [dollars, euros] = circleTokens['eip155:5042'] as [Stablecoin, Stablecoin]
const asset: Address = dollars.address
/** The token of a price in euros. */
export const inEuros = { asset: euros.address, symbol: euros.symbol }
export const payTo: Address = '0x3333333333333333333333333333333333333333'
export const network = 'eip155:5042'

/** An empty store in memory, and a catalog that follows it once it is started. */
export async function aCatalog() {
  const database = openDatabase(':memory:')
  const sql = createSql(database, createGroupCommit(database))
  const store = createListingStore(sql)
  const faults: unknown[] = []
  const onFault = (fault: unknown) => void faults.push(fault)
  const catalog = createCatalog({ source: store, onFault })
  return { database, sql, store, catalog, faults }
}

/** Starts the reader and waits until the catalog is read. */
export async function whenReady(catalog: Catalog): Promise<EndpointList> {
  catalog.start()
  return whenRead(catalog)
}

/** Waits until the catalog is read. */
export async function whenRead(catalog: Catalog): Promise<EndpointList> {
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

export function aQuote(over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    scheme: 'exact',
    network,
    amount: '10000',
    asset,
    payTo,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
    ...over,
  }
}

let urls = 0

export function anEndpoint(over: Partial<Draft> = {}): Draft {
  return {
    url: `https://api.example.com/${++urls}`,
    method: 'GET',
    title: 'Forecast',
    description: 'By city',
    pricing: 'fixed',
    price: 10_000n,
    asset,
    symbol: 'USDC',
    tags: [],
    example: { queryParams: { city: 'Lisbon' } },
    inputSchema: null,
    output: { type: 'json' },
    extras: {},
    accepts: [aQuote()],
    status: 'live',
    probe: null,
    failures: 0,
    nextProbeAt: null,
    isHosted: false,
    ...over,
  }
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
