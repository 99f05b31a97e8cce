import { z } from 'zod'
import {
  choiceParameter,
  flagParameter,
  integerParameter,
  limitParameter,
  nameParameter,
  type RawQuery,
  readQuery,
  textParameter,
} from '../http/query.js'
import { callMethods } from '../x402/calls.js'
import type { ChangesQuery } from './changes.js'
import type { CatalogFilter } from './filters.js'
import { wordsOf } from './fold.js'
import {
  type ListQuery,
  MAX_QUERY_CHARS,
  type RankedPlace,
  type RankedQuery,
  sorts,
} from './search.js'

const MAX_LIMIT = 100

const anyInteger = () => integerParameter({ min: 0, max: Number.MAX_SAFE_INTEGER })

const page = {
  limit: limitParameter(MAX_LIMIT)
    .prefault('20')
    .describe(`How many items a page has at most; above ${MAX_LIMIT} it counts as ${MAX_LIMIT}.`),
}

/** A namespace and a reference of CAIP-2. */
const CAIP_2 = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/

const standardFilter = {
  type: textParameter()
    .optional()
    .describe('`http` or `mcp`, both unless said; any other value finds nothing.'),
  payTo: nameParameter()
    .optional()
    .describe('Address that is paid. Endpoints that are not live are listed too.'),
  scheme: nameParameter().optional().describe('Scheme that is accepted, such as `exact`.'),
  network: nameParameter()
    .regex(CAIP_2, 'must be a CAIP-2 network, such as eip155:5042')
    .optional()
    .describe('Network of the payment, such as `eip155:5042`.'),
  asset: nameParameter().optional().describe('Address of a token that is taken.'),
  currency: nameParameter().optional().describe('Currency of the price (ISO 4217), such as `EUR`.'),
  extensions: nameParameter()
    .optional()
    .describe('Extension that the endpoint offers, such as `bazaar`.'),
}

const wideFilter = {
  ...standardFilter,
  method: choiceParameter(callMethods)
    .optional()
    .describe('Method of the endpoint; `MCP` for a tool of an MCP server.'),
  pricing: choiceParameter(['fixed', 'metered']).optional().describe('Pricing of the endpoint.'),
  maxPrice: anyInteger()
    .optional()
    .describe(
      'Highest price that the 402 may ask for on the listed network, in atomic units of `currency`, else of `asset`, else of dollars. Prices in other money are not found, because no rate is known.',
    ),
  verified: flagParameter()
    .optional()
    .describe('Whether the last probe saw the 402 as it is listed.'),
  official: flagParameter()
    .optional()
    .describe('Whether the operator of this service runs the endpoint.'),
  hasSchema: flagParameter().optional().describe('Whether the parameters have a schema.'),
  tag: nameParameter().optional().describe('A tag of the endpoint.'),
  merchant: nameParameter()
    .optional()
    .describe('Endpoints of this merchant only, those that are not live too.'),
}

const rankedCursor = nameParameter()
  .regex(/^([0-9]{1,3})-([0-9]{1,15})$/, 'must be one that a page before gave')
  .optional()
  .describe('`cursor` of the page before.')

const sort = choiceParameter(sorts)
  .optional()
  .describe(
    'Most calls first, most payers, lowest price (dollars before other money), newest, or paid last; calls are those of 30 days without the busiest payer. Without it, the order is that of creation.',
  )

/** Parameters of `/discovery/resources`. */
export const listQuery = z.object({
  ...page,
  offset: anyInteger().prefault('0').describe('How many items to skip.'),
  sort,
  q: textParameter(MAX_QUERY_CHARS)
    .default('')
    .describe('Every word must occur in the name or description of the merchant or the endpoint.'),
  merchant: nameParameter()
    .optional()
    .describe('Endpoints of this merchant only, those that are not live too.'),
  ...standardFilter,
})

const wanted = `required: words to look for, at most ${MAX_QUERY_CHARS} characters`

/** Parameters of `/discovery/search`. */
export const rankedQuery = z.object({
  query: textParameter(MAX_QUERY_CHARS, `is ${wanted}`)
    .refine((text) => wordsOf(text).length > 0, `is ${wanted}`)
    .describe('Words to look for.'),
  ...page,
  cursor: rankedCursor,
  ...wideFilter,
})

/** Parameters of `/api/endpoints`. The form of a cursor depends on whether there are words. */
export const browseQuery = z.object({
  query: textParameter(MAX_QUERY_CHARS)
    .default('')
    .describe(
      'Words to look for. With words the best come first, unless `sort` says otherwise; without, the order is that of creation.',
    ),
  ...page,
  cursor: z
    .unknown()
    .optional()
    .meta({ wire: { type: 'string' } })
    .describe('`next` of the page before.'),
  sort,
  ...wideFilter,
})

/** Parameters of `/discovery/changes`. */
export const changesQuery = z.object({
  since: anyInteger()
    .prefault('0')
    .describe('`next` of the answer before; 0 is the whole catalog.'),
  limit: limitParameter(MAX_LIMIT)
    .prefault('20')
    .describe(
      `How many merchants a page has at most; above ${MAX_LIMIT} it counts as ${MAX_LIMIT}.`,
    ),
  wait: integerParameter({ min: 0, max: 30 })
    .prefault('0')
    .describe('Seconds to wait for a change, if there is none yet.'),
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
  const { limit, query, cursor, ...filter } = readQuery(rankedQuery, raw)
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
  const { cursor } = readQuery(z.object({ cursor: anyInteger().prefault('0') }), raw)
  return { kind: 'list', limit, filter, q: query, isWide: true, sort, offset: cursor }
}

type Filters = Omit<z.infer<typeof browseQuery>, 'limit' | 'query' | 'cursor' | 'sort'>

/** Writes a place in a ranked answer as a `cursor`. */
export function formatCursor({ group, endpointId }: RankedPlace): string {
  return `${group}-${endpointId}`
}

/** Reads a cursor that `formatCursor` wrote. */
function readCursor(cursor: string): RankedPlace {
  const [group, endpointId] = cursor.split('-')
  return { group: Number(group), endpointId: Number(endpointId) }
}

/** Leaves out the members that are absent. */
function toFilter({ extensions: extension, ...rest }: Partial<Filters>): CatalogFilter {
  return Object.fromEntries(
    Object.entries({ ...rest, extension }).filter(([, value]) => value !== undefined),
  )
}
