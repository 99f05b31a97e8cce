import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { parametersIn } from '@arcus/protocol/x402/calls'
import { moneyOf } from '@arcus/protocol/x402/currencies'
import { isObject } from '@arcus/protocol/x402/json'
import type { Endpoint, Merchant } from '../store/listings.js'
import { livePriceOf, tellLivePrice, tellPrice } from '../store/live-price.js'
import { isUnclaimed } from '../store/ownership.js'

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
 * Returns the listed price and the one that the endpoint's 402 asked for, `null` where it is unknown. Dollars are the
 * nearest number to the exact decimal: 10000 is 0.01.
 */
export function catalogPrices(endpoint: Endpoint, merchant: Merchant) {
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
