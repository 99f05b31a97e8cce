import type { ListingReader } from '../store/listings.js'
import type { CatalogSearch } from './catalog-search.js'
import type { CatalogView } from './catalog-view.js'

export interface ChangesQuery {
  /** Number of the last change the caller knows of; 0 is none. */
  since: number
  /** Merchants of a page. */
  limit: number
}

export interface ChangesOptions {
  source: Pick<ListingReader, 'changesAfter'>
  search: Pick<CatalogSearch, 'list'>
  /** The items of these endpoints as JSON. */
  itemsOf: (ids: readonly number[], view: CatalogView) => Promise<string[]>
}

/** Changes looked through for one page; most are of few merchants. */
const MAX_CHANGES = 1_000
const ENDPOINTS_AT_ONCE = 100
/** Schemas can be large: a page ends past this, with at least one merchant. */
const PAGE_CHARS = 1_048_576

/**
 * Makes what tells a crawler which merchants changed: each once, with all items it has now. What else the crawler holds
 * of that merchant is gone, so no item needs a tombstone of its own.
 */
export function createChangeReader({ source, search, itemsOf }: ChangesOptions) {
  async function itemsOfMerchant(view: CatalogView, merchant: string): Promise<string[]> {
    const items: string[] = []
    for (let offset = 0; ; offset += ENDPOINTS_AT_ONCE) {
      const page = { filter: { merchant }, q: '', offset, limit: ENDPOINTS_AT_ONCE }
      const { ids, total } = await search.list(view, page)
      items.push(...(await itemsOf(ids, view)))
      if (offset + ENDPOINTS_AT_ONCE >= total) return items
    }
  }

  return async (view: CatalogView, { since, limit }: ChangesQuery): Promise<string> => {
    const noted = await source.changesAfter(since, MAX_CHANGES)
    const told: string[] = []
    let next = since
    let chars = 0
    for (const [merchant, sequence] of lastOfEach(noted, view.sequence)) {
      if (told.length >= limit || chars >= PAGE_CHARS) break
      const items = await itemsOfMerchant(view, merchant)
      const removed = items.length === 0
      const json = `{"merchant":${JSON.stringify(merchant)},"sequence":${sequence},"removed":${removed},"items":[${items.join(',')}]}`
      told.push(json)
      chars += json.length
      next = sequence
    }
    return `{"x402Version":2,"changes":[${told.join(',')}],"next":${next},"hasMore":${next < view.sequence}}`
  }
}

/**
 * The last change of each merchant, in order. Whoever goes on after one of them misses nothing: a merchant not told by
 * then has a later change.
 */
function lastOfEach(
  noted: readonly { sequence: number; merchantId: string }[],
  upTo: number,
): Map<string, number> {
  const last = new Map<string, number>()
  for (const { merchantId, sequence } of noted) {
    // What came after the view was taken is not in its items yet.
    if (sequence > upTo) break
    last.delete(merchantId)
    last.set(merchantId, sequence)
  }
  return last
}
