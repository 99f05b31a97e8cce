import { RequestFault } from '../http/errors.js'
import type { CatalogEntry, EndpointMethod, ListingReader } from '../store/listings.js'
import { formatAtomic } from '../x402/amounts.js'
import { circleTokens, currencyOf, findToken, moneyOf } from '../x402/currencies.js'
import { isNetwork, type Network } from '../x402/networks.js'

type JsonObject = Record<string, unknown>
/** The parameters of a URL. */
type Query = Readonly<Record<string, string>>

/** A live 402, compared with the listing. */
interface LiveTerms {
  /** `live` when it is as listed, else the fault. */
  state: string
  message: string
  warnings: readonly string[]
  quoted?: { accepts: readonly object[]; resource: object; bazaar: object | null }
}

/** The sources that the tools read. */
interface ToolSources {
  /** Gives the answers of `/discovery/resources` and `/discovery/search` as JSON; throws for wrong parameters. */
  answers: Record<'resources' | 'search', (query: Query) => Promise<{ bytes: Uint8Array }>>
  listings: Pick<ListingReader, 'findByUrl'>
  /** Makes a discovery item. */
  toItem(entry: CatalogEntry): object
  /** Calls a listed endpoint without payment; throws a 429 when `caller` or the host must wait. */
  liveTerms(
    caller: string,
    entry: CatalogEntry,
    example?: { queryParams: JsonObject } | { body: unknown },
  ): Promise<LiveTerms>
}

interface TermsRequest {
  url: string
  method?: EndpointMethod | undefined
  queryParams?: JsonObject | undefined
  body?: unknown
}

/** The tools without the protocol around them. Faults of the caller are thrown as `RequestFault`. */
export interface CatalogTools {
  search(query: Query): Promise<JsonObject>
  list(query: Query): Promise<JsonObject>
  describe(url: string, method?: EndpointMethod): Promise<JsonObject>
  terms(caller: string, request: TermsRequest): Promise<JsonObject>
}

export function createCatalogTools(sources: ToolSources): CatalogTools {
  const { answers, listings, toItem, liveTerms } = sources

  /** Finds the listed endpoints of a URL, also without its query, which the caller may have added. */
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
      const example = exampleOf(endpoint.method, queryParams, body)
      const { state, message, warnings, quoted } = await liveTerms(caller, entry, example)
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
          asset: endpoint.asset,
          pricing: endpoint.pricing,
          amount: String(endpoint.price),
          price: moneyText(endpoint.price, endpoint.symbol),
        },
      }
    },
  }
}

/** Warnings that a live 402 asks for something else than the listing says. */
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

/** Parses an answer, which is JSON in UTF-8. */
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

const MAX_DESCRIPTION_CHARS = 300

/** The members of a discovery item by which an agent chooses. */
interface Item {
  resource: string
  accepts: readonly { scheme?: unknown; network?: unknown; asset?: unknown; amount?: unknown }[]
  tags?: readonly string[]
  metadata: {
    title: string
    description: string
    merchant: { id: string; name: string; official: boolean }
    pricing: string
    asset: string
    symbol: string
    hostedByArcus: boolean
    input: { method: string }
    usage?: object
  }
}

/** Shortens a discovery item: a list of whole items, with their schemas, would fill a model's context. */
function summarize({ resource, accepts, tags, metadata }: Item): Record<string, unknown> {
  const { title, description, merchant, pricing, hostedByArcus, input, usage } = metadata
  const { id, name, official } = merchant
  return {
    resource,
    method: input.method,
    title,
    description: description.slice(0, MAX_DESCRIPTION_CHARS),
    merchant: { id, name, official },
    pricing,
    hostedByArcus,
    accepts: accepts.map(({ scheme, network, asset, amount }) => ({
      scheme,
      network,
      asset,
      amount,
      ...priceOf({ network, asset, amount }, metadata),
    })),
    ...(tags === undefined ? {} : { tags }),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** Returns the price with its currency, and in dollars only where it is in dollars; neither for a token that is not known. */
function priceOf(
  { network, asset, amount }: Item['accepts'][number],
  listed: Item['metadata'],
): { price?: string; usd?: string } {
  if (typeof amount !== 'string' || !/^\d{1,78}$/.test(amount)) return {}
  const known = isNetwork(String(network)) ? circleTokens[network as Network] : []
  const own = { address: listed.asset.toLowerCase(), symbol: listed.symbol }
  const token = findToken([own, ...known], String(asset))
  if (token === undefined) return {}
  const isDollars = currencyOf(token.symbol) === 'USD'
  const price = moneyText(BigInt(amount), token.symbol)
  return { price, ...(isDollars && { usd: formatAtomic(BigInt(amount)) }) }
}

function moneyText(amount: bigint, symbol: string): string {
  return `${formatAtomic(amount)} ${moneyOf(symbol)}`
}
