import type { Endpoint, Merchant } from '../../store/listings.js'
import { livePriceOf, tellLivePrice } from '../../store/live-price.js'
import { isUnclaimed } from '../../store/unclaimed.js'
import { formatAtomic } from '../../x402/amounts.js'
import { isObject } from '../../x402/json-walk.js'

/** The agent a merchant is shown with: only while its owner controls the agent that is linked. */
export function publishedIdentity({ agentId, identity }: Merchant): { agentId: string } | null {
  const isControlled = identity?.checks.control.passed === true && identity.agentId === agentId
  return isControlled ? { agentId: identity.agentId } : null
}

/** Whether the public may read of it. */
export function isPublished({ hiddenReason, deletedAt }: Merchant): boolean {
  return hiddenReason === null && deletedAt === null
}

/** What of a merchant is shown unasked: of one that nobody claimed only what was seen live. */
export function shownEndpoints(merchant: Merchant, endpoints: readonly Endpoint[]): Endpoint[] {
  const isWaiting = ({ status }: Endpoint) => isUnclaimed(merchant) && status !== 'live'
  return endpoints.filter((endpoint) => !isWaiting(endpoint))
}

/** What its own 402 asked for, as numbers go in catalogs; both `null` where that is not known. */
export function livePrices(endpoint: Endpoint, merchant: Merchant) {
  const { livePrice, livePriceUsd } = tellLivePrice(endpoint, merchant)
  return { livePrice, livePriceUsd: livePriceUsd === null ? null : Number(livePriceUsd) }
}

/** What a call costs in words: what its own 402 asked for, and what is listed where that is another price. */
export function costOf(endpoint: Endpoint, merchant: Merchant): string {
  const { price, pricing } = endpoint
  const live = livePriceOf(endpoint, merchant) ?? price
  const cost = `${pricing === 'metered' ? 'at most ' : ''}${formatAtomic(live)} USD a call`
  return live === price
    ? cost
    : `${cost} by its own 402, though listed at ${formatAtomic(price)} USD`
}

/** Dollars as the nearest number to the exact decimal: 10000 is 0.01. */
export function priceUsd(price: bigint): number {
  return Number(formatAtomic(price))
}

/** Names of the parameters, as the schema has them, else as the example has. */
export function paramNames({ inputSchema, example }: Endpoint): string[] {
  const fromSchema = Object.keys(propertiesOf(inputSchema))
  if (fromSchema.length > 0) return fromSchema
  const values = 'queryParams' in example ? example.queryParams : example.body
  return isObject(values) ? Object.keys(values) : []
}

/** `properties` of an object schema; empty where there are none. */
export function propertiesOf(schema: Record<string, unknown> | null): Record<string, unknown> {
  return isObject(schema?.properties) ? schema.properties : {}
}
