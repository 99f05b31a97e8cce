import type { Address } from 'viem'
import type { CatalogEndpoint, CatalogMerchant } from '../../api/merchants.js'
import type { Endpoint, Merchant } from '../../store/listings.js'
import { livePrices, paramNames, priceUsd, publishedIdentity } from './published.js'

/** One merchant of the catalog as JSON after a comma: the spec's members first, then ours. */
export function toFragment(
  merchant: Merchant,
  endpoints: readonly Endpoint[],
  checksum: (address: Address) => Address,
): Buffer {
  const { id, name, network } = merchant
  const published: CatalogMerchant = {
    id,
    name,
    network,
    asset: checksum(merchant.asset),
    endpoints: endpoints.map((endpoint) => toCatalogEndpoint(endpoint, merchant)),
    description: merchant.description,
    payTo: checksum(merchant.payTo),
    official: merchant.isOfficial,
    partner: merchant.isPartner,
    claimed: merchant.owner !== null,
    identity: publishedIdentity(merchant),
  }
  return Buffer.from(`,${JSON.stringify(published)}`)
}

function toCatalogEndpoint(endpoint: Endpoint, merchant: Merchant): CatalogEndpoint {
  const { method, url, title, pricing, price } = endpoint
  return {
    method,
    url,
    title,
    pricing,
    price: price.toString(),
    priceUsd: priceUsd(price),
    ...livePrices(endpoint, merchant),
    params: paramNames(endpoint),
    description: endpoint.description,
    tags: endpoint.tags,
    status: endpoint.status,
    hostedByArcus: endpoint.isHosted,
  }
}
