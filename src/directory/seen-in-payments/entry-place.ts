import type { CallTarget } from '@arcus/protocol/x402/calls'
import type { Address } from 'viem'
import type {
  EndpointHealth,
  ListingReader,
  QuotedRequirement,
  StoredEndpoint,
} from '../store/listings.js'
import { speaksForPayTo, unclaimedId } from '../store/ownership.js'
import type { OfferedResource } from './offer.js'

/** Unconfirmed entries cost nothing to make, so each address and each URL gets a few. */
export const unclaimedLimits = {
  /** Entries of one payTo that are live or wait for their first probe. */
  perPayTo: 50,
  /** Entries of one payTo with those whose probe failed; the oldest of these gives way. */
  perPayToInAll: 200,
  /** The same of one URL and method, or tool, for different payTos. */
  perUrl: 5,
  perUrlInAll: 20,
}

/** The place in the catalog for a paid resource. */
export type EntryPlace =
  /** Nothing stands there; `evicted` gives way. */
  | { state: 'free'; evicted: number | undefined }
  /** The entry of this very URL, method or tool, and payTo. */
  | { state: 'found'; endpoint: StoredEndpoint }
  /** An owner lists it, paid at the same address. */
  | { state: 'listed'; endpoint: StoredEndpoint }
  /** `rival` is the entry that stands against it. */
  | { state: 'taken'; rejectedReason: string; rival: StoredEndpoint | undefined }

type Reader = Pick<ListingReader, 'findByUrl' | 'merchantsPaidTo' | 'endpointsOf' | 'findMerchant'>

interface WantedPlace extends CallTarget {
  network: string
  /** Lower case. */
  payTo: Address
}

/** Finds the place of a resource from a payment among the entries that stand already. */
export async function findPlace(
  store: Reader,
  { network, payTo, ...target }: WantedPlace,
): Promise<EntryPlace> {
  const id = unclaimedId(payTo)
  const paid = await store.merchantsPaidTo(payTo)
  if (paid.some((merchant) => merchant.hiddenReason !== null && speaksForPayTo(merchant))) {
    return taken('the operator hides the listings of this payTo')
  }
  // A stranger who lists somebody else's address keeps nobody's place.
  const sameUrl = (await store.findByUrl(target)).filter(({ merchant }) => speaksForPayTo(merchant))
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
  if (count(others, isPromising) >= perUrl) return taken('too many payTos are seen at this URL')
  const own = await store.endpointsOf(id)
  if (count(own, isPromising) >= perPayTo) return taken('too many URLs are seen with this payTo')
  const crowd = others.length >= perUrlInAll ? others : own.length >= perPayToInAll ? own : []
  return { state: 'free', evicted: oldestFailed(crowd)?.id }
}

/** Returns whether an entry is live or waits for its first probe. */
function isPromising({ status, probe }: StoredEndpoint): boolean {
  return status === 'live' || probe === null
}

function oldestFailed(endpoints: readonly StoredEndpoint[]): StoredEndpoint | undefined {
  const failed = endpoints.filter((endpoint) => !isPromising(endpoint))
  return failed.sort((a, b) => a.createdAt - b.createdAt || a.id - b.id)[0]
}

function count(
  endpoints: readonly StoredEndpoint[],
  is: (endpoint: StoredEndpoint) => boolean,
): number {
  return endpoints.filter(is).length
}

function taken(reason: string, rival?: StoredEndpoint): EntryPlace {
  return { state: 'taken', rejectedReason: `${reason}.`, rival }
}

/** A payment repeats no probe that is younger than this. */
export const FRESH_PROBE_SECONDS = 600

/**
 * Returns the health of an entry without a probe: its first probe is due at once, or it is never called because of its
 * address or its method, with the reason.
 */
export function healthOfSeen(
  accepts: QuotedRequirement[],
  uncalled: OfferedResource['uncalled'],
  nowSeconds: number,
): Omit<EndpointHealth, 'extras'> {
  const waiting = { accepts, status: 'unverified', probe: null, failures: 0 } as const
  if (uncalled === undefined) return { ...waiting, nextProbeAt: nowSeconds }
  const probe = { ...uncalled, warnings: [], seen: {}, checkedAt: nowSeconds }
  return { ...waiting, probe, nextProbeAt: null }
}

/** Returns whether the last probe is so old that a payment may cause another. */
export function isStale({ probe }: Pick<StoredEndpoint, 'probe'>, nowSeconds: number): boolean {
  return probe === null || nowSeconds - probe.checkedAt >= FRESH_PROBE_SECONDS
}
