import type { Address } from 'viem'
import type { CatalogIndex } from '../../../src/discovery/catalog-index.js'
import { createCatalogIndex } from '../../../src/discovery/catalog-index.js'
import type { CatalogView } from '../../../src/discovery/catalog-view.js'
import { createTurns } from '../../../src/discovery/turns.js'
import type { ListingStore, Merchant } from '../../../src/store/listings.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import { createListingStore } from '../../../src/store/sqlite/listings.js'

type Draft = Parameters<ListingStore['saveByOperator']>[1][number]
export type MerchantDraft = Parameters<ListingStore['saveByOperator']>[0]

const asset: Address = '0x3600000000000000000000000000000000000000'
export const payTo: Address = '0x3333333333333333333333333333333333333333'
export const network = 'eip155:5042'

export interface CatalogChoices {
  maxChanged?: number
  /** What is searched of endpoints is read once this resolves; before, there is an outline of them. */
  textsWait?: Promise<void>
}

/** An empty catalog in memory and an index over it that follows. */
export async function aCatalog({ textsWait, ...limit }: CatalogChoices = {}) {
  const database = openDatabase(':memory:')
  const store = createListingStore(database, createGroupCommit(database))
  const turns = createTurns()
  const faults: unknown[] = []
  const onFault = (fault: unknown) => void faults.push(fault)
  const source: typeof store = {
    ...store,
    async scanForIndex(after, count) {
      await textsWait
      return store.scanForIndex(after, count)
    },
  }
  const index = createCatalogIndex({ source, turns, onFault, ...limit })
  return { database, store, turns, index, faults }
}

/** Waits until the index has read all of the catalog for the first time. */
export async function whenReady(index: CatalogIndex): Promise<CatalogView> {
  index.start()
  for (;;) {
    const view = index.isReady() ? await index.current() : undefined
    if (view !== undefined) return view
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
