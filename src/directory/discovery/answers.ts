import { type CachedBody, toCachedBody } from '../../http/cached-reply.js'
import type { ListingReader } from '../store/listings.js'
import { isPublished } from '../store/published.js'
import type { CatalogFigures, MemoryCatalog } from './catalog.js'
import { type ChangesPlace, type ChangesQuery, createChangeReader } from './changes.js'
import type { EndpointList } from './endpoint-list.js'
import { itemJson, toCard } from './item.js'
import {
  EndpointSearch,
  formatCursor,
  type ListQuery,
  type MerchantsQuery,
  type RankedQuery,
} from './search.js'

/** A query with the filters that it names and that its route cannot apply. */
export type Honest<Query> = Query & { unappliedFilters?: string[] }

/** A query of `/api/endpoints`: ranked with words alone, else a list. */
export type BrowseQuery = ({ kind: 'search' } & RankedQuery) | ({ kind: 'list' } & ListQuery)

/**
 * A question: the list in order of creation, the ranked search, either of them as cards of the console, changes, or the
 * first merchants of a list that names the facilitator.
 */
export type CatalogQuestion =
  | { kind: 'resources'; query: Honest<ListQuery> }
  | { kind: 'search'; query: Honest<RankedQuery> }
  | { kind: 'cards'; query: BrowseQuery }
  | { kind: 'changes'; query: ChangesQuery }
  | { kind: 'merchants'; query: MerchantsQuery & { facilitator: string } }

export type CatalogAnswer =
  /** `sequence` is the last change of the catalog that is certainly in it; `place` says where a page of changes ends. */
  | { state: 'made'; body: CachedBody; sequence: number; place?: ChangesPlace | undefined }
  /** The catalog is being read after a start. */
  | { state: 'loading' }
  /** Too many questions wait already. */
  | { state: 'busy' }

/** Answers of discovery, ready to be sent. */
export interface DiscoveryAnswers {
  start(): void
  /** Resolves when nothing is read any more. */
  stop(): Promise<void>
  /** The answer has every change up to `sequence`, or every change that was committed before the call. */
  answer(question: CatalogQuestion, sequence?: number): Promise<CatalogAnswer>
  figures(): CatalogFigures
}

interface DiscoveryAnswersOptions {
  catalog: MemoryCatalog
  items: Pick<
    ListingReader,
    'publishedById' | 'entriesById' | 'changesAfter' | 'publishedMerchants'
  >
}

interface Made {
  json: string
  /** Whether everything that was found was still there to be read. */
  isWhole: boolean
  place?: ChangesPlace
}

/** The longest wait of a question for the catalog to be read. */
const LOADING_PATIENCE_MS = 3_000
const LOADING_POLL_MS = 25
/** So many questions wait for the catalog to be read; others are refused at once. */
const MAX_PATIENT = 100
/** An endpoint may be removed between the search and the read of its item. Then the search is repeated, up to this number of times. */
const MAX_TRIES = 3

/** Creates answers that are made on the thread that asks. */
export function createDiscoveryAnswers(
  options: DiscoveryAnswersOptions,
): Pick<DiscoveryAnswers, 'answer'> {
  const { catalog, items: store } = options
  let patient = 0
  let latest: { list: EndpointList; search: EndpointSearch } | undefined

  function searchIn(list: EndpointList): EndpointSearch {
    if (latest?.list !== list) latest = { list, search: new EndpointSearch(list) }
    return latest.search
  }

  /** A small catalog is read within a moment of the start, and waiting for it is better than coming again. */
  async function listFor(sequence?: number): Promise<EndpointList | undefined> {
    const deadline = Date.now() + LOADING_PATIENCE_MS
    for (;;) {
      const list = await catalog.current(sequence)
      if (list !== undefined) return list
      if (Date.now() >= deadline || patient >= MAX_PATIENT) return undefined
      patient++
      await new Promise((resolve) => setTimeout(resolve, LOADING_POLL_MS))
      patient--
    }
  }

  async function itemsOf(ids: readonly number[]): Promise<string[]> {
    const entries = await store.publishedById(ids)
    return entries.filter(({ merchant }) => isPublished(merchant)).map(itemJson)
  }

  const writeChanges = createChangeReader({ source: store, itemsOf })

  async function list(search: EndpointSearch, query: ResourcesQuery): Promise<Made> {
    const { limit, offset } = query
    const { ids, total } = search.list(query)
    const items = await itemsOf(ids)
    const pagination = JSON.stringify({ limit, offset, total })
    return {
      json: `{"x402Version":2,"items":[${items.join(',')}],${unappliedOf(query)}"pagination":${pagination}}`,
      isWhole: items.length === ids.length,
    }
  }

  async function rank(search: EndpointSearch, query: SearchQuestion): Promise<Made> {
    const found = search.rank(query)
    const cursor = found.next === null ? null : formatCursor(found.next)
    const pagination = JSON.stringify({ limit: query.limit, cursor })
    const resources = await itemsOf(found.ids)
    return {
      json: `{"x402Version":2,"resources":[${resources}],"partialResults":${found.isLoose || cursor !== null},${unappliedOf(query)}"pagination":${pagination}}`,
      isWhole: resources.length === found.ids.length,
    }
  }

  async function browse(search: EndpointSearch, query: BrowseQuery): Promise<Made> {
    const found = find(search, query)
    const { ids, total, next } = found
    const entries = (await store.entriesById(ids)).filter(({ merchant }) => isPublished(merchant))
    const cards = JSON.stringify(entries.map(toCard))
    return {
      json: `{"items":${cards},"total":${total},"next":${JSON.stringify(next)}}`,
      isWhole: entries.length === ids.length,
    }
  }

  async function merchants(search: EndpointSearch, query: MerchantsQuestion): Promise<Made> {
    const ids = search.merchants(query)
    const found = await store.publishedMerchants(ids)
    const facilitator = JSON.stringify(query.facilitator)
    return {
      json: `{"facilitator":${facilitator},"merchants":[${found.map(({ json }) => json)}]}\n`,
      isWhole: found.length === ids.length,
    }
  }

  async function make(catalogList: EndpointList, { kind, query }: CatalogQuestion): Promise<Made> {
    // A merchant that changes while its items are read comes again with its next change.
    if (kind === 'changes') return { ...(await writeChanges(catalogList, query)), isWhole: true }
    const search = searchIn(catalogList)
    if (kind === 'merchants') return merchants(search, query)
    if (kind === 'resources') return list(search, query)
    return kind === 'search' ? rank(search, query) : browse(search, query)
  }

  return {
    async answer(question, wanted) {
      for (let tries = 1; ; tries++) {
        const current = await listFor(tries === 1 ? wanted : undefined)
        if (current === undefined) return { state: 'loading' }
        const { sequence } = current
        const { json, isWhole, place } = await make(current, question)
        if (isWhole || tries === MAX_TRIES) {
          return { state: 'made', body: toCachedBody(json), sequence, place }
        }
      }
    },
  }
}

interface FoundIds {
  ids: number[]
  total: number | null
  next: string | null
}

function find(search: EndpointSearch, query: BrowseQuery): FoundIds {
  if (query.kind === 'search') {
    const { next, ...found } = search.rank(query)
    return { ...found, total: null, next: next === null ? null : formatCursor(next) }
  }
  const { ids, total } = search.list(query)
  const end = query.offset + ids.length
  return { ids, total, next: end < total ? String(end) : null }
}

/** Writes the member with the filters that were not applied; nothing if all were. */
function unappliedOf({ unappliedFilters }: Honest<object>): string {
  return unappliedFilters === undefined
    ? ''
    : `"unappliedFilters":${JSON.stringify(unappliedFilters)},`
}

type ResourcesQuery = Extract<CatalogQuestion, { kind: 'resources' }>['query']
type SearchQuestion = Extract<CatalogQuestion, { kind: 'search' }>['query']
export type MerchantsQuestion = Extract<CatalogQuestion, { kind: 'merchants' }>['query']
