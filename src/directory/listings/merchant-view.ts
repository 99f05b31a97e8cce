import type {
  EndpointState,
  MerchantEndpoint,
  MerchantView,
} from '@arcus/protocol/answers/listings'
import { defined } from '@arcus/protocol/x402/json'
import { type Address, getAddress } from 'viem'
import { WriteFault } from '../refusals.js'
import type { ListingReader, Merchant, StoredEndpoint, WrittenEndpoint } from '../store/listings.js'
import { isUnclaimed, payToProofOf, speaksForPayTo } from '../store/ownership.js'
import { publicWarnings, tellLivePrice, tellPrice } from '../store/published.js'

/** A warning about a field, such as `endpoints[0]`. */
type ViewWarning = MerchantView['warnings'][number]

export type ViewMerchant = (merchant: Merchant) => Promise<MerchantView>

/**
 * Creates the view of a listing as its owner sees it, for anybody: nothing in it is secret. Each endpoint without its
 * `state` has the form of a save. `now` is in Unix milliseconds.
 */
export function createMerchantView(
  listings: Pick<ListingReader, 'endpointsOf' | 'usageOf' | 'merchantUsageOf'>,
  checksum: (address: Address) => Address,
  now: () => number,
): ViewMerchant {
  return async (merchant) => {
    const { id, owner, offer, network, payTo } = merchant
    const endpoints = await listings.endpointsOf(id)
    // Payments to an address are shown only if the listing has proven that the address is its own.
    const isPayee = speaksForPayTo(merchant)
    const ids = isPayee ? endpoints.map((endpoint) => endpoint.id) : []
    const [usage, whole] = await Promise.all([
      listings.usageOf(ids),
      listings.merchantUsageOf(isPayee ? [id] : []),
    ])
    return {
      id,
      owner: owner === null ? null : checksum(owner),
      name: merchant.name,
      description: merchant.description,
      network,
      asset: checksum(merchant.asset),
      payTo: checksum(payTo),
      claimed: owner !== null && payToProofOf(merchant) !== null,
      payToProof: payToProofOf(merchant),
      revision: merchant.revision,
      flags: {
        official: merchant.isOfficial,
        partner: merchant.isPartner,
        hidden: merchant.hiddenReason !== null,
        hiddenReason: merchant.hiddenReason,
        unclaimed: isUnclaimed(merchant),
      },
      agentId: merchant.agentId,
      identity: merchant.identity,
      offer: openOffer(offer, { checksum, now }),
      createdAt: merchant.createdAt,
      updatedAt: merchant.updatedAt,
      usage: JSON.parse(whole.get(id) ?? 'null'),
      endpoints: endpoints.map((endpoint) => ({
        ...toListed(endpoint),
        state: toState(endpoint, merchant, usage.get(endpoint.id)),
      })),
      warnings: findWarnings(merchant, endpoints),
    }
  }
}

/** Returns an offer as answers show it; `null` once its time is over. `now` is in Unix milliseconds. */
export function openOffer(
  offer: Merchant['offer'],
  { checksum, now }: { checksum: (address: Address) => Address; now: () => number },
): Merchant['offer'] {
  const isOpen = offer !== null && offer.until > now() / 1000
  return isOpen ? { to: checksum(offer.to), until: offer.until } : null
}

/** Finds what readers should know and the owner should look after, the name first. */
function findWarnings(merchant: Merchant, endpoints: readonly StoredEndpoint[]): ViewWarning[] {
  return [...publicWarnings(merchant), ...endpoints.flatMap(warningsOf)]
}

function toListed({
  url,
  method,
  toolName,
  transport,
  title,
  description,
  pricing,
  tags,
  example,
  inputSchema,
  output,
  ...priced
}: WrittenEndpoint): Omit<MerchantEndpoint, 'state'> {
  const { price, asset, currency } = tellPrice(priced)
  return {
    url,
    method,
    ...defined({ toolName, transport }),
    title,
    description,
    pricing,
    price,
    asset,
    currency,
    tags,
    example,
    inputSchema,
    output,
  }
}

function toState(endpoint: StoredEndpoint, merchant: Merchant, usage = 'null'): EndpointState {
  const { id, status, failures, nextProbeAt, probe, accepts, extras } = endpoint
  const { isHosted, lastUpdated, createdAt } = endpoint
  const { symbol, priceUsd } = tellPrice(endpoint)
  return {
    id,
    status,
    failures,
    nextProbeAt,
    probe,
    symbol,
    ...(priceUsd && { priceUsd }),
    ...tellLivePrice(endpoint, merchant),
    accepts,
    extras,
    hosted: isHosted,
    lastUpdated,
    createdAt,
    usage: JSON.parse(usage),
    delivery: endpoint.delivery,
  }
}

function warningsOf({ status, probe }: StoredEndpoint, index: number): ViewWarning[] {
  const path = `endpoints[${index}]`
  if (probe === null) return []
  const { message } = probe
  if (status !== 'live') return [{ path, code: status, message }]
  return probe.warnings.map((code) => ({ path, code, message }))
}

/** Explains why payments to an unproven address do not count for a listing, and how to change that. */
export function unprovenMessage({ id, payTo }: Merchant): string {
  return `Payments to ${getAddress(payTo)} do not count for ${id} yet: the owner is another key, and anybody can list an address. Have the key of that address sign payto.confirm for the owner once (POST /api/merchants/${id}/payto-confirmation).`
}

/** Throws a `WriteFault` unless the address stands behind the owner: payments to a stranger are not for all who list them. */
export function requireProof(merchant: Merchant | undefined): void {
  if (merchant === undefined || payToProofOf(merchant) !== null) return
  const { id, owner, payTo } = merchant
  throw new WriteFault('pay_to_unproven', unprovenMessage(merchant), {
    action: 'payto.confirm',
    method: 'POST',
    path: `/api/merchants/${id}/payto-confirmation`,
    signer: getAddress(payTo),
    body: { owner: owner === null ? null : getAddress(owner) },
  })
}
