import type { CatalogView } from './catalog-view.js'
import { type CatalogFilter, conditionsOf } from './conditions.js'
import { findCorrections, rewrite, spellChanged } from './corrections.js'
import type { DocumentSet } from './document-set.js'
import { findDocuments, findOfMerchant, occurs, rankDocuments } from './find-documents.js'
import { fold, tokensOf, wordsOf } from './fold.js'
import { createResultCache, once } from './search-results.js'
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
  rank(view: CatalogView, query: RankedQuery): Promise<RankedPage>
}

export interface RankedPage {
  /** Endpoint ids, best first. */
  ids: number[]
  /** Where to go on if there are more. */
  next: RankedPlace | null
  /** What was looked for instead, where nothing has the words as typed. The same on every page while the catalog stands. */
  correctedQuery?: string
}

/** Longest text that is searched for. */
export const MAX_QUERY_CHARS = 200

/** Too many searches wait for their turns. */
export class SearchOverload extends Error {
  override readonly name = 'SearchOverload'
}

/** Searches at work at once; the longest take a tenth of a second each when nothing else is to be done. */
const MAX_SEARCHES = 100

export function createCatalogSearch(turns: Turns): CatalogSearch {
  const kept = createResultCache()
  let running = 0

  function answer(
    view: CatalogView,
    key: string,
    find: () => Promise<DocumentSet[]>,
  ): Promise<DocumentSet[]> {
    return once(kept.of(view).sets, key, async () => {
      if (running >= MAX_SEARCHES) throw new SearchOverload()
      running++
      try {
        return await find()
      } finally {
        running--
      }
    })
  }

  function ranked(view: CatalogView, filter: CatalogFilter, query: string): Promise<DocumentSet[]> {
    const words = wordsOf(query)
    const question = { words, conditions: conditionsOf(filter), withFailing: isAddressed(filter) }
    return answer(view, JSON.stringify(['rank', filter, words]), () =>
      rankDocuments(view, question, turns),
    )
  }

  /** What to look for instead of a query that finds nothing; `undefined` when that would find nothing either. */
  async function correct(
    view: CatalogView,
    filter: CatalogFilter,
    query: string,
  ): Promise<string | undefined> {
    const words = [...new Set(tokensOf(fold(query)))].sort()
    const key = JSON.stringify([filter, words])
    const corrections = await once(kept.of(view).corrections, key, () =>
      findCorrections(words, {
        occurs: (word) => occurs(view, word, isAddressed(filter), turns),
        isFound: async (words) => isAnything(await ranked(view, filter, words.join(' '))),
        spellings: [view.base.spelling, spellChanged(view, turns)],
      }),
    )
    if (corrections.size === 0) return undefined
    const corrected = rewrite(query, corrections, fold)
    // A correction is there to be asked for.
    return corrected.length > MAX_QUERY_CHARS ? undefined : corrected
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
      const asTyped = await ranked(view, filter, query)
      if (isAnything(asTyped)) return pageOfRanked(view, asTyped, limit, after)
      const correctedQuery = await correct(view, filter, query)
      if (correctedQuery === undefined) return { ids: [], next: null }
      const sets = await ranked(view, filter, correctedQuery)
      return { ...pageOfRanked(view, sets, limit, after), correctedQuery }
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
): RankedPage {
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

function isAnything(sets: readonly DocumentSet[]): boolean {
  return sets.some(({ count }) => count > 0)
}
