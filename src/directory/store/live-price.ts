import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { currencyOf } from '@arcus/protocol/x402/currencies'
import { otherRailOf } from '@arcus/protocol/x402/rails'
import { type Address, getAddress } from 'viem'
import type { Endpoint, Merchant, QuotedRequirement } from './listings.js'

/** The schemes that Arcus settles, preferred first. A buyer's client may take any of them. */
export const settledSchemes: readonly unknown[] = ['exact', 'upto', 'batch-settlement']

type Terms = Pick<Merchant, 'network'> & Pick<Endpoint, 'asset'>

/**
 * Returns the highest amount that the requirements ask for on the network and in the asset of a listing: a buyer's client
 * may take any of them, so a cheap one must not hide a dear one. `undefined` where no requirement fits.
 */
export function dearestAsked(
  accepts: readonly QuotedRequirement[],
  { network, asset }: Terms,
): bigint | undefined {
  const amounts = new Map<boolean, bigint>()
  for (const { scheme, amount, ...terms } of accepts) {
    if (terms.network !== network || typeof amount !== 'string') continue
    if (String(terms.asset).toLowerCase() !== asset.toLowerCase()) continue
    if (!/^[0-9]{1,78}$/.test(amount)) continue
    const isPlain = otherRailOf(terms.asset, terms.extra) === undefined
    const isSettled = isPlain && settledSchemes.includes(scheme)
    const known = amounts.get(isSettled)
    if (known === undefined || BigInt(amount) > known) amounts.set(isSettled, BigInt(amount))
  }
  return amounts.get(true) ?? amounts.get(false)
}

type Priced = Pick<Endpoint, 'accepts' | 'price' | 'asset' | 'symbol' | 'status'>

/**
 * Returns the price of a call as the endpoint's own 402 last quoted it, whatever is listed; `null` where it is not known.
 * An endpoint that was never live stores the price of its listing, which proves nothing.
 */
export function livePriceOf(
  { accepts, price, asset, status }: Omit<Priced, 'symbol'>,
  { network }: Pick<Merchant, 'network'>,
): bigint | null {
  const asked = dearestAsked(accepts, { network, asset })
  return asked === undefined || (status !== 'live' && asked === price) ? null : asked
}

/** Returns the live price as answers show it next to the listed one. */
export function tellLivePrice(
  endpoint: Priced,
  merchant: Pick<Merchant, 'network'>,
): { livePrice: string | null; livePriceUsd: string | null } {
  const price = livePriceOf(endpoint, merchant)
  if (price === null) return { livePrice: null, livePriceUsd: null }
  return { livePrice: price.toString(), livePriceUsd: dollarsOf(price, endpoint.symbol) ?? null }
}

/** Returns a listed price as answers show it: with its token and currency, and in dollars only where it is in dollars. */
export function tellPrice({ price, asset, symbol }: Pick<Endpoint, 'price' | 'asset' | 'symbol'>): {
  price: string
  asset: Address
  symbol: string
  currency: string | null
  priceUsd?: string
} {
  const priceUsd = dollarsOf(price, symbol)
  const named = { price: price.toString(), asset: getAddress(asset), symbol }
  return { ...named, currency: currencyOf(symbol), ...(priceUsd && { priceUsd }) }
}

function dollarsOf(amount: bigint, symbol: string): string | undefined {
  return currencyOf(symbol) === 'USD' ? formatAtomic(amount) : undefined
}
