import type { Endpoint, ListingReader } from '../../store/listings.js'
import type { Draft } from './draft.js'

/** Entries that nobody confirmed cost nothing to make, so each address and each URL gets a few. */
export const unclaimedLimits = {
  /** Of one payTo, live or not yet looked at. */
  perPayTo: 50,
  /** Of one payTo, those that failed as well. */
  perPayToInAll: 200,
  /** Of one URL and method, for different payTos. */
  perUrl: 5,
  perUrlInAll: 20,
}

export type Place =
  /** `current` is what stands there already. */
  { isFree: true; current: Endpoint | undefined } | { isFree: false; rejectedReason: string }

type Reader = Pick<ListingReader, 'findByUrl' | 'merchantsPaidTo' | 'endpointsOf' | 'findMerchant'>

/** Whether what was found in a payment may stand in the catalog, beside what stands there already. */
export async function findPlace(
  store: Reader,
  { merchant, endpoint }: Pick<Draft, 'merchant' | 'endpoint'>,
): Promise<Place> {
  const paid = await store.merchantsPaidTo(merchant.payTo)
  if (paid.some(({ hiddenReason }) => hiddenReason !== null)) {
    return taken('the operator hides the listings of this payTo')
  }
  const kept = await store.findMerchant(merchant.id)
  if (kept?.owner != null) return taken('the owner of this payTo lists its endpoints itself')
  if (kept !== undefined && kept.network !== merchant.network) {
    return taken(`this payTo is listed on ${kept.network}`)
  }
  const sameUrl = await store.findByUrl(endpoint.url, endpoint.method)
  if (sameUrl.some((entry) => entry.merchant.owner !== null)) {
    return taken('its owner lists this URL')
  }
  const current = sameUrl.find((entry) => entry.merchant.id === merchant.id)?.endpoint
  if (current !== undefined) return { isFree: true, current }
  if (sameUrl.some((entry) => entry.endpoint.status === 'live')) {
    return taken('the endpoint itself names another payTo')
  }
  const { perPayTo, perPayToInAll, perUrl, perUrlInAll } = unclaimedLimits
  const others = sameUrl.map((entry) => entry.endpoint)
  if (isFull(others, perUrl, perUrlInAll)) return taken('too many payTos are seen at this URL')
  const own = await store.endpointsOf(merchant.id)
  if (isFull(own, perPayTo, perPayToInAll)) return taken('too many URLs are seen with this payTo')
  return { isFree: true, current: undefined }
}

function isFull(endpoints: readonly Endpoint[], max: number, maxInAll: number): boolean {
  const hopeful = endpoints.filter(({ status }) => status !== 'failing').length
  return hopeful >= max || endpoints.length >= maxInAll
}

function taken(reason: string): Place {
  return { isFree: false, rejectedReason: `${reason}.` }
}
