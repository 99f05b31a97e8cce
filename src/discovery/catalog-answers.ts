import { RequestFault } from '../http/request-fault.js'
import type { CatalogEntry, ListingReader } from '../store/listings.js'
import { type CachedBody, toCachedBody } from './cached-reply.js'
import { toCard } from './card.js'
import type { CatalogIndex } from './catalog-index.js'
import { type CatalogSearch, SearchOverload } from './catalog-search.js'
import type { CatalogView } from './catalog-view.js'
import { toItem } from './item.js'
import { createLru, type Lru } from './lru.js'
import {
  type BrowseQuery,
  formatCursor,
  parseBrowseQuery,
  parseListQuery,
  parseRankedQuery,
} from './queries.js'
import type { RawQuery } from './query-parameters.js'
import type { Turns } from './turns.js'

export interface CatalogAnswersOptions {
  index: Pick<CatalogIndex, 'current'>
  search: CatalogSearch
  listings: Pick<ListingReader, 'entriesById'>
  turns: Turns
}

/** The answers of discovery as JSON, from the parameters as they were written; a fault of theirs is thrown. */
export interface CatalogAnswers {
  /** `GET /discovery/resources` (product, x402 v2 sec. 8). */
  resources(query: RawQuery): Promise<CachedBody>
  /** `GET /discovery/search` (bazaar extension). */
  search(query: RawQuery): Promise<CachedBody>
  /** `GET /api/endpoints`, as the console shows them. */
  browse(query: RawQuery): Promise<string>
}

/** Answers kept while the catalog does not change. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const ITEMS_A_TURN = 20
const LOADING_RETRY_SECONDS = 5
const OVERLOAD_RETRY_SECONDS = 1

export function createCatalogAnswers({
  index,
  search,
  listings,
  turns,
}: CatalogAnswersOptions): CatalogAnswers {
  const kept = createAnswerCache()

  /** A JSON list; schemas can be large, so a hundred items are more than one turn. */
  async function itemsOf(
    ids: readonly number[],
    toJson: (entry: CatalogEntry) => unknown = toItem,
  ): Promise<string> {
    const items: string[] = []
    for (let i = 0; i < ids.length; i += ITEMS_A_TURN) {
      if (turns.isUrgent() || (i > 0 && turns.isOver())) await turns.next()
      const entries = await listings.entriesById(ids.slice(i, i + ITEMS_A_TURN))
      items.push(...entries.filter(isPublic).map((entry) => JSON.stringify(toJson(entry))))
    }
    return `[${items.join(',')}]`
  }

  /** The answer to what was asked, made once for each state of the catalog. */
  async function answer<Query>(
    kind: string,
    query: Query,
    make: (view: CatalogView, query: Query) => Promise<string>,
  ): Promise<CachedBody> {
    const view = await index.current()
    if (view === undefined) throw loadingFault()
    const cache = kept.of(view)
    const key = JSON.stringify([kind, query])
    const known = cache.get(key)
    if (known !== undefined) return known
    try {
      const body = toCachedBody(await make(view, query))
      cache.set(key, body)
      return body
    } catch (error) {
      return explainOverload(error)
    }
  }

  return {
    resources: async (raw) =>
      answer('resources', parseListQuery(raw), async (view, { isOtherType, ...asked }) => {
        const { limit, offset } = asked
        const found = isOtherType ? { ids: [], total: 0 } : await search.list(view, asked)
        const { total } = found
        const pagination = JSON.stringify({ limit, offset, total })
        return `{"x402Version":2,"items":${await itemsOf(found.ids)},"pagination":${pagination}}`
      }),
    search: async (raw) =>
      answer('search', parseRankedQuery(raw), async (view, { isOtherType, ...asked }) => {
        const found = isOtherType ? { ids: [], next: null } : await search.rank(view, asked)
        const cursor = found.next === null ? null : formatCursor(found.next)
        const pagination = JSON.stringify({ limit: asked.limit, cursor })
        const resources = await itemsOf(found.ids)
        return `{"x402Version":2,"resources":${resources},"partialResults":${cursor !== null},"pagination":${pagination}}`
      }),
    async browse(raw) {
      const query = parseBrowseQuery(raw)
      const view = await index.current()
      if (view === undefined) throw loadingFault()
      const { ids, total, next } = await browse(search, view, query).catch(explainOverload)
      const cards = await itemsOf(ids, toCard)
      return `{"items":${cards},"total":${total},"next":${JSON.stringify(next)}}`
    },
  }
}

async function browse(search: CatalogSearch, view: CatalogView, query: BrowseQuery) {
  if (query.kind === 'search') {
    const { ids, next } = await search.rank(view, query)
    return { ids, total: null, next: next === null ? null : formatCursor(next) }
  }
  const { ids, total } = await search.list(view, query)
  const end = query.offset + ids.length
  return { ids, total, next: end < total ? String(end) : null }
}

/** Hidden or deleted between the search and this read. */
function isPublic({ merchant }: CatalogEntry): boolean {
  return merchant.hiddenReason === null && merchant.deletedAt === null
}

/** Answers of the latest view; one that comes late for a view before is not kept for this one. */
function createAnswerCache(): { of(view: CatalogView): Lru<CachedBody> } {
  let latest: { view: CatalogView; answers: Lru<CachedBody> } | undefined
  return {
    of(view) {
      if (latest?.view !== view) {
        latest = { view, answers: createLru(MAX_ANSWER_BYTES, ({ json }) => json.length * 2) }
      }
      return latest.answers
    },
  }
}

function explainOverload(error: unknown): never {
  throw error instanceof SearchOverload ? overloadFault() : error
}

function loadingFault(): RequestFault {
  return unavailable('The catalog is being read after a start; try again.', LOADING_RETRY_SECONDS)
}

function overloadFault(): RequestFault {
  return unavailable('Too many searches at once; try again.', OVERLOAD_RETRY_SECONDS)
}

function unavailable(message: string, retryAfterSeconds: number): RequestFault {
  return new RequestFault({
    statusCode: 503,
    code: 'unavailable',
    message,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
