import type { DiscoveryItem } from '@arcus/protocol/answers/discovery'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { type CallExample, type CallMethod, parametersIn } from '@arcus/protocol/x402/calls'
import { circleTokens, currencyOf, findToken, moneyOf } from '@arcus/protocol/x402/currencies'
import { defined } from '@arcus/protocol/x402/json'
import { isNetwork, type NetworkId } from '@arcus/protocol/x402/networks'
import { otherRailOf, paidThrough } from '@arcus/protocol/x402/rails'
import { httpFault } from '../../http/errors.js'
import { parameterFault } from '../../http/query.js'
import type { CatalogEntry, ListingReader, StoredEndpoint } from '../store/listings.js'

type ToolObject = Record<string, unknown>
type ToolQuery = Readonly<Record<string, string>>

/** A live 402, compared with the listing. */
interface ComparedTerms {
  /** `live` when it is as listed, else the fault. */
  state: string
  message: string
  warnings: readonly string[]
  quoted?: { accepts: readonly object[]; resource: object; bazaar: object | null }
}

interface ToolSources {
  /** Gives the answers of `/discovery/resources` and `/discovery/search` as JSON to a caller; throws for wrong parameters. */
  answers: Record<
    'resources' | 'search',
    (query: ToolQuery, ip: string) => Promise<{ bytes: Uint8Array }>
  >
  listings: Pick<ListingReader, 'findAtUrl'>
  toItem(entry: CatalogEntry): object
  /** Calls a listed endpoint without payment; throws a 429 when `caller` or the host must wait. */
  liveTerms(caller: string, entry: CatalogEntry, example?: CallExample): Promise<ComparedTerms>
}

/** The thing that is asked about. Without method and name of a tool it is everything at the URL. */
interface WantedEndpoint {
  url: string
  method?: CallMethod | undefined
  toolName?: string | undefined
}

interface TermsRequest extends WantedEndpoint {
  queryParams?: ToolObject | undefined
  body?: unknown
  arguments?: ToolObject | undefined
}

export type CatalogTools = ReturnType<typeof createCatalogTools>

/** Creates the tools without the protocol around them. Faults of the caller are thrown as `RequestFault`. */
export function createCatalogTools(sources: ToolSources) {
  const { answers, listings, toItem, liveTerms } = sources

  /** Finds the listed endpoints of a URL, also without its query, which the caller may have added. */
  async function find({ url, method, toolName }: WantedEndpoint): Promise<CatalogEntry[]> {
    const spellings = [...new Set([url, url.replace(/[?#].*$/s, '')])]
    for (const spelling of spellings) {
      const found = await listings.findAtUrl({ url: spelling, method, toolName }, MAX_FOUND)
      const shown = found.filter(({ merchant }) => merchant.hiddenReason === null)
      if (shown.length > 0) return shown
    }
    const what = toolName === undefined ? (method ?? 'resource') : `tool ${toolName}`
    const text = `The catalog has no ${what} at this URL; take one that search_resources gave.`
    throw httpFault('not_found', text)
  }

  return {
    async search(query: ToolQuery, ip: string): Promise<ToolObject> {
      const { resources, pagination } = parseBody(await answers.search(query, ip))
      return {
        resources: resources.map(summarize),
        nextCursor: pagination.cursor,
      }
    },
    async list(query: ToolQuery, ip: string): Promise<ToolObject> {
      const { items, pagination } = parseBody(await answers.resources(query, ip))
      return { resources: items.map(summarize), pagination }
    },
    async describe(wanted: WantedEndpoint): Promise<ToolObject> {
      const entries = await find(wanted)
      return {
        resources: entries.map((entry) => ({ ...toItem(entry), health: healthOf(entry) })),
      }
    },
    async terms(caller: string, request: TermsRequest): Promise<ToolObject> {
      const entries = await find({ ...request, method: request.method ?? methodOf(request) })
      const [entry] = entries as [CatalogEntry]
      const { endpoint, merchant } = entry
      const example = exampleOf(endpoint, request)
      const { state, message, warnings, quoted } = await liveTerms(caller, entry, example)
      return {
        url: endpoint.url,
        method: endpoint.method,
        ...(endpoint.toolName === undefined ? {} : { toolName: endpoint.toolName }),
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

/** Warnings about a live 402 that differs from the listing. */
const unlisted = ['price_drift', 'foreign_pay_to']

function healthOf({ endpoint: { status, probe } }: CatalogEntry): ToolObject {
  return { status, message: probe?.message ?? null, checkedAt: probe?.checkedAt ?? null }
}

/** Returns the method that the given values belong to, if there is only one. */
function methodOf({ toolName, queryParams, body, arguments: args }: TermsRequest) {
  if (toolName !== undefined || args !== undefined) return 'MCP'
  if (body !== undefined) return 'POST'
  return queryParams === undefined ? undefined : 'GET'
}

/** Parses an answer, which is JSON in UTF-8. */
function parseBody({ bytes }: { bytes: Uint8Array }) {
  return JSON.parse(Buffer.from(bytes).toString())
}

/** Returns the example of the listing with the given values in it; `undefined` when none are given. */
function exampleOf(
  { method, example }: StoredEndpoint,
  { queryParams, body, arguments: args }: TermsRequest,
): CallExample | undefined {
  const main = parametersIn(method)
  if (body !== undefined && main !== 'body')
    throw parameterFault('body goes with POST, PUT and PATCH.')
  if (args !== undefined && main !== 'arguments') throw parameterFault('arguments go with a tool.')
  if (queryParams !== undefined && main === 'arguments') {
    throw parameterFault('queryParams go with an endpoint of HTTP, arguments with a tool.')
  }
  if (queryParams === undefined && body === undefined && args === undefined) return undefined
  return { ...example, ...defined({ queryParams, body, arguments: args }) }
}

const MAX_DESCRIPTION_CHARS = 300
/** Resources at one URL that are described: an MCP server may have many tools. */
const MAX_FOUND = 20

/** Shortens a discovery item: a list of whole items, with their schemas, would fill a model's context. */
function summarize({ resource, accepts, tags, metadata }: DiscoveryItem): Record<string, unknown> {
  const { title, description, merchant, pricing, hostedByArcus, input } = metadata
  const { usage, delivery } = metadata
  const { id, name, official, claimed, payToProof, warnings } = merchant
  return {
    resource,
    type: input.type,
    ...(input.toolName === undefined ? { method: input.method } : { toolName: input.toolName }),
    title,
    description: description.slice(0, MAX_DESCRIPTION_CHARS),
    provider: metadata.provider,
    merchant: { id, name, official, claimed, payToProof, warnings },
    pricing,
    hostedByArcus,
    accepts: accepts.map(({ scheme, network, asset, amount, extra }) => ({
      scheme,
      network,
      asset,
      amount,
      ...priceOf({ network, asset, amount }, metadata),
      ...railOf(asset, extra),
    })),
    ...defined({ tags, usage, delivery }),
  }
}

/** Says of an offer that it belongs to another rail; nothing where it is plain. */
function railOf(asset: unknown, extra: unknown): { note?: string } {
  const rail = otherRailOf(asset, extra)
  return rail === undefined ? {} : { note: paidThrough(rail) }
}

/** Returns the price with its currency, and in dollars only where it is in dollars; neither for a token that is not known. */
function priceOf(
  { network, asset, amount }: Readonly<Record<'network' | 'asset' | 'amount', unknown>>,
  listed: DiscoveryItem['metadata'],
): { price?: string; usd?: string } {
  if (typeof amount !== 'string' || !/^\d{1,78}$/.test(amount)) return {}
  const known = isNetwork(String(network)) ? circleTokens[network as NetworkId] : []
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
