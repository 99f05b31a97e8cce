import {
  browseQuery,
  changesQuery,
  listQuery,
  rankedCursor,
  rankedQuery,
  wordsWanted,
} from '@arcus/protocol/answers/discovery'
import { integerParameter } from '@arcus/protocol/answers/parameters'
import { z } from 'zod'
import { type RawQuery, readQuery } from '../../http/query.js'
import type { ChangesQuery } from './changes.js'
import type { EndpointFilter } from './filters.js'
import type { ListQuery, RankedPlace, RankedQuery } from './search.js'
import { wordsOf } from './words.js'

/** The query of a search, in which there must be a word. */
const wordedQuery = rankedQuery.extend({
  query: rankedQuery.shape.query.refine((text) => wordsOf(text).length > 0, wordsWanted),
})

/** A query with the filters that it names and that its route cannot apply. */
export type Honest<Query> = Query & { unappliedFilters?: string[] }

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
  return { limit, filter: toFilter(filter), q, sort, offset, ...unapplied(raw, listQuery) }
}

/** Reads the query of `/discovery/search`. Throws a 400 for a parameter that is out of bounds. */
export function parseRankedQuery(raw: RawQuery): Honest<RankedQuery> {
  const { limit, query, cursor, ...filter } = readQuery(wordedQuery, raw)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  return { limit, filter: toFilter(filter), query, after, ...unapplied(raw, rankedQuery) }
}

/** Reads the query of `/discovery/changes`. Throws a 400 for a parameter that is out of bounds. */
export function parseChangesQuery(raw: RawQuery): ChangesQuery & { wait: number } {
  return readQuery(changesQuery, raw)
}

/** A query of `/api/endpoints`: ranked with words alone, else a list. */
export type BrowseQuery = ({ kind: 'search' } & RankedQuery) | ({ kind: 'list' } & ListQuery)

/** Reads the query of `/api/endpoints`. Throws a 400 for a parameter that is out of bounds. */
export function parseBrowseQuery(raw: RawQuery): BrowseQuery {
  const { limit, query, sort, cursor: _, ...filters } = readQuery(browseQuery, raw)
  const filter = toFilter(filters)
  if (sort === undefined && wordsOf(query).length > 0) {
    const { cursor } = readQuery(z.object({ cursor: rankedCursor }), raw)
    const after = cursor === undefined ? undefined : readCursor(cursor)
    return { kind: 'search', limit, filter, query, after }
  }
  const { cursor } = readQuery(z.object({ cursor: integerParameter().prefault('0') }), raw)
  return { kind: 'list', limit, filter, q: query, isWide: true, sort, offset: cursor }
}

type Filters = Omit<z.infer<typeof browseQuery>, 'limit' | 'query' | 'cursor' | 'sort'>

/** Writes a place in a ranked answer as a `cursor`. */
export function formatCursor({ group, endpointId }: RankedPlace): string {
  return `${group}-${endpointId}`
}

function readCursor(cursor: string): RankedPlace {
  const [group, endpointId] = cursor.split('-')
  return { group: Number(group), endpointId: Number(endpointId) }
}

/** Leaves out the members that are absent. */
function toFilter({ extensions: extension, ...rest }: Partial<Filters>): EndpointFilter {
  return Object.fromEntries(
    Object.entries({ ...rest, extension }).filter(([, value]) => value !== undefined),
  )
}
