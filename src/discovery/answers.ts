import { type CachedBody, toCachedBody } from '../http/cached-reply.js'
import type { CatalogEntry, ListingReader } from '../store/listings.js'
import { toCard } from './card.js'
import type { CatalogIndex, IndexFigures } from './catalog-index.js'
import {
  type CatalogSearch,
  type ListQuery,
  type RankedPage,
  type RankedQuery,
  SearchOverload,
} from './catalog-search.js'
import type { CatalogView } from './catalog-view.js'
import { type ChangesQuery, createChangeReader } from './changes.js'
import { createItemCache, type ItemSource } from './item-cache.js'
import { listPage } from './list-page.js'
import { isOutlined } from './outline.js'
import type { BrowseQuery } from './queries.js'
import { formatCursor } from './ranked-cursor.js'
import type { Turns } from './turns.js'

/** What is asked for: the list in order of creation, the ranked search, either as cards of the console, or changes. */
export type Question =
  | { kind: 'resources'; query: ListQuery & { isOtherType: boolean } }
  | { kind: 'search'; query: RankedQuery & { isOtherType: boolean } }
  | { kind: 'cards'; query: BrowseQuery }
  | { kind: 'changes'; query: ChangesQuery }

export type Answer =
  /** `sequence` is the last change of the catalog that is in it. */
  | { state: 'made'; body: CachedBody; sequence: number }
  /** The catalog is read for the first time, and what of it is read does not answer the question. */
  | { state: 'loading' }
  /** Too much is asked at once. */
  | { state: 'busy' }

/** Answers of discovery, ready to be sent. */
export interface DiscoveryAnswers {
  /** Begins to read the catalog. */
  start(): void
  /** Resolves when nothing is read any more. */
  stop(): Promise<void>
  /** Has in it every change up to `sequence`, or that was committed before the call. */
  answer(question: Question, sequence?: number): Promise<Answer>
  /** Payments are being made: searches take less of the processor for a moment. */
  giveWay(): void
  figures(): IndexFigures
}

export interface DiscoveryAnswersOptions {
  index: CatalogIndex
  search: CatalogSearch
  items: ItemSource & Pick<ListingReader, 'entriesById'>
  turns: Turns
  /** How long a question waits for the first reading of the catalog; 3 s unless given. */
  loadingPatienceMs?: number
}

interface Made {
  json: string
  /** Whether all that was found was still there to be read. */
  isWhole: boolean
}

const NOTHING: RankedPage = { ids: [], next: null }
const ITEMS_A_TURN = 20
const LOADING_PATIENCE_MS = 3_000
const LOADING_LOOK_MS = 25
/** Where what was found is gone by the time it is read, it is looked for again; under constant change, so often. */
const MAX_LOOKS = 3
/** So many questions wait for the rest of the catalog: others are told at once, and those that can be answered are. */
const MAX_PATIENT = 100

/** Answers made on the thread that asks. */
export function createDiscoveryAnswers(options: DiscoveryAnswersOptions): DiscoveryAnswers {
  const { index, search, turns, loadingPatienceMs = LOADING_PATIENCE_MS } = options
  const items = createItemCache(options.items)
  let patient = 0

  /**
   * A view with all that the question asks for. A small catalog is read within a moment of the start: whoever asks then
   * had better wait than come again.
   */
  async function viewFor(question: Question, sequence?: number): Promise<CatalogView | undefined> {
    const deadline = Date.now() + loadingPatienceMs
    for (;;) {
      const view = await index.current(sequence)
      if (view !== undefined && (!view.base.isOutline || isOutlined(question))) return view
      if (Date.now() >= deadline || patient >= MAX_PATIENT) return undefined
      patient++
      await new Promise((resolve) => setTimeout(resolve, LOADING_LOOK_MS))
      patient--
    }
  }

  /** Items as JSON; schemas can be large, so a hundred of them are more than one turn. */
  async function itemsOf(ids: readonly number[], { sequence }: CatalogView): Promise<string[]> {
    const made: string[] = []
    for (let i = 0; i < ids.length; i += ITEMS_A_TURN) {
      if (turns.isUrgent() || (i > 0 && turns.isOver())) await turns.next()
      made.push(...(await items.read(ids.slice(i, i + ITEMS_A_TURN), sequence)))
    }
    return made
  }

  const tellChanges = createChangeReader({ source: options.items, search, itemsOf })

  async function list(view: CatalogView, { isOtherType, ...asked }: ResourcesQuery): Promise<Made> {
    const found = isOtherType ? { ids: [], total: 0 } : await search.list(view, asked)
    const items = await itemsOf(found.ids, view)
    return {
      json: listPage(items, asked, found.total),
      isWhole: items.length === found.ids.length,
    }
  }

  async function rank(view: CatalogView, { isOtherType, ...asked }: SearchQuery): Promise<Made> {
    const found: RankedPage = isOtherType ? NOTHING : await search.rank(view, asked)
    const cursor = found.next === null ? null : formatCursor(found.next)
    const pagination = JSON.stringify({ limit: asked.limit, cursor })
    const resources = await itemsOf(found.ids, view)
    const json = `{"x402Version":2,${correctionOf(found)}"resources":[${resources}],"partialResults":${cursor !== null},"pagination":${pagination}}`
    return { json, isWhole: resources.length === found.ids.length }
  }

  async function browse(view: CatalogView, query: BrowseQuery): Promise<Made> {
    const found = await find(search, view, query)
    const { ids, total, next } = found
    const cards: string[] = []
    for (let i = 0; i < ids.length; i += ITEMS_A_TURN) {
      if (turns.isUrgent() || (i > 0 && turns.isOver())) await turns.next()
      const entries = await options.items.entriesById(ids.slice(i, i + ITEMS_A_TURN))
      cards.push(...entries.filter(isPublic).map((entry) => JSON.stringify(toCard(entry))))
    }
    const json = `{${correctionOf(found)}"items":[${cards.join(',')}],"total":${total},"next":${JSON.stringify(next)}}`
    return { json, isWhole: cards.length === ids.length }
  }

  async function make(view: CatalogView, { kind, query }: Question): Promise<Made> {
    if (kind === 'resources') return list(view, query)
    // A change of what is told comes later by itself.
    if (kind === 'changes') return { json: await tellChanges(view, query), isWhole: true }
    return kind === 'search' ? rank(view, query) : browse(view, query)
  }

  return {
    start: index.start,
    stop: index.stop,
    giveWay: turns.giveWay,
    figures: index.figures,
    async answer(question, sequence) {
      let view = await viewFor(question, sequence)
      if (view === undefined) return { state: 'loading' }
      try {
        let made = await make(view, question)
        for (let look = 1; !made.isWhole && look < MAX_LOOKS; look++) {
          view = (await viewFor(question)) ?? view
          made = await make(view, question)
        }
        return { state: 'made', body: toCachedBody(made.json), sequence: view.sequence }
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
  correctedQuery?: string
}

async function find(search: CatalogSearch, view: CatalogView, query: BrowseQuery): Promise<Found> {
  if (query.kind === 'search') {
    const { next, ...found } = await search.rank(view, query)
    return { ...found, total: null, next: next === null ? null : formatCursor(next) }
  }
  const { ids, total } = await search.list(view, query)
  const end = query.offset + ids.length
  return { ids, total, next: end < total ? String(end) : null }
}

/** The member that tells what was looked for instead; none where it was what was typed. */
function correctionOf({ correctedQuery }: Pick<RankedPage, 'correctedQuery'>): string {
  return correctedQuery === undefined ? '' : `"correctedQuery":${JSON.stringify(correctedQuery)},`
}

/** Hidden or deleted between the search and the read. */
function isPublic({ merchant }: CatalogEntry): boolean {
  return merchant.hiddenReason === null && merchant.deletedAt === null
}

type ResourcesQuery = Extract<Question, { kind: 'resources' }>['query']
type SearchQuery = Extract<Question, { kind: 'search' }>['query']
