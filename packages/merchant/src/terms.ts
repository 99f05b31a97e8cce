import { addressProblem, isChannelContract } from '@arcus/protocol/x402/address'
import { defined } from '@arcus/protocol/x402/json'
import { isNetwork } from '@arcus/protocol/x402/networks'
import { otherRailOf, paidThrough } from '@arcus/protocol/x402/rails'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { FacilitatorClient, HTTPTransportContext } from '@x402/core/server'
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '@x402/core/types'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Channels } from './channels.js'
import { checkMemberNames, httpUrl } from './check-options.js'
import { declareDiscovery, type PricedRoute } from './discovery.js'
import { toFacilitatorClient } from './facilitator.js'
import {
  type PriceOfRequest,
  type RoutePrice,
  type Scheme,
  schemes,
  type WayToPay,
  type X402Options,
} from './options.js'
import { type Price, parsePrice, samplePrice } from './price.js'
import { sponsoringExtension, type UptoWallets, uptoOffer } from './upto.js'

/** Everything about a priced route that is fixed before the first call. */
export interface RouteTerms {
  /** `"GET /quote/:symbol"`, with the constraints of the route where it has some. */
  route: string
  /** The ways to pay. The first is for buyers that know only one. */
  accepts: readonly [PaymentRequirements, ...PaymentRequirements[]]
  /** `resource` of the 402, without its URL, which is set for each request. */
  resource: Omit<PaymentRequired['resource'], 'url'>
  extensions: Record<string, unknown> | undefined
  /** The declarations of the route for the extensions of the options. */
  declared: Record<string, unknown> | undefined
  /** The request as extensions are given it, once they have been asked about it. */
  transport?: HTTPTransportContext
  streaming: 'hold' | 'settle-first'
  maxHeldBytes: number
  isMetered: boolean
  /** The facilitators of ways to pay that do not go to the one of the options, by `railKey`. */
  facilitators: ReadonlyMap<string, FacilitatorClient>
  /**
   * Computes `accepts` where the price depends on the request; `accepts` is a sample until then. Rejects with the error of
   * the price.
   */
  acceptsOf: ((request: FastifyRequest) => Promise<RouteTerms['accepts']>) | undefined
}

/** A payment that takes up one of the terms. */
export interface RouteOffer {
  payload: PaymentPayload
  /** The entry of `accepts` that the buyer chose. */
  requirements: PaymentRequirements
  terms: RouteTerms
}

/** Keeps the terms of each route in the route's own `config`, under a private key. */
const termsKey = Symbol('x402.terms')

type TermsByMethod = ReadonlyMap<string, RouteTerms>
type PricedConfig = { x402?: Price | RoutePrice; [termsKey]?: TermsByMethod }

/** Answers without a body, and questions about a resource, are not sold. */
const freeMethods = ['HEAD', 'OPTIONS']

/** Keeps the routes of a server that have a price. */
export function createPricedRoutes(
  app: FastifyInstance,
  options: X402Options,
  wallets: UptoWallets,
) {
  const { payTo } = options
  const problem = payTo === undefined ? undefined : addressProblem(payTo)
  if (problem !== undefined) throw new Error(`x402: payTo ${problem}, got "${payTo}".`)
  const listed = readListed(options.routes ?? {})
  const late = new WeakMap<object, TermsByMethod>()
  const offered = new Map<FacilitatorClient | undefined, PaymentRequirements[]>()
  const clients = new Map<string, FacilitatorClient>()
  /** Returns one client for each URL. */
  const clientOf = (facilitator: string | FacilitatorClient) => {
    if (typeof facilitator !== 'string') return facilitator
    httpUrl('facilitator', facilitator)
    const client =
      clients.get(facilitator) ?? toFacilitatorClient(facilitator, options.facilitatorTimeoutMs)
    clients.set(facilitator, client)
    return client
  }
  for (const [name, price] of listed) {
    const [url = '', method = 'GET'] = name.split(' ').reverse()
    createTerms({ method, url, schema: undefined, sharedSchemas: {} }, price, options, clientOf)
  }

  function termsByMethod(route: {
    url: string
    methods: string[]
    config: PricedConfig | undefined
    schema: unknown
    constraints?: object | undefined
  }): TermsByMethod {
    const terms = new Map<string, RouteTerms>()
    for (const method of route.methods.filter((name) => !freeMethods.includes(name))) {
      const price =
        route.config?.x402 ?? listed.get(`${method} ${route.url}`) ?? listed.get(route.url)
      if (price === undefined) continue
      const schema = route.schema as { querystring?: unknown } | undefined
      const sharedSchemas = app.getSchemas()
      const { url, constraints } = route
      const priced = { method, url, schema, sharedSchemas, constraints }
      const made = createTerms(priced, price, options, clientOf)
      terms.set(method, made)
      for (const asked of made.accepts) {
        const client = made.facilitators.get(railKey(asked))
        offered.set(client, [...(offered.get(client) ?? []), asked])
      }
    }
    return terms
  }

  function termsOfRequest(request: FastifyRequest): RouteTerms | undefined {
    const { [termsKey]: declared } = request.routeOptions.config as PricedConfig
    return (declared ?? lateTerms(request)).get(request.method)
  }

  function lateTerms(request: FastifyRequest): TermsByMethod {
    const { url = '', method, config, schema } = request.routeOptions
    const known = late.get(config)
    if (known !== undefined) return known
    const terms = termsByMethod({ url, methods: [method].flat(), config, schema })
    late.set(config, terms)
    return terms
  }

  return {
    /** Prices a route as it is declared, and returns `true` when it has a price. Throws when the price is invalid. */
    declare(route: RouteOptions): boolean {
      const { url, method, config, schema, constraints } = route
      const terms = termsByMethod({ url, methods: [method].flat(), config, schema, constraints })
      route.config = { ...config, [termsKey]: terms } as typeof config & object
      return terms.size > 0
    },
    /**
     * Returns the terms of a request, or `undefined` where nothing is to be paid. `unpayable` means that the facilitator
     * settles none of the route's schemes now.
     */
    async find(request: FastifyRequest): Promise<RouteTerms | 'unpayable' | undefined> {
      const made = termsOfRequest(request)
      const accepts = await made?.acceptsOf?.(request)
      const terms = made && accepts ? { ...made, accepts } : made
      if (terms?.accepts.some(({ scheme }) => scheme === 'upto')) await wallets.refresh()
      return terms && offeredNow(terms, options.channels, wallets)
    },
    /** Returns whether the price depends on the request, so that it is known when its body has been read. */
    isPricedByRequest: (request: FastifyRequest): boolean =>
      termsOfRequest(request)?.acceptsOf !== undefined,
    /** Returns what the routes that were declared so far ask for, by facilitator; `undefined` is the one of the options. */
    accepts: (): ReadonlyMap<FacilitatorClient | undefined, PaymentRequirements[]> => offered,
    /** Returns `false` for routes that were declared before the plugin was loaded. */
    isDeclared: (request: FastifyRequest): boolean => termsKey in request.routeOptions.config,
    /** Throws when a price in the options belongs to no route. */
    checkOptions(): void {
      for (const name of listed.keys()) {
        const [url = '', method] = name.split(' ').reverse()
        const methods = method === undefined ? app.supportedMethods : [method]
        if (methods.some((each) => app.hasRoute({ method: each as 'GET', url }))) continue
        throw new Error(`x402: "${name}" in routes is no route; give its whole URL, as declared.`)
      }
    },
  }
}

export function paymentRequired(terms: RouteTerms, url: string, error?: string): PaymentRequired {
  return {
    x402Version: 2,
    ...(error === undefined ? {} : { error }),
    resource: { url, ...terms.resource },
    accepts: [...terms.accepts],
    ...(terms.extensions === undefined ? {} : { extensions: terms.extensions }),
  }
}

function readListed(routes: Record<string, Price | RoutePrice>): Map<string, Price | RoutePrice> {
  return new Map(
    Object.entries(routes).map(([name, price]) => {
      const [, method, url] = /^(?:([A-Za-z]+) +)?(\/\S*|\*)$/.exec(name) ?? []
      if (url === undefined) throw new Error(`x402: routes are named "GET /quote", got "${name}".`)
      return [method === undefined ? url : `${method.toUpperCase()} ${url}`, price]
    }),
  )
}

/**
 * Returns the terms with the schemes that are settled now. Channels stay where a route asks for nothing else, because
 * vouchers need no facilitator that is there now.
 */
function offeredNow(
  terms: RouteTerms,
  channels: Pick<Channels, 'isOffered'> | undefined,
  wallets: UptoWallets,
): RouteTerms | 'unpayable' {
  const payable = terms.accepts.flatMap((asked): PaymentRequirements[] => {
    if (asked.scheme !== 'upto') return [asked]
    const wallet = wallets.offered(asked.network)
    return wallet ? [{ ...asked, extra: { ...asked.extra, facilitatorAddress: wallet } }] : []
  })
  const isChannel = ({ scheme }: PaymentRequirements) => scheme === 'batch-settlement'
  const isClosed = channels !== undefined && !channels.isOffered()
  const others = isClosed ? payable.filter((asked) => !isChannel(asked)) : payable
  const [first, ...rest] = others.length > 0 ? others : payable
  if (first === undefined) return 'unpayable'
  const isSponsored = first.scheme === 'upto' && wallets.isSponsored()
  const extensions = isSponsored
    ? { ...terms.extensions, ...sponsoringExtension }
    : terms.extensions
  return { ...terms, accepts: [first, ...rest], extensions }
}

const DEFAULT_NETWORK = 'eip155:5042'
/** The same as the reference: long enough for slow handlers, and for a buyer whose clock is late. */
const DEFAULT_TIMEOUT_SECONDS = 300
/** Settlement alone may take some seconds. */
const MIN_TIMEOUT_SECONDS = 10
const DEFAULT_MAX_HELD_BYTES = 4 * 1024 * 1024
/** Node's clients refuse answers with more than 16 KiB of headers in all. */
const MAX_HEADER_BYTES = 12_288
const MAX_TAGS = 5

const zeroAddress = /^0x0{40}$/
const printable = /^[\x20-\x7e]{1,32}$/

type ClientOf = (facilitator: string | FacilitatorClient) => FacilitatorClient

/** Throws with the route and the problem in its price. */
function createTerms(
  route: PricedRoute,
  price: Price | RoutePrice,
  defaults: X402Options,
  clientOf: ClientOf,
): RouteTerms {
  try {
    return termsOf(route, readRoutePrice(price), defaults, clientOf)
  } catch (error) {
    const name = `${route.method} ${route.url}`
    throw new Error(`x402: ${name}: ${(error as Error).message}.`, { cause: error })
  }
}

function termsOf(
  route: PricedRoute,
  own: RoutePrice,
  defaults: X402Options,
  clientOf: ClientOf,
): RouteTerms {
  const declaration = own.discoverable === false ? undefined : declareDiscovery(route, own)
  const ways = waysOf(own)
  const acceptsAt = (prices: readonly Price[]) =>
    ways.flatMap((way, index) =>
      offersOf({ ...way, price: prices[index] as Price }, own, defaults),
    ) as unknown as RouteTerms['accepts']
  const isByRequest = ways.some(({ price }) => typeof price === 'function')
  const accepts = acceptsAt(
    ways.map(({ price, network = networkOf(defaults) }) =>
      typeof price === 'function' ? samplePrice(network) : price,
    ),
  )
  const constraints = Object.keys(route.constraints ?? {}).length > 0 ? [route.constraints] : []
  const terms: RouteTerms = {
    route: [route.method, route.url, ...constraints.map((it) => JSON.stringify(it))].join(' '),
    accepts,
    isMetered: isMetered(own, accepts, defaults.refunds?.payTo),
    facilitators: facilitatorsOf(own, defaults, clientOf),
    acceptsOf: !isByRequest
      ? undefined
      : async (request) => {
          return acceptsAt(await Promise.all(ways.map(({ price }) => priceOf(price, request))))
        },
    resource: resourceOf(own, defaults),
    extensions:
      declaration === undefined ? own.extensions : { ...own.extensions, bazaar: declaration },
    declared: own.extensions,
    streaming: own.streaming ?? 'hold',
    maxHeldBytes: positiveInteger(
      'maxHeldBytes',
      own.maxHeldBytes ?? defaults.maxHeldBytes ?? DEFAULT_MAX_HELD_BYTES,
    ),
  }
  if (own.extensions?.['sign-in-with-x'] !== undefined && (terms.isMetered || isByRequest)) {
    throw new Error('sign-in-with-x is for a price that is the same for each call')
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

function readRoutePrice(price: Price | RoutePrice): RoutePrice {
  if (typeof price === 'object' && price !== null) checkMemberNames(price)
  const isRoutePrice =
    typeof price === 'object' && price !== null && ('price' in price || 'accepts' in price)
  return isRoutePrice ? (price as RoutePrice) : { price: price as Price }
}

/** Returns the ways to pay for a route; a bare price is one. */
function waysOf({ accepts, price, network, payTo }: RoutePrice): readonly WayToPay[] {
  return accepts ?? [{ price: price as WayToPay['price'], ...defined({ network, payTo }) }]
}

/** Names what a facilitator is chosen by: the network, and the rail where the token itself does not take the payment. */
export function railKey(asked: { network: string; asset?: unknown; extra?: unknown }): string {
  return [asked.network, otherRailOf(asked.asset, asked.extra) ?? ''].join(' ').trim()
}

/** Returns the facilitators of the ways that name one. Throws where two ways of one rail would have two. */
function facilitatorsOf(
  own: RoutePrice,
  defaults: X402Options,
  clientOf: ClientOf,
): RouteTerms['facilitators'] {
  const facilitators = new Map<string, FacilitatorClient | undefined>()
  for (const { network = networkOf(defaults), price, facilitator } of waysOf(own)) {
    const client = facilitator === undefined ? undefined : clientOf(facilitator)
    const rail = railKey({ ...(typeof price === 'object' ? price : undefined), network })
    if (facilitators.has(rail) && facilitators.get(rail) !== client) {
      throw new Error(`accepts names two facilitators for ${rail}`)
    }
    facilitators.set(rail, client)
  }
  return new Map(
    [...facilitators].flatMap(([rail, client]) =>
      client === undefined ? [] : [[rail, client] as const],
    ),
  )
}

/** Returns the price of a request. Throws for one on a rail whose facilitator was not known at the start. */
async function priceOf(price: Price | PriceOfRequest, request: FastifyRequest): Promise<Price> {
  if (typeof price !== 'function') return price
  const asked = await price(request)
  if (typeof asked !== 'object' || otherRailOf(asked?.asset, asked?.extra) === undefined)
    return asked
  throw new Error('x402: a price by the request is paid in its token itself')
}

/** A way to pay at a price that is known. */
type FixedWay = WayToPay & { price: Price }

function networkOf({ network = DEFAULT_NETWORK }: X402Options): `${string}:${string}` {
  return network
}

function requirementsOf(
  way: FixedWay,
  own: RoutePrice,
  defaults: X402Options,
): PaymentRequirements {
  const network = way.network ?? networkOf(defaults)
  if (!isNetwork(network) && way.facilitator === undefined) {
    throw new Error(
      `network is no Arc network: "${network}"; give the facilitator of a way to pay there`,
    )
  }
  if (!/^eip155:[1-9]\d{0,15}$/.test(network)) {
    throw new Error(`network is no EVM network: "${network}"`)
  }
  const { amount, asset, extra } = parsePrice(way.price, network)
  const rail = otherRailOf(asset, extra)
  if (rail !== undefined && way.facilitator === undefined) {
    throw new Error(`the price is ${paidThrough(rail)}; give the facilitator of that way to pay`)
  }
  const maxTimeoutSeconds =
    own.maxTimeoutSeconds ?? defaults.maxTimeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS
  if (positiveInteger('maxTimeoutSeconds', maxTimeoutSeconds) < MIN_TIMEOUT_SECONDS) {
    throw new Error(`maxTimeoutSeconds is at least ${MIN_TIMEOUT_SECONDS}`)
  }
  const payTo = parsePayTo(way.payTo ?? defaults.payTo, asset)
  return { scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds, extra: { ...extra } }
}

function offersOf(way: FixedWay, own: RoutePrice, defaults: X402Options): PaymentRequirements[] {
  const { channels } = defaults
  const exact = requirementsOf(way, own, defaults)
  if (way.facilitator !== undefined) {
    if (own.pricing !== 'metered') return [exact]
    throw new Error(
      `a metered price is for the facilitator of the options, not for ${exact.network}`,
    )
  }
  const wanted = own.schemes ?? defaultSchemes(own, defaults, exact.asset)
  const unknown = wanted.find((scheme) => !schemes.includes(scheme))
  if (unknown !== undefined || wanted.length === 0) {
    throw new Error(
      `schemes are ${schemes.map((it) => `"${it}"`).join(', ')}, got "${unknown ?? ''}"`,
    )
  }
  return schemes
    .filter((scheme) => wanted.includes(scheme))
    .map((scheme) => {
      if (scheme === 'exact') return exact
      if (scheme === 'upto') return uptoOffer(exact)
      if (channels === undefined) {
        throw new Error('the scheme batch-settlement needs channels in the options')
      }
      return channels.offer(exact)
    })
}

/**
 * By `exact` a metered price needs refunds, so without them the other schemes are offered. Channels hold one token, and
 * prices in another are not offered by them.
 */
function defaultSchemes(
  { pricing }: RoutePrice,
  { channels, refunds }: X402Options,
  asset: string,
): Scheme[] {
  const isMetered = pricing === 'metered'
  return [
    ...(isMetered ? (['upto'] as const) : []),
    ...(isMetered && refunds === undefined ? [] : (['exact'] as const)),
    ...(channels?.asset.toLowerCase() === asset.toLowerCase()
      ? (['batch-settlement'] as const)
      : []),
  ]
}

/**
 * Decides whether the price is a ceiling. A metered route that offers `exact` needs refunds that come from its payTo;
 * throws where it has none.
 */
function isMetered(
  own: RoutePrice,
  accepts: RouteTerms['accepts'],
  refundedPayTo: string | undefined,
): boolean {
  const { pricing = 'fixed' } = own
  if (!['fixed', 'metered'].includes(pricing)) {
    throw new Error(`pricing is "fixed" or "metered", got "${pricing}"`)
  }
  if (pricing === 'fixed') return false
  const exact = accepts.find(({ scheme }) => scheme === 'exact')
  if (exact === undefined) return true
  if (refundedPayTo === undefined) throw new Error('a metered price needs refunds in the options')
  if (refundedPayTo.toLowerCase() === exact.payTo.toLowerCase()) return true
  throw new Error(`refunds come from ${refundedPayTo}, but ${exact.payTo} is paid`)
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

function resourceOf(own: RoutePrice, defaults: X402Options): RouteTerms['resource'] {
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
    ...defined({ serviceName, tags, iconUrl }),
  }
}

function positiveInteger(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`${name} must be a positive integer, got ${value}`)
}
