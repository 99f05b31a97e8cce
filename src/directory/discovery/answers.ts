import { type CachedBody, toCachedBody } from '../../http/cached-reply.js'
import type { ListingReader } from '../store/listings.js'
import { type CatalogList, isPublic } from './catalog-list.js'
import type { CatalogFigures, CatalogReader } from './catalog-reader.js'
import { type ChangesQuery, createChangeReader } from './changes.js'
import { itemJson, toCard } from './item.js'
import { type Pace, SearchOverload } from './pace.js'
import { type BrowseQuery, formatCursor, type Honest } from './queries.js'
import {
  type CatalogSearch,
  createCatalogSearch,
  type ListQuery,
  type RankedQuery,
} from './search.js'

/** A question: the list in order of creation, the ranked search, either of them as cards of the console, or changes. */
export type Question =
  | { kind: 'resources'; query: Honest<ListQuery> }
  | { kind: 'search'; query: Honest<RankedQuery> }
  | { kind: 'cards'; query: BrowseQuery }
  | { kind: 'changes'; query: ChangesQuery }

export type Answer =
  /** `sequence` is the last change of the catalog that is certainly in it. */
  | { state: 'made'; body: CachedBody; sequence: number }
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
  answer(question: Question, sequence?: number): Promise<Answer>
  /** Says that payments are being made: for a moment searches pause after each other. */
  giveWay(): void
  figures(): CatalogFigures
}

interface DiscoveryAnswersOptions {
  catalog: CatalogReader
  items: Pick<ListingReader, 'publishedById' | 'entriesById' | 'changesAfter'>
  pace: Pace
  /** The longest wait of a question for the catalog to be read, milliseconds; 3 s unless given. */
  loadingPatienceMs?: number
}

interface Made {
  json: string
  /** Whether everything that was found was still there to be read. */
  isWhole: boolean
}

const LOADING_PATIENCE_MS = 3_000
const LOADING_POLL_MS = 25
/** So many questions wait for the catalog to be read; others are refused at once. */
const MAX_PATIENT = 100
/** An endpoint may be removed between the search and the read of its item. Then the search is repeated, up to so many times. */
const MAX_TRIES = 3

/** Creates answers that are made on the thread that asks. */
export function createDiscoveryAnswers(
  options: DiscoveryAnswersOptions,
): Pick<DiscoveryAnswers, 'answer'> {
  const { catalog, items: store, pace, loadingPatienceMs = LOADING_PATIENCE_MS } = options
  let patient = 0
  let latest: { list: CatalogList; search: CatalogSearch } | undefined

  function searchIn(list: CatalogList): CatalogSearch {
    if (latest?.list !== list) latest = { list, search: createCatalogSearch(list) }
    return latest.search
  }

  /** A small catalog is read within a moment of the start, and waiting for it is better than coming again. */
  async function listFor(sequence?: number): Promise<CatalogList | undefined> {
    const deadline = Date.now() + loadingPatienceMs
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
    return entries.filter(({ merchant }) => isPublic(merchant)).map(itemJson)
  }

  const writeChanges = createChangeReader({ source: store, itemsOf })

  async function list(search: CatalogSearch, query: ResourcesQuery): Promise<Made> {
    const { limit, offset } = query
    const { ids, total } = await pace.search(() => search.list(query))
    const items = await itemsOf(ids)
    const pagination = JSON.stringify({ limit, offset, total })
    return {
      json: `{"x402Version":2,"items":[${items.join(',')}],${unappliedOf(query)}"pagination":${pagination}}`,
      isWhole: items.length === ids.length,
    }
  }

  async function rank(search: CatalogSearch, query: SearchQuery): Promise<Made> {
    const found = await pace.search(() => search.rank(query))
    const cursor = found.next === null ? null : formatCursor(found.next)
    const pagination = JSON.stringify({ limit: query.limit, cursor })
    const resources = await itemsOf(found.ids)
    return {
      json: `{"x402Version":2,"resources":[${resources}],"partialResults":${cursor !== null},${unappliedOf(query)}"pagination":${pagination}}`,
      isWhole: resources.length === found.ids.length,
    }
  }

  async function browse(search: CatalogSearch, query: BrowseQuery): Promise<Made> {
    const found = await pace.search(() => find(search, query))
    const { ids, total, next } = found
    const entries = (await store.entriesById(ids)).filter(({ merchant }) => isPublic(merchant))
    const cards = JSON.stringify(entries.map(toCard))
    return {
      json: `{"items":${cards},"total":${total},"next":${JSON.stringify(next)}}`,
      isWhole: entries.length === ids.length,
    }
  }

  async function make(catalogList: CatalogList, { kind, query }: Question): Promise<Made> {
    // A merchant that changes while its items are read comes again with its next change.
    if (kind === 'changes') return { json: await writeChanges(catalogList, query), isWhole: true }
    const search = searchIn(catalogList)
    if (kind === 'resources') return list(search, query)
    return kind === 'search' ? rank(search, query) : browse(search, query)
  }

  return {
    async answer(question, wanted) {
      try {
        for (let tries = 1; ; tries++) {
          const current = await listFor(tries === 1 ? wanted : undefined)
          if (current === undefined) return { state: 'loading' }
          const { sequence } = current
          const { json, isWhole } = await make(current, question)
          if (isWhole || tries === MAX_TRIES) {
            return { state: 'made', body: toCachedBody(json), sequence }
          }
        }
      } catch (error) {
        if (error instanceof SearchOverload) return { state: 'busy' }
        throw error
      }
    },
  }
}

interface Found {
  ids: number[]
  total: number | null
  next: string | null
}

function find(search: CatalogSearch, query: BrowseQuery): Found {
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

type ResourcesQuery = Extract<Question, { kind: 'resources' }>['query']
type SearchQuery = Extract<Question, { kind: 'search' }>['query']
