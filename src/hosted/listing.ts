import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import type { EndpointHealth, ListingStore, WrittenEndpoint } from '../directory/store/listings.js'
import { hostedEndpoints } from './endpoints.js'

/** The merchant id of hosted endpoints, which is reserved. */
const HOSTED_MERCHANT = 'arcus'

/** Calls an endpoint without payment. `accepts` is empty unless its answer matches the listing. */
export type ProbeHosted = (
  endpoint: WrittenEndpoint,
  payTo: Address,
) => Promise<{
  accepts: EndpointHealth['accepts']
  record: NonNullable<EndpointHealth['probe']>
  extras: Record<string, unknown>
}>

interface HostedListingOptions {
  store: Pick<ListingStore, 'saveByOperator' | 'findMerchant' | 'endpointsOf'>
  probe: ProbeHosted
  baseUrl: string
  network: string
  token: Stablecoin
  payTo: Address
  /** Unix seconds. */
  now: () => number
}

/** Time until an endpoint is probed again, the same as for every listed one. */
const PROBE_AGAIN_SECONDS = 6 * 3_600

/** Lists the hosted endpoints under an official merchant, with the payment terms that each endpoint answers itself. */
export async function listHosted(options: HostedListingOptions): Promise<void> {
  const { store, probe, baseUrl, network, token, payTo, now } = options
  const asset = token.address
  const endpoints = await Promise.all(
    hostedEndpoints.map(
      async ({ method, path, title, tags, price, amount, example, inputSchema }) => {
        const listed: WrittenEndpoint = {
          url: `${baseUrl}${path}`,
          method,
          title,
          description: price.description,
          pricing: price.pricing,
          price: amount,
          asset,
          symbol: token.symbol,
          tags,
          example,
          inputSchema,
          output: { type: 'json' },
        }
        const { accepts, record, extras } = await probe(listed, payTo)
        const isLive = accepts.length > 0
        return {
          ...listed,
          accepts,
          status: isLive ? ('live' as const) : ('unverified' as const),
          probe: record,
          failures: isLive ? 0 : 1,
          nextProbeAt: now() + PROBE_AGAIN_SECONDS,
          extras,
          isHosted: true,
        }
      },
    ),
  )
  const merchant = {
    id: HOSTED_MERCHANT,
    owner: null,
    name: 'Arcus',
    description: 'Endpoints that the operator of this facilitator hosts.',
    network,
    asset,
    payTo: payTo.toLowerCase() as Address,
    isOfficial: true,
    isPartner: false,
    hiddenReason: (await store.findMerchant(HOSTED_MERCHANT))?.hiddenReason ?? null,
  }
  await store.saveByOperator(merchant, endpoints, now())
}

/** Removes the listing of an earlier start, when nothing is hosted any more. */
export async function unlistHosted(
  store: HostedListingOptions['store'],
  now: () => number,
): Promise<void> {
  const merchant = await store.findMerchant(HOSTED_MERCHANT)
  if (merchant === undefined) return
  const endpoints = await store.endpointsOf(HOSTED_MERCHANT)
  if (!endpoints.some(({ isHosted }) => isHosted)) return
  await store.saveByOperator(merchant, [], now())
}
