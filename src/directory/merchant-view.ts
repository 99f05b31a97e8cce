import type { Address } from 'viem'
import type { Endpoint, ListedEndpoint, ListingReader, Merchant } from '../store/listings.js'
import { tellLivePrice } from '../store/live-price.js'
import { isUnclaimed, payToProofOf } from '../store/ownership.js'
import { findNameWarning } from './name-warning.js'
import { tellUnproven } from './pay-to-unproven.js'

export interface ListingWarning {
  /** The field it is about, as `endpoints[0]`. */
  path: string
  code: string
  message: string
}

export type ViewMerchant = (merchant: Merchant) => Promise<ReturnType<typeof toView>>

/**
 * A listing as its owner sees it, for anybody: nothing in it is secret. Each endpoint without its `state` is what a save
 * takes. `now` is in Unix milliseconds.
 */
export function createMerchantView(
  listings: Pick<ListingReader, 'findMerchant' | 'endpointsOf'>,
  checksum: (address: Address) => Address,
  now: () => number,
): ViewMerchant {
  return async (merchant) => {
    const endpoints = await listings.endpointsOf(merchant.id)
    const nameWarning = await findNameWarning(merchant, listings)
    const warnings = endpoints.flatMap(warningsOf)
    if (merchant.owner !== null && payToProofOf(merchant) === null) {
      const message = tellUnproven(merchant)
      warnings.push({ path: 'payTo', code: 'pay_to_unproven', message })
    }
    if (nameWarning !== undefined) {
      warnings.unshift({ path: 'name', code: 'confusable_name', message: nameWarning })
    }
    return toView(merchant, endpoints, warnings, { checksum, nowSeconds: now() / 1000 })
  }
}

function toView(
  merchant: Merchant,
  endpoints: Endpoint[],
  warnings: ListingWarning[],
  { checksum, nowSeconds }: { checksum: (address: Address) => Address; nowSeconds: number },
) {
  const { owner, offer } = merchant
  return {
    id: merchant.id,
    owner: owner === null ? null : checksum(owner),
    name: merchant.name,
    description: merchant.description,
    network: merchant.network,
    asset: checksum(merchant.asset),
    payTo: checksum(merchant.payTo),
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
    offer:
      offer !== null && offer.until > nowSeconds
        ? { to: checksum(offer.to), until: offer.until }
        : null,
    createdAt: merchant.createdAt,
    updatedAt: merchant.updatedAt,
    endpoints: endpoints.map((endpoint) => ({
      ...toListed(endpoint),
      state: toState(endpoint, merchant),
    })),
    warnings,
  }
}

function toListed({
  url,
  method,
  title,
  description,
  pricing,
  price,
  tags,
  example,
  inputSchema,
  output,
}: ListedEndpoint) {
  return {
    url,
    method,
    title,
    description,
    pricing,
    price: price.toString(),
    tags,
    example,
    inputSchema,
    output,
  }
}

function toState(endpoint: Endpoint, merchant: Merchant) {
  const { id, status, failures, nextProbeAt, probe, accepts, extras } = endpoint
  const { isHosted, lastUpdated, createdAt } = endpoint
  const health = { status, failures, nextProbeAt, probe }
  const live = tellLivePrice(endpoint, merchant)
  return { id, ...health, ...live, accepts, extras, hosted: isHosted, lastUpdated, createdAt }
}

function warningsOf({ status, probe }: Endpoint, index: number): ListingWarning[] {
  const path = `endpoints[${index}]`
  if (probe === null) return []
  const { message } = probe
  if (status !== 'live') return [{ path, code: status, message }]
  return probe.warnings.map((code) => ({ path, code, message }))
}
