import {
  browseQuery,
  changesQuery,
  listQuery,
  rankedCursor,
  rankedQuery,
  wordsWanted,
} from '@arcus/protocol/answers/discovery'
import { integerParameter } from '@arcus/protocol/answers/parameters'
import { defined } from '@arcus/protocol/x402/json'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { createTurns } from '../../async/turns.js'
import type { CachedBody } from '../../http/cached-reply.js'
import { httpFault, type RequestFault } from '../../http/errors.js'
import { type RawQuery, readQuery } from '../../http/query.js'
import { blockOf } from '../../http/rate-limit.js'
import type { ListingReader } from '../store/listings.js'
import {
  type BrowseQuery,
  type CatalogAnswer,
  type CatalogQuestion,
  createDiscoveryAnswers,
  type DiscoveryAnswers,
  type Honest,
  type MerchantsQuestion,
} from './answers.js'
import { createThreadedAnswers } from './answers-thread.js'
import { createCatalog } from './catalog.js'
import {
  type ChangesPlace,
  type ChangesQuery,
  type ChangeWaiter,
  createChangeWaits,
} from './changes.js'
import { type ListQuery, type RankedQuery, readCursor } from './search.js'
import { wordsOf } from './words.js'

interface DiscoveryBodiesOptions {
  answers: Pick<DiscoveryAnswers, 'answer' | 'figures'>
  listings: Pick<ListingReader, 'lastChange'>
}

/** A page of changes, and where it ends. */
interface ChangesBody extends CachedBody {
  place: ChangesPlace
}

/** Answers are kept up to this number of bytes while the catalog does not change. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024
/** Bytes that a kept answer takes in addition to its body, for its question and its entry in the cache. */
const BYTES_AN_ENTRY = 1_024
/** Figures of payments change without a change of the catalog. */
const KEPT_MS = 5_000
const LOADING_RETRY_SECONDS = 5
const OVERLOAD_RETRY_SECONDS = 1
/**
 * Questions at the catalog at once: its thread answers one after another, and has the next one at hand. The others wait, a few
 * of each block of addresses, so that one party holds up nobody else.
 */
const turnsOfQuestions = { atOnce: 2, waitingOfParty: 4, waitingInAll: 500 }

export type DiscoveryBodies = ReturnType<typeof createDiscoveryBodies>

/**
 * Makes the answers of discovery as JSON from the parameters as they were written, for a caller by its address. Throws a
 * `RequestFault` for wrong parameters, and for a question where too many of the caller's block wait already.
 */
export function createDiscoveryBodies({ answers, listings }: DiscoveryBodiesOptions) {
  const { lastChange } = listings
  const waits = createChangeWaits({ lastChange })
  const ask = inTurns(answers)
  const read = createAnswerCache(ask)
  return {
    /** `GET /discovery/resources` (product, x402 v2 sec. 8). */
    async resources(query: RawQuery, ip: string) {
      const question = { kind: 'resources', query: parseListQuery(query) } as const
      return bodyOf(await read(question, ip, await lastChange()))
    },
    /** `GET /discovery/search` (bazaar extension). */
    async search(query: RawQuery, ip: string) {
      const question = { kind: 'search', query: parseRankedQuery(query) } as const
      return bodyOf(await read(question, ip, await lastChange()))
    },
    /** `GET /discovery/changes`: what a crawler must read again. It waits for a change as long as the query says. */
    async changes(raw: RawQuery, from: ChangeWaiter): Promise<ChangesBody> {
      const { wait, ...query } = parseChangesQuery(raw)
      if (wait > 0) await waits.until(query.since, wait * 1_000, from)
      const last = await lastChange()
      if (query.since > last) throw aheadFault(last)
      const answer = await read({ kind: 'changes', query }, from.ip, last)
      const body = bodyOf(answer)
      return { ...body, place: (answer as { place: ChangesPlace }).place }
    },
    /** Answers everybody who waits; for the end of the service. */
    endWaits: waits.stop,
    /** `GET /api/endpoints`. It is never kept, because a card shows the last probe, and a probe is no change. */
    browse: async (query: RawQuery, ip: string) =>
      bodyOf(await ask({ kind: 'cards', query: parseBrowseQuery(query) }, ip)),
    /** The first merchants of `GET /api/merchants`, in an order. */
    merchants: async (query: MerchantsQuestion, ip: string) =>
      bodyOf(await read({ kind: 'merchants', query }, ip, await lastChange())),
  }
}

type Ask = (question: CatalogQuestion, ip: string, sequence?: number) => Promise<CatalogAnswer>

/** Serves the blocks of addresses that ask one after the other. While the catalog is read, questions only wait for that. */
function inTurns({ answer, figures }: DiscoveryBodiesOptions['answers']): Ask {
  const turns = createTurns(turnsOfQuestions)
  const isRead = () => figures().readSeconds > 0
  return async (question, ip, sequence) => {
    if (!isRead()) return answer(question, sequence)
    const answering = turns.run(blockOf(ip), () => answer(question, sequence))
    if (answering !== undefined) return answering
    const text = 'Too many searches of this network wait already; try again.'
    throw httpFault('busy', text, OVERLOAD_RETRY_SECONDS)
  }
}

/** Keeps answers for a moment, by the number of the last change: while it stays, nothing but figures can have changed. */
function createAnswerCache(
  ask: Ask,
): (question: CatalogQuestion, ip: string, sequence: number) => Promise<CatalogAnswer> {
  const kept = new LRUCache<string, CatalogAnswer & { state: 'made' }>({
    maxSize: MAX_KEPT_BYTES,
    ttl: KEPT_MS,
    sizeCalculation: ({ body }) => body.bytes.length + BYTES_AN_ENTRY,
  })
  /** A question that is asked twice at the same time is answered once. */
  const inFlight = new Map<string, Promise<CatalogAnswer>>()
  let keptAt = -1

  return async (question, ip, sequence) => {
    if (sequence !== keptAt) {
      keptAt = sequence
      kept.clear()
    }
    const key = JSON.stringify(question)
    const known = kept.get(key)
    if (known !== undefined) return known
    const place = `${sequence} ${key}`
    const asked = inFlight.get(place)
    if (asked !== undefined) return asked
    const answering = ask(question, ip, sequence).finally(() => inFlight.delete(place))
    inFlight.set(place, answering)
    const answer = await answering
    if (answer.state === 'made' && answer.sequence === keptAt) kept.set(key, answer)
    return answer
  }
}

function bodyOf(answer: CatalogAnswer): CachedBody {
  if (answer.state === 'made') return answer.body
  throw answer.state === 'loading'
    ? unavailable('The catalog is being read after a start; try again.', LOADING_RETRY_SECONDS)
    : unavailable('Too many searches at once; try again.', OVERLOAD_RETRY_SECONDS)
}

/** Refuses a number of another database, or of one that was restored from a backup since. */
function aheadFault(last: number): RequestFault {
  const message = `since must be an integer from 0 to ${last}, the last change there is; a later one is not of this catalog: begin again with 0.`
  return httpFault('invalid_request', message)
}

function unavailable(message: string, retryAfterSeconds: number): RequestFault {
  return httpFault('unavailable', message, retryAfterSeconds)
}

/** Discovery as a whole: the one catalog in memory, and the answers that are made from it. */
export interface Discovery extends DiscoveryAnswers {
  bodies: DiscoveryBodies
}

/**
 * Creates discovery, not yet started. The catalog is on a thread of its own, which reads `source`; over a database in
 * memory (`undefined`), which no thread can share, it is on this one.
 */
export function createDiscovery({
  source,
  store,
  onFault,
}: {
  source: string | undefined
  store: ListingReader
  onFault: (error: unknown) => void
}): Discovery {
  const answers =
    source === undefined ? answersHere(store, onFault) : createThreadedAnswers({ source, onFault })
  return { ...answers, bodies: createDiscoveryBodies({ answers, listings: store }) }
}

function answersHere(store: ListingReader, onFault: (error: unknown) => void): DiscoveryAnswers {
  const { current, ...catalog } = createCatalog({ source: store, onFault })
  const { answer } = createDiscoveryAnswers({ catalog: { ...catalog, current }, items: store })
  return { ...catalog, answer }
}

/** The query of a search, in which there must be a word. */
const wordedQuery = rankedQuery.extend({
  query: rankedQuery.shape.query.refine((text) => wordsOf(text).length > 0, wordsWanted),
})

/** Names the filters of a query that another route of discovery, or another bazaar, applies and this one does not. */
function unapplied(raw: RawQuery, applied: z.ZodObject): { unappliedFilters?: string[] } {
  const known = [...Object.keys({ ...listQuery.shape, ...rankedQuery.shape }), ...foreignFilters]
  const names = known.filter(
    (name) => Object.hasOwn(raw, name) && !Object.hasOwn(applied.shape, name),
  )
  return names.length === 0 ? {} : { unappliedFilters: [...new Set(names)] }
}

/** Filters of other bazaars and of clients made for them. */
const foreignFilters = ['asset', 'maxUsdPrice', 'minUsdPrice', 'tags', 'category', 'x402Version']

/** Reads the query of `/discovery/resources`. Throws a 400 for a parameter that is out of bounds. */
export function parseListQuery(raw: RawQuery): Honest<ListQuery> {
  const { limit, offset, q, sort, ...filter } = readQuery(listQuery, raw)
  return { limit, filter: defined(filter), q, sort, offset, ...unapplied(raw, listQuery) }
}

/** Reads the query of `/discovery/search`. Throws a 400 for a parameter that is out of bounds. */
export function parseRankedQuery(raw: RawQuery): Honest<RankedQuery> {
  const { limit, query, cursor, ...filter } = readQuery(wordedQuery, raw)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  return { limit, filter: defined(filter), query, after, ...unapplied(raw, rankedQuery) }
}

/** Reads the query of `/discovery/changes`. Throws a 400 for a parameter that is out of bounds. */
function parseChangesQuery(raw: RawQuery): ChangesQuery & { wait: number } {
  return readQuery(changesQuery, raw)
}

/** Reads the query of `/api/endpoints`. Throws a 400 for a parameter that is out of bounds. */
export function parseBrowseQuery(raw: RawQuery): BrowseQuery {
  const { limit, query, sort, cursor: _, ...filters } = readQuery(browseQuery, raw)
  const filter = defined(filters)
  if (sort === undefined && wordsOf(query).length > 0) {
    const { cursor } = readQuery(z.object({ cursor: rankedCursor }), raw)
    const after = cursor === undefined ? undefined : readCursor(cursor)
    return { kind: 'search', limit, filter, query, after }
  }
  const { cursor } = readQuery(z.object({ cursor: integerParameter().prefault('0') }), raw)
  return { kind: 'list', limit, filter, q: query, isWide: true, sort, offset: cursor }
}
