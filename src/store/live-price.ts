import { formatAtomic } from '../x402/amounts.js'
import type { Endpoint, Merchant, QuotedRequirement } from './listings.js'

/** What is settled here, preferred first. A buyer's client may take any of them. */
export const settledSchemes: readonly unknown[] = ['exact', 'batch-settlement']

type Terms = Pick<Merchant, 'network' | 'asset'>

/**
 * The most that requirements ask for on the network and in the asset of a listing: which of several a buyer's client
 * takes is not known here, so a cheap one beside a dear one hides nothing. `undefined` where none is of them.
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
    const isSettled = settledSchemes.includes(scheme)
    const known = amounts.get(isSettled)
    if (known === undefined || BigInt(amount) > known) amounts.set(isSettled, BigInt(amount))
  }
  return amounts.get(true) ?? amounts.get(false)
}

/**
 * What a call of an endpoint cost when its own 402 was last seen, whatever is listed; `null` where that is not known.
 * What was never seen live stores what its listing says, which tells nothing.
 */
export function livePriceOf(
  { accepts, price, status }: Pick<Endpoint, 'accepts' | 'price' | 'status'>,
  merchant: Terms,
): bigint | null {
  const asked = dearestAsked(accepts, merchant)
  return asked === undefined || (status !== 'live' && asked === price) ? null : asked
}

/** The same as answers have it beside what is listed. */
export function tellLivePrice(
  endpoint: Parameters<typeof livePriceOf>[0],
  merchant: Terms,
): { livePrice: string | null; livePriceUsd: string | null } {
  const price = livePriceOf(endpoint, merchant)
  if (price === null) return { livePrice: null, livePriceUsd: null }
  return { livePrice: price.toString(), livePriceUsd: formatAtomic(price) }
}
