import type { Address } from 'viem'
import type { Endpoint, EndpointMethod, ListingReader } from '../../store/listings.js'
import { isHiddenStranger, speaksForPayTo, unclaimedId } from '../../store/ownership.js'

/** Entries that nobody confirmed cost nothing to make, so each address and each URL gets a few. */
export const unclaimedLimits = {
  /** Of one payTo, live or about to be looked at. */
  perPayTo: 50,
  /** Of one payTo, those that were looked at in vain as well; of them the oldest gives way. */
  perPayToInAll: 200,
  /** The same of one URL and method, for different payTos. */
  perUrl: 5,
  perUrlInAll: 20,
}

/** What stands already where a paid resource would. */
export type Place =
  /** Nothing; `evicted` gives way to what comes. */
  | { state: 'free'; evicted: number | undefined }
  /** The entry of this very URL, method and payTo. */
  | { state: 'found'; endpoint: Endpoint }
  /** An owner lists it, paid at the same address. */
  | { state: 'listed'; endpoint: Endpoint }
  /** `rival` is whose word stands against it. */
  | { state: 'taken'; rejectedReason: string; rival?: Endpoint }

type Reader = Pick<ListingReader, 'findByUrl' | 'merchantsPaidTo' | 'endpointsOf' | 'findMerchant'>

export interface Wanted {
  url: string
  method: EndpointMethod
  network: string
  /** Lower case. */
  payTo: Address
}

/** Whether what was found in a payment may stand in the catalog, beside what stands there already. */
export async function findPlace(
  store: Reader,
  { url, method, network, payTo }: Wanted,
): Promise<Place> {
  const id = unclaimedId(payTo)
  const paid = await store.merchantsPaidTo(payTo)
  if (paid.some((merchant) => merchant.hiddenReason !== null && speaksForPayTo(merchant))) {
    return taken('the operator hides the listings of this payTo')
  }
  const sameUrl = (await store.findByUrl(url, method)).filter(
    ({ merchant }) => !isHiddenStranger(merchant),
  )
  const owned = sameUrl.filter(({ merchant }) => merchant.owner !== null)
  const listed = owned.find(({ merchant }) => merchant.payTo === payTo)
  if (listed !== undefined) return { state: 'listed', endpoint: listed.endpoint }
  const kept = await store.findMerchant(id)
  if (kept?.owner != null) {
    const does = kept.deletedAt === null ? 'lists its endpoints itself' : 'took its listing away'
    return taken(`the owner of this payTo ${does}`)
  }
  if (kept !== undefined && kept.network !== network) {
    return taken(`this payTo is listed on ${kept.network}`)
  }
  const liveListing = owned.find(({ endpoint }) => endpoint.status === 'live')
  if (liveListing !== undefined) {
    return taken('its owner lists this URL with another payTo', liveListing.endpoint)
  }
  const found = sameUrl.find(({ merchant }) => merchant.id === id)
  if (found !== undefined) return { state: 'found', endpoint: found.endpoint }
  const rival = sameUrl.find(({ endpoint }) => endpoint.status === 'live')?.endpoint
  if (rival !== undefined) return taken('the endpoint itself names another payTo', rival)
  const { perPayTo, perPayToInAll, perUrl, perUrlInAll } = unclaimedLimits
  const others = sameUrl
    .filter(({ merchant }) => merchant.owner === null)
    .map(({ endpoint }) => endpoint)
  if (count(others, isHopeful) >= perUrl) return taken('too many payTos are seen at this URL')
  const own = await store.endpointsOf(id)
  if (count(own, isHopeful) >= perPayTo) return taken('too many URLs are seen with this payTo')
  const crowd = others.length >= perUrlInAll ? others : own.length >= perPayToInAll ? own : []
  return { state: 'free', evicted: oldestInVain(crowd)?.id }
}

/** Live, or about to be looked at for the first time. */
function isHopeful({ status, probe }: Endpoint): boolean {
  return status === 'live' || probe === null
}

function oldestInVain(endpoints: readonly Endpoint[]): Endpoint | undefined {
  const inVain = endpoints.filter((endpoint) => !isHopeful(endpoint))
  return inVain.sort((a, b) => a.createdAt - b.createdAt || a.id - b.id)[0]
}

function count(endpoints: readonly Endpoint[], is: (endpoint: Endpoint) => boolean): number {
  return endpoints.filter(is).length
}

function taken(reason: string, rival?: Endpoint): Place {
  return {
    state: 'taken',
    rejectedReason: `${reason}.`,
    ...(rival === undefined ? {} : { rival }),
  }
}
