import { RequestFault } from '../http/errors.js'
import type { CatalogEntry, EndpointMethod, ListingReader } from '../store/listings.js'
import { summarize } from './summary.js'

type JsonObject = Record<string, unknown>
/** Parameters as a URL would have them. */
type Query = Readonly<Record<string, string>>

/** What a live 402 said, judged against the listing. */
export interface TermsVerdict {
  /** `live` when it is as listed, else what is wrong. */
  state: string
  message: string
  warnings: readonly string[]
  quoted?: { accepts: readonly object[]; resource: object; bazaar: object | null }
}

/** What the tools read, none of it their own. */
export interface ToolSources {
  /** Answers of `/discovery/resources` and `/discovery/search` as JSON; a fault of the parameters is thrown. */
  answers: Record<'resources' | 'search', (query: Query) => Promise<{ bytes: Uint8Array }>>
  listings: Pick<ListingReader, 'findByUrl'>
  /** A discovery item. */
  toItem(entry: CatalogEntry): object
  /** Calls a listed endpoint without payment; throws a 429 when `caller` or the host must wait. */
  liveTerms(
    caller: string,
    entry: CatalogEntry,
    example?: { queryParams: JsonObject } | { body: unknown },
  ): Promise<TermsVerdict>
}

export interface TermsRequest {
  url: string
  method?: EndpointMethod | undefined
  queryParams?: JsonObject | undefined
  body?: unknown
}

/** The work of the tools, without the protocol around it. Faults of the caller are thrown as `RequestFault`. */
export interface CatalogTools {
  search(query: Query): Promise<JsonObject>
  list(query: Query): Promise<JsonObject>
  describe(url: string, method?: EndpointMethod): Promise<JsonObject>
  terms(caller: string, request: TermsRequest): Promise<JsonObject>
}

export function createCatalogTools(sources: ToolSources): CatalogTools {
  const { answers, listings, toItem, liveTerms } = sources

  /** Listed endpoints of a URL; a caller may have left its own query on it. */
  async function find(url: string, method?: EndpointMethod): Promise<CatalogEntry[]> {
    const methods: EndpointMethod[] = method === undefined ? ['GET', 'POST'] : [method]
    const spellings = [...new Set([url, url.replace(/[?#].*$/s, '')])]
    for (const spelling of spellings) {
      const found = await Promise.all(methods.map((each) => listings.findByUrl(spelling, each)))
      if (found.flat().length > 0) return found.flat()
    }
    throw new RequestFault({
      statusCode: 404,
      code: 'not_found',
      message: `The catalog has no ${method ?? 'resource'} at this URL; take one that search_resources gave.`,
    })
  }

  return {
    async search(query) {
      const { resources, pagination, correctedQuery } = parseBody(await answers.search(query))
      return {
        ...(correctedQuery === undefined ? {} : { correctedQuery }),
        resources: resources.map(summarize),
        nextCursor: pagination.cursor,
      }
    },
    async list(query) {
      const { items, pagination } = parseBody(await answers.resources(query))
      return { resources: items.map(summarize), pagination }
    },
    async describe(url, method) {
      const entries = await find(url, method)
      return {
        resources: entries.map((entry) => ({ ...toItem(entry), health: healthOf(entry) })),
      }
    },
    async terms(caller, { url, method, queryParams, body }) {
      const entries = await find(url, method ?? methodOf(queryParams, body))
      const [entry] = entries as [CatalogEntry]
      const { endpoint, merchant } = entry
      const verdict = await liveTerms(caller, entry, exampleOf(endpoint.method, queryParams, body))
      const { state, message, warnings, quoted } = verdict
      return {
        url: endpoint.url,
        method: endpoint.method,
        isAsListed: state === 'live' && !warnings.some((it) => unlisted.includes(it)),
        verdict: state,
        message,
        warnings,
        accepts: quoted?.accepts ?? [],
        resource: quoted?.resource ?? null,
        bazaar: quoted?.bazaar ?? null,
        listed: {
          payTo: merchant.payTo,
          network: merchant.network,
          asset: merchant.asset,
          pricing: endpoint.pricing,
          amount: String(endpoint.price),
        },
      }
    },
  }
}

/** Warnings of a 402 that is live and still asks for something else than the listing says. */
const unlisted = ['price_drift', 'foreign_pay_to']

function healthOf({ endpoint: { status, probe } }: CatalogEntry): JsonObject {
  return { status, message: probe?.message ?? null, checkedAt: probe?.checkedAt ?? null }
}

function methodOf(queryParams: unknown, body: unknown): EndpointMethod | undefined {
  if (queryParams !== undefined && body !== undefined) {
    throw invalid('queryParams goes with method GET, body with POST; give one of them.')
  }
  if (body !== undefined) return 'POST'
  return queryParams === undefined ? undefined : 'GET'
}

/** JSON in UTF-8. */
function parseBody({ bytes }: { bytes: Uint8Array }) {
  return JSON.parse(Buffer.from(bytes).toString())
}

function exampleOf(method: EndpointMethod, queryParams: JsonObject | undefined, body: unknown) {
  if (queryParams === undefined && body === undefined) return undefined
  if (method === 'GET' && queryParams === undefined) throw invalid('body goes with method POST.')
  if (method === 'POST' && body === undefined) throw invalid('queryParams goes with method GET.')
  return method === 'GET' ? { queryParams: queryParams ?? {} } : { body }
}

function invalid(message: string): RequestFault {
  return new RequestFault({ statusCode: 400, code: 'invalid_request', message })
}
