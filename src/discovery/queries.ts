import {
  type ParameterReader,
  parameterFault,
  type RawQuery,
  readParameters,
} from '../http/query-parameters.js'
import type { ListQuery, RankedPlace, RankedQuery } from './catalog-search.js'
import type { CatalogFilter } from './conditions.js'
import { wordsOf } from './fold.js'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100
/** Longest text that is searched for. */
const MAX_QUERY_CHARS = 200

/** Only one type of resource exists; any other finds nothing. */
type Typed<Query> = Query & { isOtherType: boolean }

/** Reads the query of `/discovery/resources`; throws a 400 for what is out of bounds. */
export function parseListQuery(raw: RawQuery): Typed<ListQuery> {
  const read = readParameters(raw)
  return {
    ...readPage(read),
    filter: { ...defined({ merchant: read.name('merchant') }), ...readStandardFilter(read) },
    q: read.text('q', MAX_QUERY_CHARS) ?? '',
    offset: read.integer('offset', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0,
  }
}

/** Reads the query of `/discovery/search`; throws a 400 for what is out of bounds. */
export function parseRankedQuery(raw: RawQuery): Typed<RankedQuery> {
  const read = readParameters(raw)
  const query = read.text('query', MAX_QUERY_CHARS)
  if (query === undefined || wordsOf(query).length === 0) {
    throw parameterFault(
      `query is required: words to look for, at most ${MAX_QUERY_CHARS} characters.`,
    )
  }
  return { ...readPage(read), filter: readWideFilter(read), query, after: readCursor(read) }
}

/** What the console asks `/api/endpoints`: with words best first, without them in order of creation. */
export type BrowseQuery =
  | ({ kind: 'search' } & RankedQuery)
  | ({ kind: 'list'; q: '' } & Omit<ListQuery, 'q'>)

/** Reads the query of `/api/endpoints`; throws a 400 for what is out of bounds. */
export function parseBrowseQuery(raw: RawQuery): BrowseQuery {
  const read = readParameters(raw)
  const query = read.text('query', MAX_QUERY_CHARS) ?? ''
  const { limit } = readPage(read)
  const filter = { ...defined({ merchant: read.name('merchant') }), ...readWideFilter(read) }
  if (wordsOf(query).length > 0) {
    return { kind: 'search', limit, filter, query, after: readCursor(read) }
  }
  const offset = read.integer('cursor', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0
  return { kind: 'list', limit, filter, q: '', offset }
}

function readWideFilter(read: ParameterReader): CatalogFilter {
  return {
    ...readStandardFilter(read),
    ...defined({
      method: read.oneOf('method', ['GET', 'POST']),
      pricing: read.oneOf('pricing', ['fixed', 'metered']),
      maxPrice: read.integer('maxPrice', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      verified: read.flag('verified'),
      official: read.flag('official'),
      hasSchema: read.flag('hasSchema'),
      tag: read.name('tag'),
      merchant: read.name('merchant'),
    }),
  }
}

function readPage(read: ParameterReader): { limit: number; isOtherType: boolean } {
  return {
    limit: read.integer('limit', { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT,
    isOtherType: (read.text('type') ?? 'http') !== 'http',
  }
}

function readStandardFilter(read: ParameterReader): CatalogFilter {
  return defined({
    payTo: read.name('payTo'),
    scheme: read.name('scheme'),
    network: read.name('network'),
    extension: read.name('extensions'),
  })
}

/** How a place in a ranked answer is written in `cursor`. */
export function formatCursor(place: RankedPlace): string {
  return `${place.group}-${place.endpointId}`
}

function readCursor(read: ParameterReader): RankedPlace | undefined {
  const cursor = read.name('cursor')
  if (cursor === undefined) return undefined
  const match = /^([0-9])-([0-9]{1,15})$/.exec(cursor)
  if (match === null) throw parameterFault('cursor must be one that a page before gave.')
  return { group: Number(match[1]), endpointId: Number(match[2]) }
}

type Defined<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

/** Without the members that are absent. */
function defined<Members extends object>(members: Members): Defined<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Defined<Members>
}
