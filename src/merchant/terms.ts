import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '@x402/core/types'
import { addressProblem, isChannelContract } from '../x402/address.js'
import { isNetwork } from '../x402/networks.js'
import type { Channels } from './channels.js'
import { declareDiscovery, type PricedRoute } from './discovery.js'
import { type Price, parsePrice } from './price.js'
import { type Scheme, schemes } from './schemes.js'
import type { RoutePrice, X402Options } from './x402.js'

/** All that is fixed about a priced route before anybody calls it. */
export interface Terms {
  /** The ways to pay, the first of them for buyers that know only one. */
  accepts: readonly [PaymentRequirements, ...PaymentRequirements[]]
  /** Of `resource` in the 402; its URL is told for each request. */
  resource: Omit<PaymentRequired['resource'], 'url'>
  extensions: Record<string, unknown> | undefined
  streaming: 'hold' | 'settle-first'
  maxHeldBytes: number
  isMetered: boolean
}

/** A payment that takes up one of the terms. */
export interface Offer {
  payload: PaymentPayload
  /** The entry of `accepts` that the buyer chose. */
  requirements: PaymentRequirements
  terms: Terms
}

const DEFAULT_NETWORK = 'eip155:5042'
/** As the reference's: long enough for slow handlers, and for a buyer whose clock is late. */
const DEFAULT_TIMEOUT_SECONDS = 300
/** Settlement alone may take some. */
const MIN_TIMEOUT_SECONDS = 10
const DEFAULT_MAX_HELD_BYTES = 4 * 1024 * 1024
/** Node's clients refuse answers with more than 16 KiB of headers in all. */
const MAX_HEADER_BYTES = 12_288
const MAX_TAGS = 5

const zeroAddress = /^0x0{40}$/
const printable = /^[\x20-\x7e]{1,32}$/

/** Throws with the route and what is wrong with its price. */
export function createTerms(
  route: PricedRoute,
  price: Price | RoutePrice,
  defaults: X402Options,
): Terms {
  try {
    return termsOf(route, readRoutePrice(price), defaults)
  } catch (error) {
    const name = `${route.method} ${route.url}`
    throw new Error(`x402: ${name}: ${(error as Error).message}.`, { cause: error })
  }
}

function termsOf(route: PricedRoute, own: RoutePrice, defaults: X402Options): Terms {
  const declaration = own.discoverable === false ? undefined : declareDiscovery(route, own)
  const accepts = offersOf(own, defaults)
  const terms: Terms = {
    accepts,
    isMetered: checkPricing(own, accepts, defaults.refunds?.payTo),
    resource: resourceOf(own, defaults),
    extensions: declaration === undefined ? undefined : { bazaar: declaration },
    streaming: own.streaming ?? 'hold',
    maxHeldBytes: positiveInteger(
      'maxHeldBytes',
      own.maxHeldBytes ?? defaults.maxHeldBytes ?? DEFAULT_MAX_HELD_BYTES,
    ),
  }
  if (!['hold', 'settle-first'].includes(terms.streaming)) {
    throw new Error(`streaming is "hold" or "settle-first", got "${terms.streaming}"`)
  }
  const bytes = encodePaymentRequiredHeader(paymentRequired(terms, route.url)).length
  if (bytes > MAX_HEADER_BYTES) {
    throw new Error(`its 402 would have a header of ${bytes} bytes; shorten the description`)
  }
  return terms
}

/** The terms as they are just now: without channels while these cannot be had, unless nothing else is asked for. */
export function offeredNow(terms: Terms, channels: Pick<Channels, 'isOffered'> | undefined): Terms {
  if (channels === undefined || channels.isOffered()) return terms
  const [exact] = terms.accepts.filter(({ scheme }) => scheme === 'exact')
  return exact === undefined ? terms : { ...terms, accepts: [exact] }
}

/** What a 402 says. */
export function paymentRequired(terms: Terms, url: string, error?: string): PaymentRequired {
  return {
    x402Version: 2,
    ...(error === undefined ? {} : { error }),
    resource: { url, ...terms.resource },
    accepts: [...terms.accepts],
    ...(terms.extensions === undefined ? {} : { extensions: terms.extensions }),
  }
}

function readRoutePrice(price: Price | RoutePrice): RoutePrice {
  return typeof price === 'object' && price !== null && 'price' in price ? price : { price }
}

function requirementsOf(own: RoutePrice, defaults: X402Options): PaymentRequirements {
  const network = own.network ?? defaults.network ?? DEFAULT_NETWORK
  if (!isNetwork(network)) throw new Error(`network is no Arc network: "${network}"`)
  const { amount, asset, extra } = parsePrice(own.price, network)
  const maxTimeoutSeconds =
    own.maxTimeoutSeconds ?? defaults.maxTimeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS
  if (positiveInteger('maxTimeoutSeconds', maxTimeoutSeconds) < MIN_TIMEOUT_SECONDS) {
    throw new Error(`maxTimeoutSeconds is at least ${MIN_TIMEOUT_SECONDS}`)
  }
  const payTo = parsePayTo(own.payTo ?? defaults.payTo, asset)
  return { scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds, extra: { ...extra } }
}

/** `exact` stands first: most buyers take the first they know. */
function offersOf(own: RoutePrice, defaults: X402Options): Terms['accepts'] {
  const { channels } = defaults
  const wanted: readonly Scheme[] =
    own.schemes ?? (channels === undefined ? ['exact'] : [...schemes])
  const unknown = wanted.find((scheme) => !schemes.includes(scheme))
  if (unknown !== undefined || wanted.length === 0) {
    throw new Error(`schemes are "exact" and "batch-settlement", got "${unknown ?? ''}"`)
  }
  const exact = requirementsOf(own, defaults)
  const offers = schemes
    .filter((scheme) => wanted.includes(scheme))
    .map((scheme) => {
      if (scheme === 'exact') return exact
      if (channels === undefined) {
        throw new Error('the scheme batch-settlement needs channels in the options')
      }
      return channels.offer(exact)
    })
  return offers as [PaymentRequirements, ...PaymentRequirements[]]
}

/** Whether the price is a ceiling; what was paid in full by `exact` is given back by who was paid. */
function checkPricing(
  own: RoutePrice,
  accepts: Terms['accepts'],
  refunded: string | undefined,
): boolean {
  const { pricing = 'fixed' } = own
  if (!['fixed', 'metered'].includes(pricing)) {
    throw new Error(`pricing is "fixed" or "metered", got "${pricing}"`)
  }
  if (pricing === 'fixed') return false
  const exact = accepts.find(({ scheme }) => scheme === 'exact')
  if (exact === undefined) return true
  if (refunded === undefined) throw new Error('a metered price needs refunds in the options')
  if (refunded.toLowerCase() === exact.payTo.toLowerCase()) return true
  throw new Error(`refunds come from ${refunded}, but ${exact.payTo} is paid`)
}

function parsePayTo(payTo: string | undefined, asset: string): string {
  if (payTo === undefined) throw new Error('payTo is missing, here and in the options')
  const problem = addressProblem(payTo)
  if (problem !== undefined) throw new Error(`payTo ${problem}, got "${payTo}"`)
  const isToken = payTo.toLowerCase() === asset.toLowerCase()
  if (zeroAddress.test(payTo) || isToken || isChannelContract(payTo)) {
    throw new Error(`payTo must be able to receive money, got "${payTo}"`)
  }
  return payTo
}

function resourceOf(own: RoutePrice, defaults: X402Options): Terms['resource'] {
  const { serviceName, tags, iconUrl } = defaults
  if (serviceName !== undefined && !printable.test(serviceName)) {
    throw new Error('serviceName is 1 to 32 printable ASCII characters')
  }
  if (tags !== undefined && (tags.length > MAX_TAGS || !tags.every((tag) => printable.test(tag)))) {
    throw new Error(`tags are at most ${MAX_TAGS}, each 1 to 32 printable ASCII characters`)
  }
  return {
    description: own.description ?? '',
    mimeType: own.mimeType ?? '',
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(tags === undefined ? {} : { tags }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
  }
}

function positiveInteger(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`${name} must be a positive integer, got ${value}`)
}
