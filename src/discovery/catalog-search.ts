import type { CatalogView } from './catalog-view.js'
import { type CatalogFilter, conditionsOf } from './conditions.js'
import type { DocumentSet } from './document-set.js'
import { findDocuments, findOfMerchant, rankDocuments } from './find-documents.js'
import { wordsOf } from './fold.js'
import { createLru, type Lru } from './lru.js'
import type { Turns } from './turns.js'

export interface ListQuery {
  filter: CatalogFilter
  /** As typed; nothing or blanks ask for everything. */
  q: string
  offset: number
  limit: number
}

export interface RankedQuery {
  filter: CatalogFilter
  /** As typed, with at least one word. */
  query: string
  limit: number
  /** Where the page before ended. */
  after: RankedPlace | undefined
}

/** A place in a ranked answer that stays where it is when the catalog changes. */
export interface RankedPlace {
  /** Counted over tiers and, within them, live or not. */
  group: number
  endpointId: number
}

export interface CatalogSearch {
  /** Endpoint ids in order of creation and how many there are in all; without those that are not shown unasked, unless a merchant or payTo is asked for. */
  list(view: CatalogView, query: ListQuery): Promise<{ ids: number[]; total: number }>
  /** Endpoint ids, best first; `next` is where to go on if there are more. */
  rank(view: CatalogView, query: RankedQuery): Promise<{ ids: number[]; next: RankedPlace | null }>
}

/** Too many searches wait for their turns. */
export class SearchOverload extends Error {
  override readonly name = 'SearchOverload'
}

const MAX_RESULT_BYTES = 64 * 1024 * 1024
/** Searches at work at once; the longest take a tenth of a second each when nothing else is to be done. */
const MAX_SEARCHES = 100

export function createCatalogSearch(turns: Turns): CatalogSearch {
  const kept = createResultCache()
  let running = 0

  /** The same question asked twice at the same time is answered once. */
  async function answer(
    view: CatalogView,
    key: string,
    find: () => Promise<DocumentSet[]>,
  ): Promise<DocumentSet[]> {
    const { results, inFlight } = kept.of(view)
    const known = results.get(key) ?? inFlight.get(key)
    if (known !== undefined) return known
    if (running >= MAX_SEARCHES) throw new SearchOverload()
    running++
    const finding = find().finally(() => {
      running--
      inFlight.delete(key)
    })
    inFlight.set(key, finding)
    const sets = await finding
    results.set(key, sets)
    return sets
  }

  return {
    async list(view, { filter, q, offset, limit }) {
      const words = wordsOf(q)
      const conditions = conditionsOf(filter)
      const question = { words, conditions, withFailing: isAddressed(filter) }
      const { merchant } = filter
      const isWhole = merchant !== undefined && conditions.length === 1 && words.length === 0
      const [set] = await answer(view, JSON.stringify(['list', filter, words]), async () => [
        isWhole
          ? await findOfMerchant(view, merchant, conditions, turns)
          : await findDocuments(view, question, turns),
      ])
      const { count: total, page } = set as DocumentSet
      return { ids: page(offset, limit).map(view.idOf), total }
    },
    async rank(view, { filter, query, limit, after }) {
      const words = wordsOf(query)
      const question = { words, conditions: conditionsOf(filter), withFailing: isAddressed(filter) }
      const sets = await answer(view, JSON.stringify(['rank', filter, words]), () =>
        rankDocuments(view, question, turns),
      )
      return pageOfRanked(view, sets, limit, after)
    },
  }
}

/** Who names a merchant, or whom it pays, is shown all there is of it. */
function isAddressed({ merchant, payTo }: CatalogFilter): boolean {
  return merchant !== undefined || payTo !== undefined
}

function pageOfRanked(
  view: CatalogView,
  sets: readonly DocumentSet[],
  limit: number,
  after: RankedPlace | undefined,
): { ids: number[]; next: RankedPlace | null } {
  const places: RankedPlace[] = []
  for (let group = after?.group ?? 0; group < sets.length && places.length <= limit; group++) {
    const isGoneOn = after !== undefined && group === after.group
    const first = isGoneOn ? view.firstFrom(after.endpointId + 1) : 0
    const numbers = sets[group]?.pageFrom(first, limit + 1 - places.length) ?? []
    places.push(...numbers.map((number) => ({ group, endpointId: view.idOf(number) })))
  }
  const shown = places.slice(0, limit)
  return {
    ids: shown.map(({ endpointId }) => endpointId),
    next: places.length > limit ? (shown.at(-1) ?? null) : null,
  }
}

interface Results {
  results: Lru<DocumentSet[]>
  inFlight: Map<string, Promise<DocumentSet[]>>
}

/** Answers of the latest view; what older views still work on stays with them. */
function createResultCache(): { of(view: CatalogView): Results } {
  let latest: { view: CatalogView; results: Results } | undefined
  return {
    of(view) {
      if (latest?.view !== view) latest = { view, results: createResults() }
      return latest.results
    },
  }
}

function createResults(): Results {
  const bytesOf = (sets: DocumentSet[]) => sets.reduce((sum, { bytes }) => sum + bytes, 0)
  return { results: createLru(MAX_RESULT_BYTES, bytesOf), inFlight: new Map() }
}
