import { z } from 'zod'
import {
  choiceParameter,
  flagParameter,
  integerParameter,
  nameParameter,
  type RawQuery,
  readQuery,
  textParameter,
} from '../http/query.js'
import { type ListQuery, MAX_QUERY_CHARS, type RankedQuery } from './catalog-search.js'
import type { ChangesQuery } from './changes.js'
import type { CatalogFilter } from './conditions.js'
import { wordsOf } from './fold.js'
import { readCursor } from './ranked-cursor.js'

const MAX_LIMIT = 100

/** Only one type of resource exists; any other finds nothing. */
type Typed<Query> = Query & { isOtherType: boolean }

const anyInteger = () => integerParameter({ min: 0, max: Number.MAX_SAFE_INTEGER })

const type = textParameter()
  .default('http')
  .describe('Only `http` exists; any other value finds nothing.')

const page = {
  limit: integerParameter({ min: 1, max: MAX_LIMIT }).prefault('20').describe('Items of a page.'),
}

const standardFilter = {
  payTo: nameParameter().optional().describe('Who is paid.'),
  scheme: nameParameter().optional().describe('Scheme that is accepted, such as `exact`.'),
  network: nameParameter().optional().describe('Network that is paid on.'),
  extensions: nameParameter().optional().describe('Extension that is offered.'),
}

const wideFilter = {
  ...standardFilter,
  method: choiceParameter(['GET', 'POST']).optional().describe('How it is called.'),
  pricing: choiceParameter(['fixed', 'metered']).optional().describe('How it is priced.'),
  maxPrice: anyInteger().optional().describe('Highest price, 6-decimal units.'),
  verified: flagParameter().optional().describe('Whether it asked for payment when last seen.'),
  official: flagParameter().optional().describe('Whether the operator runs it.'),
  hasSchema: flagParameter().optional().describe('Whether its parameters have a schema.'),
  tag: nameParameter().optional().describe('A tag it has.'),
  merchant: nameParameter()
    .optional()
    .describe('Endpoints of this merchant only, failing ones too.'),
}

const rankedCursor = nameParameter()
  .regex(/^([0-9])-([0-9]{1,15})$/, 'must be one that a page before gave')
  .optional()
  .describe('Where the page before ended.')

/** Parameters of `/discovery/resources`. */
export const listQuery = z.object({
  type,
  ...page,
  offset: anyInteger().prefault('0').describe('Items to skip.'),
  q: textParameter(MAX_QUERY_CHARS)
    .default('')
    .describe('Every word must occur in names or descriptions of merchant or endpoint.'),
  merchant: nameParameter()
    .optional()
    .describe('Endpoints of this merchant only, failing ones too.'),
  ...standardFilter,
})

const wanted = `required: words to look for, at most ${MAX_QUERY_CHARS} characters`

/** Parameters of `/discovery/search`. */
export const rankedQuery = z.object({
  query: textParameter(MAX_QUERY_CHARS, `is ${wanted}`)
    .refine((text) => wordsOf(text).length > 0, `is ${wanted}`)
    .describe('Words to look for.'),
  type,
  ...page,
  cursor: rankedCursor,
  ...wideFilter,
})

/** Parameters of `/api/endpoints`. What a cursor looks like depends on whether words are looked for. */
export const browseQuery = z.object({
  query: textParameter(MAX_QUERY_CHARS)
    .default('')
    .describe('Words to look for, best first; without any, in order of creation.'),
  ...page,
  cursor: z
    .unknown()
    .optional()
    .meta({ wire: { type: 'string' } })
    .describe('`next` of the page before.'),
  ...wideFilter,
})

/** Parameters of `/discovery/changes`. */
export const changesQuery = z.object({
  since: anyInteger()
    .prefault('0')
    .describe('`next` of the answer before; 0 is the whole catalog.'),
  limit: integerParameter({ min: 1, max: MAX_LIMIT })
    .prefault('20')
    .describe('Merchants of a page.'),
})

/** Reads the query of `/discovery/resources`; throws a 400 for what is out of bounds. */
export function parseListQuery(raw: RawQuery): Typed<ListQuery> {
  const { type, limit, offset, q, merchant, ...standard } = readQuery(listQuery, raw)
  const filter = toFilter({ merchant, ...standard })
  return { limit, isOtherType: type !== 'http', filter, q, offset }
}

/** Reads the query of `/discovery/search`; throws a 400 for what is out of bounds. */
export function parseRankedQuery(raw: RawQuery): Typed<RankedQuery> {
  const { type, limit, query, cursor, ...filter } = readQuery(rankedQuery, raw)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  return { limit, isOtherType: type !== 'http', filter: toFilter(filter), query, after }
}

/** Reads the query of `/discovery/changes`; throws a 400 for what is out of bounds. */
export function parseChangesQuery(raw: RawQuery): ChangesQuery {
  return readQuery(changesQuery, raw)
}

/** What the console asks `/api/endpoints`: with words best first, without them in order of creation. */
export type BrowseQuery =
  | ({ kind: 'search' } & RankedQuery)
  | ({ kind: 'list'; q: '' } & Omit<ListQuery, 'q'>)

/** Reads the query of `/api/endpoints`; throws a 400 for what is out of bounds. */
export function parseBrowseQuery(raw: RawQuery): BrowseQuery {
  const { limit, query, cursor: _, ...filters } = readQuery(browseQuery, raw)
  const filter = toFilter(filters)
  if (wordsOf(query).length > 0) {
    const { cursor } = readQuery(z.object({ cursor: rankedCursor }), raw)
    const after = cursor === undefined ? undefined : readCursor(cursor)
    return { kind: 'search', limit, filter, query, after }
  }
  const { cursor } = readQuery(z.object({ cursor: anyInteger().prefault('0') }), raw)
  return { kind: 'list', limit, filter, q: '', offset: cursor }
}

type Filters = Omit<z.infer<typeof browseQuery>, 'limit' | 'query' | 'cursor'>

/** Without the members that are absent. */
function toFilter({ extensions: extension, ...rest }: Partial<Filters>): CatalogFilter {
  return Object.fromEntries(
    Object.entries({ ...rest, extension }).filter(([, value]) => value !== undefined),
  )
}
