import { LRUCache } from 'lru-cache'
import { TOP_LEVEL } from '../store/evidence.js'
import {
  type CatalogList,
  type ListedEndpoint,
  type ListedMerchant,
  lowerBound,
} from './catalog-list.js'
import {
  type CatalogFilter,
  type EndpointTest,
  isAddressed,
  isListedByDefault,
  passes,
  testOf,
} from './filters.js'
import { fold, tokensOf, urlPieces, wordsOf } from './fold.js'
import { type Sort, sortedIds } from './sorting.js'
import { findCorrections, rewrite } from './spelling.js'

export interface ListQuery {
  filter: CatalogFilter
  /** As typed; nothing or blanks ask for everything. */
  q: string
  /** Whether the words may also stand in tags and URLs, as in the ranked search. */
  isWide?: boolean
  /** Without it, the order is that of creation. */
  sort?: Sort | undefined
  offset: number
  limit: number
}

export interface RankedQuery {
  filter: CatalogFilter
  /** As typed, with at least one word. */
  query: string
  limit: number
  /** The end of the page before. */
  after: RankedPlace | undefined
}

/** A place in a ranked answer. It stays where it is when the catalog changes. */
export interface RankedPlace {
  /** Rises with the tier, then where the endpoint is not live, then where there is less evidence. */
  group: number
  endpointId: number
}

export interface RankedPage {
  /** Endpoint ids, best first. */
  ids: number[]
  /** The place to continue from if there are more. */
  next: RankedPlace | null
  /** The corrected query, if nothing has the words as typed. The same on every page while the catalog does not change. */
  correctedQuery?: string
}

/** Searches a list as it is at the moment of the call. */
export interface CatalogSearch {
  /** Returns the endpoint ids of a page, and how many all pages have together. */
  list(query: ListQuery): { ids: number[]; total: number }
  rank(query: RankedQuery): RankedPage
}

/** The longest text that is searched for. */
export const MAX_QUERY_CHARS = 200

/** Results of searches are kept up to this many bytes. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
const BYTES_AN_ID = 8
/** Bytes that a kept result takes besides its ids, for its key and its entry in the cache. */
const BYTES_AN_ENTRY = 1_024

/**
 * The fields of an endpoint, best first. Each word of a query is found in one of them; the worst of these is the tier
 * of the endpoint.
 */
const TIERS = { title: 0, tags: 1, provider: 2, description: 3, url: 4, nowhere: 5 } as const
const LEVELS = TOP_LEVEL + 1
const GROUPS = TIERS.nowhere * 2 * LEVELS

export function createCatalogSearch(list: CatalogList): CatalogSearch {
  const kept = new LRUCache<string, number[][]>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: (groups) =>
      groups.reduce((sum, ids) => sum + ids.length * BYTES_AN_ID, BYTES_AN_ENTRY),
  })
  let keptAt = ''

  /** Returns the endpoint ids of each group, from the searches since the last change or from a scan. */
  function keep(key: string, scan: () => number[][]): number[][] {
    const at = `${list.sequence} ${list.usageVersion}`
    if (keptAt !== at) {
      keptAt = at
      kept.clear()
    }
    const known = kept.get(key)
    if (known !== undefined) return known
    const found = scan()
    kept.set(key, found)
    return found
  }

  function candidates({ merchant }: CatalogFilter): readonly ListedEndpoint[] {
    return merchant === undefined ? list.endpoints : (list.findMerchant(merchant)?.endpoints ?? [])
  }

  function ranked(filter: CatalogFilter, query: string): number[][] {
    const words = wordsOf(query)
    return keep(rankKey(filter, words), () => {
      const groups: number[][] = Array.from({ length: GROUPS }, () => [])
      const isMet = testOf(filter)
      const finders = words.map(createTierFinder)
      for (const endpoint of candidates(filter)) {
        if (!isMet(endpoint)) continue
        let worst: number = TIERS.title
        for (const tierOf of finders) {
          worst = Math.max(worst, tierOf(endpoint))
          if (worst === TIERS.nowhere) break
        }
        if (worst === TIERS.nowhere) continue
        const row = worst * 2 + (endpoint.status === 'live' ? 0 : 1)
        groups[row * LEVELS + TOP_LEVEL - endpoint.evidence.level]?.push(endpoint.id)
      }
      return groups
    })
  }

  /** Tells whether any public endpoint has the word, whatever the rest of the filter is. */
  function occurs(word: string, filter: CatalogFilter): boolean {
    const isShown = isAddressed(filter) ? () => true : isListedByDefault
    // The result of a query for this word alone may be known already.
    const known = isAddressed(filter) ? undefined : kept.get(rankKey({}, [word]))
    if (known !== undefined) return isAnything(known)
    const tierOf = createTierFinder(word)
    return list.endpoints.some((it) => isShown(it) && tierOf(it) !== TIERS.nowhere)
  }

  /** Returns the correction of a query that finds nothing, unless the correction finds nothing either. */
  function correct(filter: CatalogFilter, query: string): string | undefined {
    const words = [...new Set(tokensOf(fold(query)))].sort()
    const corrections = findCorrections(words, {
      occurs: (word) => occurs(word, filter),
      isFound: (words) => isAnything(ranked(filter, words.join(' '))),
      words: list.words,
    })
    if (corrections.size === 0) return undefined
    const corrected = rewrite(query, corrections, fold)
    // A correction is there to be asked for.
    return corrected.length > MAX_QUERY_CHARS ? undefined : corrected
  }

  return {
    list({ filter, q, isWide = false, sort, offset, limit }) {
      const words = wordsOf(q)
      const [ids = []] = keep(JSON.stringify(['list', filter, words, isWide, sort]), () => {
        const found: ListedEndpoint[] = []
        const isMet = testOf(filter)
        const matchers = words.map(isWide ? createWideMatcher : createListMatcher)
        for (const endpoint of candidates(filter)) {
          if (isMet(endpoint) && passes(matchers, endpoint)) found.push(endpoint)
        }
        return [sort === undefined ? found.map(({ id }) => id) : sortedIds(found, sort)]
      })
      return { ids: ids.slice(offset, offset + limit), total: ids.length }
    },
    rank({ filter, query, limit, after }) {
      const asTyped = ranked(filter, query)
      if (isAnything(asTyped)) return pageOf(asTyped, limit, after)
      const correctedQuery = correct(filter, query)
      if (correctedQuery === undefined) return { ids: [], next: null }
      return { ...pageOf(ranked(filter, correctedQuery), limit, after), correctedQuery }
    },
  }
}

function rankKey(filter: CatalogFilter, words: readonly string[]): string {
  return JSON.stringify(['rank', filter, words])
}

/** Creates a test for names and descriptions of merchants and endpoints, which is what `q` searches. */
function createListMatcher(word: string): EndpointTest {
  const isInMerchant = ofMerchant(({ text }) => text.includes(word))
  return ({ text, tagsStart, merchant }) => {
    // The merchant comes first, because its result is mostly known from the endpoint before.
    if (isInMerchant(merchant)) return true
    const at = text.indexOf(word)
    return at !== -1 && at < tagsStart
  }
}

function createWideMatcher(word: string): EndpointTest {
  const tierOf = createTierFinder(word)
  return (endpoint) => tierOf(endpoint) !== TIERS.nowhere
}

/** Creates a function that returns the best tier in which an endpoint has a word. */
function createTierFinder(word: string): (endpoint: ListedEndpoint) => number {
  const pieces = urlPieces(word)
  // A word that is a single piece of a URL is found in the endpoint's text as it stands.
  const isOnePiece = pieces.length === 1 && pieces[0] === word
  const tierOfMerchant = ofMerchant(({ text, aboutStart }) => {
    const at = text.indexOf(word)
    if (at === -1) return TIERS.nowhere
    return at < aboutStart ? TIERS.provider : TIERS.description
  })
  return ({ text, merchant, descriptionStart, tagsStart, urlStart }) => {
    const at = text.indexOf(word)
    if (at !== -1 && at < descriptionStart) return TIERS.title
    const isDescribed = at !== -1 && at < tagsStart
    const afterwards = isDescribed ? text.indexOf(word, tagsStart) : at
    if (afterwards !== -1 && afterwards < urlStart) return TIERS.tags
    const tier = Math.min(isDescribed ? TIERS.description : TIERS.nowhere, tierOfMerchant(merchant))
    if (tier !== TIERS.nowhere) return tier
    const isInUrl = isOnePiece ? at !== -1 : pieces.every((piece) => text.includes(piece, urlStart))
    return isInUrl ? TIERS.url : TIERS.nowhere
  }
}

/** Keeps the result for the last merchant: endpoints of one merchant stand beside each other in most catalogs. */
function ofMerchant<Found>(
  find: (merchant: ListedMerchant) => Found,
): (merchant: ListedMerchant) => Found {
  let last: ListedMerchant | undefined
  let found: Found
  return (merchant) => {
    if (merchant !== last) {
      found = find(merchant)
      last = merchant
    }
    return found
  }
}

function pageOf(
  groups: readonly number[][],
  limit: number,
  after: RankedPlace | undefined,
): RankedPage {
  const places: RankedPlace[] = []
  for (let group = after?.group ?? 0; group < groups.length && places.length <= limit; group++) {
    const ids = groups[group] ?? []
    const first = group === after?.group ? lowerBound(ids, after.endpointId + 1, (id) => id) : 0
    const found = ids.slice(first, first + limit + 1 - places.length)
    places.push(...found.map((endpointId) => ({ group, endpointId })))
  }
  const shown = places.slice(0, limit)
  return {
    ids: shown.map(({ endpointId }) => endpointId),
    next: places.length > limit ? (shown.at(-1) ?? null) : null,
  }
}

function isAnything(groups: readonly number[][]): boolean {
  return groups.some((ids) => ids.length > 0)
}
