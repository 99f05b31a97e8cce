import type { CatalogEndpoint, CatalogMerchant } from '@arcus/protocol/answers/merchants'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { parametersIn } from '@arcus/protocol/x402/calls'
import { moneyOf } from '@arcus/protocol/x402/currencies'
import { isObject } from '@arcus/protocol/x402/json'
import { getAddress } from 'viem'
import { standingOf } from './listing-warnings.js'
import type { Endpoint, JsonText, Merchant } from './listings.js'
import { livePriceOf, tellLivePrice, tellPrice } from './live-price.js'
import { isUnclaimed } from './ownership.js'

/** Returns the agent that a merchant is shown with: only while its owner controls the linked agent. */
export function publishedIdentity({ agentId, identity }: Merchant): { agentId: string } | null {
  const isControlled = identity?.checks.control.passed === true && identity.agentId === agentId
  return isControlled ? { agentId: identity.agentId } : null
}

/** Returns whether the public may see a merchant. */
export function isPublished({ hiddenReason, deletedAt }: Merchant): boolean {
  return hiddenReason === null && deletedAt === null
}

/** Returns the endpoints that the catalog shows: of an unclaimed merchant only live ones. */
export function shownEndpoints(merchant: Merchant, endpoints: readonly Endpoint[]): Endpoint[] {
  const isWaiting = ({ status }: Endpoint) => isUnclaimed(merchant) && status !== 'live'
  return endpoints.filter((endpoint) => !isWaiting(endpoint))
}

/**
 * The version of what `merchantJson` makes, which is stored. Raise it with each change of the output, so that the service
 * makes all of it again; `test/unit/store/published.test.ts` fails otherwise.
 */
export const PUBLISHED_SHAPE = 1

/**
 * Returns a merchant as the list of all merchants shows it, as JSON without `usage`: the members of the specification
 * first, then ours. `null` for one that the public may not see, and for an unclaimed one without a live endpoint.
 */
export function merchantJson(merchant: Merchant, endpoints: readonly Endpoint[]): JsonText | null {
  const shown = shownEndpoints(merchant, endpoints)
  if (!isPublished(merchant) || (shown.length === 0 && isUnclaimed(merchant))) return null
  const { id, name, network, description, isOfficial, isPartner } = merchant
  const published: Omit<CatalogMerchant, 'usage'> = {
    id,
    name,
    network,
    asset: getAddress(merchant.asset),
    endpoints: shown.map((endpoint) => toCatalogEndpoint(endpoint, merchant)),
    description,
    payTo: getAddress(merchant.payTo),
    official: isOfficial,
    partner: isPartner,
    ...standingOf(merchant),
    identity: publishedIdentity(merchant),
  }
  return JSON.stringify(published)
}

/** Adds the figures of payments to what `merchantJson` returned. */
export function withUsage(json: JsonText, usage: JsonText | null): JsonText {
  return `${json.slice(0, -1)},"usage":${usage}}`
}

function toCatalogEndpoint(endpoint: Endpoint, merchant: Merchant): CatalogEndpoint {
  const { method, url, toolName, title, pricing } = endpoint
  return {
    method,
    url,
    ...(toolName === undefined ? {} : { toolName }),
    title,
    pricing,
    ...catalogPrices(endpoint, merchant),
    params: paramNames(endpoint),
    description: endpoint.description,
    tags: endpoint.tags,
    status: endpoint.status,
    hostedByArcus: endpoint.isHosted,
    delivery: endpoint.delivery,
  }
}

/**
 * Returns the listed price and the one that the endpoint's 402 asked for, `null` where it is unknown. Dollars are the
 * nearest number to the exact decimal: 10000 is 0.01.
 */
function catalogPrices(endpoint: Endpoint, merchant: Merchant) {
  const { priceUsd, ...listed } = tellPrice(endpoint)
  const { livePrice, livePriceUsd } = tellLivePrice(endpoint, merchant)
  return {
    ...listed,
    ...(priceUsd && { priceUsd: Number(priceUsd) }),
    livePrice,
    livePriceUsd: livePriceUsd === null ? null : Number(livePriceUsd),
  }
}

/** Describes the cost of a call: the price of its 402, and the listed price where that differs. */
export function costOf(endpoint: Endpoint, merchant: Merchant): string {
  const { price, pricing } = endpoint
  const live = livePriceOf(endpoint, merchant) ?? price
  const money = moneyOf(endpoint.symbol)
  const cost = `${pricing === 'metered' ? 'at most ' : ''}${formatAtomic(live)} ${money} a call`
  return live === price
    ? cost
    : `${cost} by its own 402, though listed at ${formatAtomic(price)} ${money}`
}

/** Returns the names of the parameters from the schema, or else from the example. */
export function paramNames({ method, inputSchema, example }: Endpoint): string[] {
  const fromSchema = Object.keys(propertiesOf(inputSchema))
  if (fromSchema.length > 0) return fromSchema
  const values = example[parametersIn(method)]
  return isObject(values) ? Object.keys(values) : []
}

/** Returns `properties` of an object schema; empty where there are none. */
export function propertiesOf(schema: Record<string, unknown> | null): Record<string, unknown> {
  return isObject(schema?.properties) ? schema.properties : {}
}
