import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { EndpointFilter } from '../../src/directory/discovery/filters.js'
import { EndpointSearch, type RankedPlace } from '../../src/directory/discovery/search.js'
import { fold, wantedWords } from '../../src/directory/discovery/words.js'
import type { CatalogEntry, ListingStore } from '../../src/directory/store/listings.js'
import { speaksForPayTo } from '../../src/directory/store/ownership.js'
import {
  aCatalog,
  anEndpoint,
  aQuote,
  inEuros,
  save,
  whenReady,
} from '../support/directory/a-catalog.js'

const letters = fc.constantFrom(...'aAbß%_ \n', 'é', 'e\u0301', 'Σ', 'ς', '天', '\u{1f327}', ' ')
const text = fc.string({ unit: letters, maxLength: 12 })
const anyWords = fc.string({ unit: letters, maxLength: 3 })
const anyPayTo = fc.constantFrom('0xAa', '0xbB')
const anyScheme = fc.constantFrom('exact', 'batch-settlement')
const anyNetwork = fc.constantFrom('eip155:5042', 'eip155:5042002')
const dollars = '0x3600000000000000000000000000000000000000'
const anyAsset = fc.constantFrom(dollars, inEuros.asset)
const anyToken = fc.constantFrom({}, inEuros)
const anyStatus = fc.constantFrom('live' as const, 'unverified' as const, 'failing' as const)

const anyDraft = fc
  .record({
    token: anyToken,
    url: fc.constantFrom('a', 'b', 'c', 'd').map((path) => `https://api.example.com/${path}`),
    title: text,
    description: text,
    tags: fc.array(text, { maxLength: 2 }),
    method: fc.constantFrom('GET' as const, 'POST' as const),
    status: anyStatus,
    extras: fc.constantFrom({}, { extensions: { bazaar: {} } }),
    accepts: fc.array(
      fc
        .record({
          payTo: anyPayTo,
          scheme: anyScheme,
          network: anyNetwork,
          amount: fc.constantFrom('5', '50'),
          asset: anyAsset,
        })
        .map(aQuote),
      { maxLength: 2 },
    ),
  })
  .map(({ token, ...draft }) => ({ ...draft, ...token }))

/** The last one was found in payments. */
const foundId = `payto-0x${'3'.repeat(40)}`
const anyId = fc.constantFrom('one', 'two', foundId)
const anyChange = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('save' as const),
      merchant: fc.record({ id: anyId, name: text, description: text, isOfficial: fc.boolean() }),
      endpoints: fc.uniqueArray(anyDraft, {
        minLength: 1,
        maxLength: 4,
        selector: ({ url }) => url,
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('hide' as const),
      id: anyId,
      hiddenReason: fc.constantFrom(null, 'spam'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('probe' as const),
      id: anyId,
      status: anyStatus,
    }),
  },
)
type Change = typeof anyChange extends fc.Arbitrary<infer T> ? T : never

/** None, one or two at a time: more leave next to nothing to be found. */
const anyFilter: fc.Arbitrary<EndpointFilter> = fc
  .array(
    fc.oneof(
      fc.record({ merchant: anyId }),
      fc.record({ payTo: fc.constantFrom('0xaa', '0xBB') }),
      fc.record({ payTo: fc.constantFrom('0xaa', '0xBB'), network: anyNetwork }),
      fc.record({ scheme: anyScheme, network: anyNetwork }),
      fc.record({ extensions: fc.constantFrom('bazaar', 'toString') }),
      fc.record({ method: fc.constantFrom('GET', 'POST') }),
      fc.record({ maxPrice: fc.constantFrom(4, 5, 50) }),
      fc.record({ currency: fc.constantFrom('USD', 'EUR') }),
      fc.record({ asset: anyAsset }),
      fc.record({ verified: fc.boolean() }),
      fc.record({ official: fc.boolean() }),
    ),
    { maxLength: 2 },
  )
  .map((filters) => Object.assign({}, ...filters))

/** What the issue says, word by word, about a single entry. */
function isFound({ endpoint, merchant }: CatalogEntry, q: string, filter: EndpointFilter): boolean {
  const texts = [endpoint.title, endpoint.description, merchant.name, merchant.description]
  const words = fold(q).split(/\s+/).filter(Boolean)
  const { payTo, scheme, network, extensions: extension, maxPrice, asset, currency } = filter
  const isQuoted = (quote: Record<string, unknown>) =>
    (payTo === undefined || String(quote.payTo).toLowerCase() === payTo.toLowerCase()) &&
    (scheme === undefined || quote.scheme === scheme) &&
    (network === undefined || quote.network === network) &&
    (asset === undefined || quote.asset === asset)
  const isShown =
    endpoint.status === 'live' || (endpoint.status === 'unverified' && merchant.owner !== null)
  const hasQuoteFilter = [payTo, scheme, network, asset].some((it) => it !== undefined)
  const listed = endpoint.accepts.filter(
    (quote) => quote.network === merchant.network && quote.asset === endpoint.asset,
  )
  const own = endpoint.asset === inEuros.asset ? 'EUR' : 'USD'
  const isComparable =
    currency !== undefined ? true : asset === undefined ? own === 'USD' : asset === endpoint.asset
  const amounts = listed.map(({ amount }) => Number(amount))
  const price = amounts.length === 0 ? Number(endpoint.price) : Math.max(...amounts)
  return (
    words.every((word) => texts.some((it) => fold(it).includes(word))) &&
    (filter.merchant === undefined || merchant.id === filter.merchant) &&
    (isShown || filter.merchant !== undefined || payTo !== undefined) &&
    (!hasQuoteFilter || endpoint.accepts.some(isQuoted)) &&
    (extension === undefined || Object.hasOwn(Object(endpoint.extras.extensions), extension)) &&
    (filter.method === undefined || endpoint.method === filter.method) &&
    (currency === undefined || own === currency) &&
    (maxPrice === undefined || (isComparable && price <= maxPrice)) &&
    (filter.verified === undefined || (endpoint.status === 'live') === filter.verified) &&
    (filter.official === undefined || merchant.isOfficial === filter.official)
  )
}

async function make(store: ListingStore, change: Change, now: number): Promise<void> {
  if (change.kind === 'save') {
    const { merchant, endpoints } = change
    const isFoundOne = merchant.id === foundId
    await save(store, { ...merchant, ...(isFoundOne ? { owner: null } : {}) }, endpoints, now)
  } else if (change.kind === 'hide') await store.setFlags(change.id, change, now)
  else {
    const [endpoint] = await store.endpointsOf(change.id)
    if (endpoint === undefined) return
    await store.saveProbe(endpoint.id, { ...anEndpoint(endpoint), status: change.status }, now)
  }
}

function pages(
  search: EndpointSearch,
  query: { q: string; filter: EndpointFilter },
  limit: number,
) {
  const ids: number[] = []
  for (let offset = 0; ; offset += limit) {
    const page = search.list({ ...query, offset, limit })
    ids.push(...page.ids)
    if (page.ids.length < limit) return { ids, total: page.total }
  }
}

/** Listings whose address is not proven come after the others. */
function partOf({ merchant }: CatalogEntry): number {
  return speaksForPayTo(merchant) ? 0 : 1
}

/** Tier of the best fields in which each word is, live before others; nothing when a word is nowhere. */
function rankOf({ endpoint, merchant }: CatalogEntry, q: string): number | undefined {
  const words = wantedWords(q)
  const tiers = [
    [endpoint.title],
    endpoint.tags,
    [merchant.name],
    [endpoint.description, merchant.description],
    [new URL(endpoint.url).host, ...new URL(endpoint.url).pathname.split('/')],
  ]
  const tierOf = (word: string) =>
    tiers.findIndex((texts) => texts.some((text) => fold(text).includes(word)))
  const found = words.map(tierOf)
  if (words.length === 0 || found.includes(-1)) return undefined
  return Math.max(...found) * 2 + (endpoint.status === 'live' ? 0 : 1)
}

function rankedPages(search: EndpointSearch, query: { query: string; filter: EndpointFilter }) {
  const ids: number[] = []
  let after: RankedPlace | undefined
  do {
    const page = search.rank({ ...query, limit: 2, after })
    ids.push(...page.ids)
    after = page.next ?? undefined
  } while (after !== undefined)
  return ids
}

const sellerOf = ({ merchant }: CatalogEntry) => merchant.owner ?? merchant.payTo

/** Returns the first two ids of each seller. */
function firstTwo(ids: readonly number[], sellers: ReadonlyMap<number, string>): Set<number> {
  const taken = new Map<string | undefined, number>()
  return new Set(
    ids.filter((id) => {
      const count = (taken.get(sellers.get(id)) ?? 0) + 1
      taken.set(sellers.get(id), count)
      return count <= 2
    }),
  )
}

it('finds exactly what a look at every entry finds, after any changes, page by page', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyChange, { minLength: 1, maxLength: 4 }),
      fc.array(anyChange, { minLength: 1, maxLength: 6 }),
      fc.array(fc.record({ q: anyWords, filter: anyFilter }), { minLength: 1, maxLength: 4 }),
      async (before, after, queries) => {
        const { store, catalog, faults, database } = await aCatalog()
        for (const [i, change] of before.entries()) await make(store, change, i + 1)
        const list = await whenReady(catalog)
        const search = new EndpointSearch(list)
        for (const [i, change] of after.entries()) {
          await make(store, change, 100 + i)
          expect(await catalog.current()).toBe(list)
          const entries = await store.scanEntries(0, 1_000)
          for (const { q, filter } of queries) {
            const expected = entries
              .filter((entry) => isFound(entry, q, filter))
              .sort((a, b) => partOf(a) - partOf(b))
            const found = pages(search, { q, filter }, 2)
            expect(found.ids).toEqual(expected.map(({ endpoint }) => endpoint.id))
            expect(found.total).toBe(expected.length)
            const { merchant: _, ...rankFilter } = filter
            if (q.trim() === '') continue
            const ranked = entries
              .filter((entry) => isFound(entry, '', rankFilter))
              .map((entry) => ({
                id: entry.endpoint.id,
                part: partOf(entry),
                rank: rankOf(entry, q),
              }))
              .filter(({ rank }) => rank !== undefined)
              .sort((a, b) => a.part - b.part || Number(a.rank) - Number(b.rank) || a.id - b.id)
              .map(({ id }) => id)
            const ids = rankedPages(search, { query: q, filter: rankFilter })
            expect(new Set(ids).size).toBe(ids.length)
            const sellers = new Map(entries.map((it) => [it.endpoint.id, sellerOf(it)]))
            const isWhole = (id: number) => ranked.includes(id)
            // Sellers are mixed: the order is kept within each, and among the first two of all.
            for (const seller of new Set(sellers.values())) {
              const isTheirs = (id: number) => sellers.get(id) === seller
              expect(ids.filter((id) => isTheirs(id) && isWhole(id))).toEqual(
                ranked.filter(isTheirs),
              )
            }
            const firsts = firstTwo(ids, sellers)
            const early = ids.filter((id) => firsts.has(id) && isWhole(id))
            expect(early).toEqual(ranked.filter((id) => firsts.has(id)))
          }
        }
        await catalog.stop()
        database.close()
        expect(faults).toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})
