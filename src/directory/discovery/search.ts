import type { CardSort, Sort } from '@arcus/protocol/answers/fields'
import { MAX_FIRST } from '@arcus/protocol/answers/merchants'
import { LRUCache } from 'lru-cache'
import { byPrice, inOrderOf, type Priced, TOP_LEVEL, usageRankKeys } from '../store/usage-rank.js'
import {
  type EndpointList,
  lowerBound,
  type SearchableEndpoint,
  type SearchableMerchant,
  titleOf,
} from './endpoint-list.js'
import { type EndpointFilter, type EndpointTest, testOf } from './filters.js'
import { createFinder, TIERS } from './finders.js'
import { createRelevance, proseOf } from './relevance.js'
import { contentWords, wantedWords, wordsOf } from './words.js'

export interface ListQuery {
  filter: EndpointFilter
  /** As typed; nothing or blanks ask for everything. */
  q: string
  /** Whether the words may also stand in tags and URLs, as in the ranked search. */
  isWide?: boolean
  /** Without it, the order is that of creation. Listings of strangers to the payee come last in any order. */
  sort?: CardSort | undefined
  offset: number
  limit: number
}

export interface RankedQuery {
  filter: EndpointFilter
  /** As typed, with at least one word. */
  query: string
  limit: number
  /** The end of the page before. */
  after: RankedPlace | undefined
}

export interface MerchantsQuery {
  sort?: Sort | undefined
  limit: number
}

/** A position in a ranked answer. It stays where it is when the catalog changes. */
export interface RankedPlace {
  /**
   * Rises for listings of strangers to the payee, then with what is missing of the words, then with the tier, then where the
   * endpoint is not live, then where fewer payers paid, then where no paid check delivered.
   */
  group: number
  endpointId: number
}

/** Writes a position in a ranked answer as a `cursor`. */
export function formatCursor({ group, endpointId }: RankedPlace): string {
  return `${group}-${endpointId}`
}

export function readCursor(cursor: string): RankedPlace {
  const [group, endpointId] = cursor.split('-')
  return { group: Number(group), endpointId: Number(endpointId) }
}

interface RankedPage {
  /** Endpoint ids, best first. */
  ids: number[]
  /** Whether endpoints of the page lack words of the query. */
  isLoose: boolean
  /** The position to continue from if there are more. */
  next: RankedPlace | null
}

/** Results of searches are kept up to this many bytes. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
const BYTES_AN_ID = 8
/** Bytes that a kept result takes in addition to its ids, for its key and its entry in the cache. */
const BYTES_AN_ENTRY = 1_024

const LEVELS = TOP_LEVEL + 1
/** Groups of endpoints that have the same words. */
const GROUPS = TIERS.nowhere * 2 * LEVELS * 2
/** The number of steps between the best words of a sentence and none. */
const STEPS = 64
/** Groups of sellers with a proven address: those that have every word, and then each step. All others come after them. */
const PROVEN_GROUPS = GROUPS * (STEPS + 2)
/** A word that stands only in longer prose than this is in no text about it, so that the endpoint counts among those that lack words. */
const MAX_PROSE = 500
/** Among the first results, no seller has more than two of each twenty, the length of a page, while others have some. */
const WINDOW = 20
const MOST_OF_A_SELLER = 2
const MIXED = 200

/** Endpoints that stand alike, in order of id. */
interface RankedGroup {
  group: number
  ids: number[]
}

/** Searches a list of endpoints as it is at the moment of the call. */
export class EndpointSearch {
  readonly #list: EndpointList
  readonly #kept = new LRUCache<string, RankedGroup[]>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: (groups) =>
      groups.reduce((sum, { ids }) => sum + (ids.length + 1) * BYTES_AN_ID, BYTES_AN_ENTRY),
  })
  readonly #firstMerchants = new Map<Sort | undefined, string[]>()
  readonly #findRelevant: ReturnType<typeof createRelevance>
  /** The state of the list in which the results were found. */
  #keptAt = ''

  constructor(list: EndpointList) {
    this.#list = list
    this.#findRelevant = createRelevance(list)
  }

  /** Returns the endpoint ids of a page, and how many all pages have together. */
  list({ filter, q, isWide = false, sort, offset, limit }: ListQuery): {
    ids: number[]
    total: number
  } {
    const words = wordsOf(q)
    const [found] = this.#keep(JSON.stringify(['list', filter, words, isWide, sort]), () => {
      const options = { filter, isMet: testOf(filter), isWide }
      if (sort === undefined) return [{ group: 0, ids: this.#byAge(words, options) }]
      return [{ group: 0, ids: this.#inOrderOf(sort, words, options) }]
    })
    const ids = found?.ids ?? []
    return { ids: ids.slice(offset, offset + limit), total: ids.length }
  }

  /** Returns a page of the endpoints that have words of the query, best first. */
  rank({ filter, query, limit, after }: RankedQuery): RankedPage {
    const sellerOf = (id: number) => this.#sellerOf(id)
    const whole = this.#strict(filter, query)
    // Where these fill the first pages alone, the others are looked for when somebody has read so far.
    const proven = whole.filter(({ group }) => group < PROVEN_GROUPS)
    const isMany = proven.reduce((sum, { ids }) => sum + ids.length, 0) >= MIXED
    const page = isMany ? pageOf(mixed(proven, sellerOf), limit, after) : undefined
    if (page?.next != null) return { ...page, isLoose: false }
    const all = [...whole, ...this.#loose(filter, query)].sort((a, b) => a.group - b.group)
    const found = pageOf(mixed(all, sellerOf), limit, after)
    const known = new Set(whole.flatMap(({ ids }) => ids))
    return { ...found, isLoose: found.ids.some((id) => !known.has(id)) }
  }

  /** Returns the ids of the first merchants in the order of `sort`, or else of their ids. */
  merchants({ sort, limit }: MerchantsQuery): string[] {
    this.#forgetChanged()
    const known =
      this.#firstMerchants.get(sort) ?? merchantsIn(this.#list, sort).slice(0, MAX_FIRST)
    this.#firstMerchants.set(sort, known)
    return known.slice(0, limit)
  }

  /** Returns the groups in order, from the searches since the last change or from a scan. */
  #keep(key: string, scan: () => RankedGroup[]): RankedGroup[] {
    this.#forgetChanged()
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const found = scan()
    this.#kept.set(key, found)
    return found
  }

  #forgetChanged(): void {
    const at = `${this.#list.sequence} ${this.#list.usageVersion}`
    if (this.#keptAt === at) return
    this.#keptAt = at
    this.#kept.clear()
    this.#firstMerchants.clear()
  }

  /** Returns matches in the order of creation, listings of strangers to the payee last. */
  #byAge(words: readonly string[], options: MatchOptions): number[] {
    const [ids, last]: [number[], number[]] = [[], []]
    this.#eachMatch(words, options, ({ id, merchant }) =>
      (merchant.isCounted ? ids : last).push(id),
    )
    return inOrder(ids).concat(inOrder(last))
  }

  /** Returns matches in an order, listings of strangers to the payee last. */
  #inOrderOf(sort: CardSort, words: readonly string[], options: MatchOptions): number[] {
    const [found, last]: [SearchableEndpoint[], SearchableEndpoint[]] = [[], []]
    this.#eachMatch(words, options, (endpoint) =>
      (endpoint.merchant.isCounted ? found : last).push(endpoint),
    )
    return sortedIds(found, sort).concat(sortedIds(last, sort))
  }

  /** Returns the endpoints that have every word in a title, a name, a URL or a text of ordinary length. */
  #strict(filter: EndpointFilter, query: string): RankedGroup[] {
    const words = wantedWords(query)
    return this.#keep(JSON.stringify(['strict', filter, words]), () => {
      const groups = new Map<number, number[]>()
      const options = { filter, isMet: testOf(filter), isWide: true }
      this.#eachMatch(words, options, (endpoint, tier) => {
        if (tier === TIERS.description && proseOf(endpoint) > MAX_PROSE) return
        put(groups, groupOf(endpoint, tier), endpoint.id)
      })
      return sorted(groups)
    })
  }

  /** Returns the other endpoints that have some words of a sentence: those with the rarest ones in the shortest texts first. */
  #loose(filter: EndpointFilter, query: string): RankedGroup[] {
    const words = contentWords(query)
    return this.#keep(JSON.stringify(['loose', filter, words, wantedWords(query)]), () => {
      const groups = new Map<number, number[]>()
      const isMet = testOf(filter)
      const named = filter.merchant
      const isWanted: EndpointTest = (endpoint) =>
        (named === undefined || endpoint.merchant.id === named) && isMet(endpoint)
      const known = new Set(this.#strict(filter, query).flatMap(({ ids }) => ids))
      for (const { endpoint, relevance } of this.#findRelevant(words, isWanted)) {
        if (known.has(endpoint.id)) continue
        const step = 1 + Math.round((1 - relevance) * STEPS)
        put(groups, step * GROUPS + groupOf(endpoint, TIERS.title), endpoint.id)
      }
      return sorted(groups)
    })
  }

  /** Visits the endpoints that have every word, merchant by merchant. */
  #eachMatch(
    words: readonly string[],
    { filter, isMet, isWide }: MatchOptions,
    visit: (endpoint: SearchableEndpoint, tier: number) => void,
  ): void {
    const finders = words.map((word) => createFinder(word, isWide))
    for (const merchant of this.#merchantsOf(filter)) {
      if (!finders.every(({ begin }) => begin(merchant))) continue
      for (const endpoint of merchant.endpoints) {
        let tier: number = TIERS.title
        for (const { tierOf } of finders) {
          tier = Math.max(tier, tierOf(endpoint))
          if (tier === TIERS.nowhere) break
        }
        if (tier !== TIERS.nowhere && isMet(endpoint)) visit(endpoint, tier)
      }
    }
  }

  #merchantsOf({ merchant }: EndpointFilter): Iterable<SearchableMerchant> {
    if (merchant === undefined) return this.#list.merchants()
    const named = this.#list.findMerchant(merchant)
    return named === undefined ? [] : [named]
  }

  #sellerOf(id: number): string {
    const { endpoints } = this.#list
    return endpoints[lowerBound(endpoints, id, (it) => it.id)]?.merchant.seller ?? ''
  }
}

/** Which endpoints match, apart from their words, and whether the words may stand in tags and URLs. */
interface MatchOptions {
  filter: EndpointFilter
  isMet: EndpointTest
  isWide: boolean
}

/** Returns the rank of an endpoint among those that have the same words. */
function groupOf(
  { isLive, isDelivered, usageRank, merchant }: SearchableEndpoint,
  tier: number,
): number {
  const level = (tier * 2 + (isLive ? 0 : 1)) * LEVELS + TOP_LEVEL - usageRank.level
  const group = level * 2 + (isDelivered ? 0 : 1)
  return merchant.isCounted ? group : PROVEN_GROUPS + group
}

function put(groups: Map<number, number[]>, group: number, id: number): void {
  const known = groups.get(group)
  if (known === undefined) groups.set(group, [id])
  else known.push(id)
}

function sorted(groups: ReadonlyMap<number, number[]>): RankedGroup[] {
  return [...groups]
    .map(([group, ids]) => ({ group, ids: inOrder(ids) }))
    .sort((a, b) => a.group - b.group)
}

/** Returns the ids of all merchants that have an endpoint to show, in order. */
function merchantsIn(list: EndpointList, sort: Sort | undefined): string[] {
  const [counted, last]: [WeighedMerchant[], WeighedMerchant[]] = [[], []]
  for (const merchant of list.merchants()) {
    const { isUnclaimed, endpoints } = merchant
    const shown = isUnclaimed ? endpoints.filter(({ isLive }) => isLive) : endpoints
    const [cheapest] = byPrice(shown)
    if (cheapest === undefined) continue
    const { price, asset, currency } = cheapest
    const weighed = { ...merchant, price, asset, currency }
    if (merchant.isCounted) counted.push(weighed)
    else last.push(weighed)
  }
  return [counted, last].flatMap((part) => {
    const byId = part.sort((a, b) => (a.id < b.id ? -1 : 1))
    if (sort === undefined) return byId.map(({ id }) => id)
    const sorted = sort === 'price' ? byPrice(byId) : inOrderOf(byId, usageRankKeys[sort])
    return sorted.map(({ id }) => id)
  })
}

type WeighedMerchant = SearchableMerchant & Priced

/** Returns the ids in order; endpoints that are equal in it stay in order of creation. */
function sortedIds(endpoints: SearchableEndpoint[], sort: CardSort): number[] {
  const byAge = endpoints.sort((a, b) => a.id - b.id)
  return inCardOrder(byAge, sort).map(({ id }) => id)
}

function inCardOrder(byAge: SearchableEndpoint[], sort: CardSort): SearchableEndpoint[] {
  switch (sort) {
    case 'price':
      return byPrice(byAge)
    case 'title':
      return byTitle(byAge)
    case 'payments':
      return inOrderOf(byAge, ({ usageRank }) => MAX_CALLS - usageRank.allCalls)
    case 'delivered':
      return inOrderOf(byAge, ({ deliveredShare }) => shareKey(deliveredShare))
    case 'success':
      return inOrderOf(byAge, ({ usageRank }) => shareKey(usageRank.success))
    default:
      return inOrderOf(byAge, ({ id, usageRank }) => usageRankKeys[sort]({ usageRank, since: id }))
  }
}

/** More calls than these count as these. */
const MAX_CALLS = 2 ** 31
/** Shares that differ by less than a ten-thousandth count as equal. */
const SHARE_STEPS = 10_000

/** Returns a number that rises as a share falls. */
function shareKey(share: number): number {
  return Math.round((1 - share) * SHARE_STEPS)
}

function byTitle(endpoints: readonly SearchableEndpoint[]): SearchableEndpoint[] {
  return endpoints
    .map((endpoint) => ({ endpoint, title: titleOf(endpoint) }))
    .sort((a, b) => (a.title < b.title ? -1 : a.title > b.title ? 1 : 0))
    .map(({ endpoint }) => endpoint)
}

/** Puts ids in order, which they mostly are already. */
function inOrder(ids: number[]): number[] {
  const isSorted = ids.every((id, i) => i === 0 || id > (ids[i - 1] as number))
  return isSorted ? ids : Array.from(Float64Array.from(ids).sort())
}

/** A ranked answer: its first results with the sellers mixed, the last of them by rank, and all groups. */
interface Mixed {
  first: RankedPlace[]
  end: RankedPlace | undefined
  groups: readonly RankedGroup[]
}

/**
 * Mixes the sellers of the first results: in each window, no seller has more than two while others have some. A third result
 * of a seller waits for the next window, so that every result stays and appears once.
 */
function mixed(groups: readonly RankedGroup[], sellerOf: (id: number) => string): Mixed {
  const byRank = placesFrom(groups, undefined, MIXED)
  let waiting = byRank.map((place) => ({ place, seller: sellerOf(place.endpointId) }))
  const first: RankedPlace[] = []
  while (waiting.length > 0) {
    const counts = new Map<string, number>()
    const later: typeof waiting = []
    let taken = 0
    for (const it of waiting) {
      const count = counts.get(it.seller) ?? 0
      if (taken === WINDOW || count === MOST_OF_A_SELLER) {
        later.push(it)
        continue
      }
      counts.set(it.seller, count + 1)
      first.push(it.place)
      taken++
    }
    // Nobody else is left.
    if (taken < WINDOW) {
      first.push(...later.map(({ place }) => place))
      break
    }
    waiting = later
  }
  return { first, end: byRank.at(-1), groups }
}

function pageOf(
  { first, end, groups }: Mixed,
  limit: number,
  after: RankedPlace | undefined,
): Omit<RankedPage, 'isLoose'> {
  const start = after === undefined ? 0 : startAfter(first, after)
  const places = start === undefined ? [] : first.slice(start, start + limit + 1)
  const isFirst = start !== undefined
  const rest = placesFrom(groups, isFirst ? end : after, limit + 1 - places.length)
  // Without a cursor there is nothing behind the first results.
  if (!isFirst || end !== undefined) places.push(...rest)
  const shown = places.slice(0, limit)
  return {
    ids: shown.map(({ endpointId }) => endpointId),
    next: places.length > limit ? (shown.at(-1) ?? null) : null,
  }
}

/** Returns where the first results continue; `undefined` where the cursor lies behind all of them. */
function startAfter(first: readonly RankedPlace[], after: RankedPlace): number | undefined {
  const at = first.findIndex(({ endpointId }) => endpointId === after.endpointId)
  if (at !== -1) return at + 1
  // The last result of the page before is gone, or has another rank: the page goes on with the next by rank.
  const next = first.findIndex((place) => isBehind(place, after))
  return next === -1 ? undefined : next
}

function isBehind(place: RankedPlace, after: RankedPlace): boolean {
  return place.group === after.group
    ? place.endpointId > after.endpointId
    : place.group > after.group
}

/** Returns up to a number of results by rank, after one of them or from the first on. */
function placesFrom(
  groups: readonly RankedGroup[],
  after: RankedPlace | undefined,
  limit: number,
): RankedPlace[] {
  const places: RankedPlace[] = []
  const start = after === undefined ? 0 : lowerBound(groups, after.group, ({ group }) => group)
  for (let i = start; i < groups.length && places.length < limit; i++) {
    const { group, ids } = groups[i] as RankedGroup
    const from = group === after?.group ? lowerBound(ids, after.endpointId + 1, (id) => id) : 0
    for (const endpointId of ids.slice(from, from + limit - places.length)) {
      places.push({ group, endpointId })
    }
  }
  return places
}
