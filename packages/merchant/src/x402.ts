import type { PaymentPayload } from '@x402/core/types'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { checkOptionNames, httpUrl, warnOfFacilitator } from './check-options.js'
import { describePayment } from './described-payment.js'
import { Extensions } from './extensions.js'
import { toFacilitatorClient } from './facilitator.js'
import { type InFlight, inFlightOf } from './in-flight.js'
import { describeRefund } from './metered.js'
import type { Payment, X402Options } from './options.js'
import { exposePaymentHeaders, makePrivate, readPayment } from './payment-headers.js'
import {
  answerRefusal,
  answerUnpayable,
  answerUnsold,
  askForPayment,
  resourceUrl,
} from './payment-required.js'
import { createQuotes } from './quotes.js'
import { createResourceServer } from './resource-server.js'
import { RouteSale } from './sale.js'
import { createPricedRoutes, type RouteOffer, type RouteTerms } from './terms.js'
import { createUptoWallets } from './upto.js'

export type {
  Payment,
  PriceOfRequest,
  RoutePrice,
  Scheme,
  WayToPay,
  X402Options,
} from './options.js'
export type { Price } from './price.js'

/**
 * Sells routes of a Fastify server by x402: `await app.register(x402, { facilitator, payTo })`, and a price in the
 * `config` of a route. It applies to the scope it is registered in, and to scopes within that are made after it.
 */
export const x402: FastifyPluginAsync<X402Options> = Object.assign(install, {
  // The same marks that fastify-plugin sets: the plugin applies to the routes next to it, not to a scope of its own.
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'arcus-x402',
  [Symbol.for('plugin-meta')]: { name: 'arcus-x402', fastify: '5.x' },
})

/**
 * Adds the sale to each priced request: the payment is read before the body, verified when the request has been
 * validated, and settled when the answer is complete and no other hook follows.
 */
async function install(app: FastifyInstance, options: X402Options): Promise<void> {
  if (app.hasRequestDecorator('payment')) {
    throw new Error('x402: it is registered in this scope already, or in one around it.')
  }
  checkOptionNames(options)
  app.decorateRequest('payment', null)
  if (typeof options.facilitator === 'string') httpUrl('x402: facilitator', options.facilitator)
  const facilitator = toFacilitatorClient(options.facilitator, options.facilitatorTimeoutMs)
  const wallets = createUptoWallets(facilitator)
  const extensions = new Extensions(options.extensions ?? [], app.log)
  const server = createResourceServer(facilitator, options.channels, wallets, extensions)
  const { refunds } = options
  const baseUrl =
    options.baseUrl === undefined ? undefined : parseOrigin('baseUrl', options.baseUrl)
  const routes = createPricedRoutes(app, options, wallets)
  const sales = new WeakMap<FastifyRequest, RouteSale>()
  /** The calls that an extension let through without a payment. */
  const granted = new WeakSet<FastifyRequest>()
  const inFlight = inFlightOf(app.server)
  const quotes = createQuotes()

  async function begin(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    return routes.isPricedByRequest(request) ? undefined : openSale(request, reply)
  }

  async function openSale(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const found = await routes.find(request)
    if (found === undefined) return undefined
    exposePaymentHeaders(reply)
    if (found === 'unpayable') return answerUnpayable(reply)
    if (found.acceptsOf !== undefined) quotes.keep(request, found.accepts)
    const terms = await extensions.enter(request, found, resourceUrl(request, baseUrl))
    if (terms === 'granted') return void granted.add(request)
    if ('status' in terms) return answerUnsold(reply, terms)
    const ask = (error?: string) => askForPayment(request, reply, { terms, baseUrl, error })
    const offered = readPayment(request.headers)
    if (offered.kind === 'none') return ask()
    if (offered.kind === 'unreadable') return ask(offered.error)
    const matched = matchQuoted(request, offered.payload, terms)
    if (typeof matched === 'string') return ask(matched)
    const offer = describePayment(matched, resourceUrl(request, baseUrl))
    sales.set(request, new RouteSale(offer, { server, refunds }, request, reply))
    return undefined
  }

  /** Finds the terms that a payment takes up: those of now, or those that were asked for the same request before. */
  function matchQuoted(request: FastifyRequest, payload: PaymentPayload, terms: RouteTerms) {
    const offer = server.match(payload, terms)
    if (typeof offer !== 'string' || terms.acceptsOf === undefined) return offer
    const asked = quotes.find(request, payload.accepted)
    const quoted = asked && server.match(payload, { ...terms, accepts: [asked] })
    return typeof quoted === 'object' ? { ...quoted, terms } : offer
  }

  async function verify(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (routes.isPricedByRequest(request) && !sales.has(request)) {
      await openSale(request, reply)
      if (reply.sent) return reply
    }
    const sale = sales.get(request)
    if (sale === undefined || request.payment !== null) return undefined
    const verified = await sale.verify()
    if (!verified.ok) {
      const terms = await server.reoffer(sale.offer, verified.refusal.error)
      return answerRefusal(request, reply, { terms, baseUrl, ...verified })
    }
    // Nothing is bought: the scheme answers, and its answer is settled like one of the handler.
    if (verified.answer !== undefined) return reply.send(verified.answer)
    const { network, asset, amount, payTo, scheme } = sale.offer.requirements
    const { payer } = verified
    const refused = await beginTurn(sale, payer, inFlight)
    if (refused !== undefined) {
      const { terms } = sale.offer
      if ('refusal' in refused) return answerRefusal(request, reply, { terms, baseUrl, ...refused })
      return answerUnsold(reply, { status: 409, body: refused })
    }
    request.payment = {
      payer,
      amount,
      asset,
      network,
      payTo,
      scheme,
      ...namesOf(sale.offer),
      charge: (part) => sale.charge(part),
      settle: () => sale.settleForHandler(),
      refund: (part) => sale.refund(part),
    }
    return undefined
  }

  async function conclude(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
    if (granted.has(request)) makePrivate(reply)
    return sales.get(request)?.conclude(payload) ?? payload
  }

  // Hooks of a route follow those of the server. So cross-origin rules, logins and limits come before the payment in
  // whatever order they were registered, and settling comes after everything else that may fail.
  app.addHook('onRoute', (route) => {
    if (!routes.declare(route)) return
    route.preParsing = [...listOf(route.preParsing), begin]
    route.preHandler = [verify, ...listOf(route.preHandler)]
    route.onSend = [...listOf(route.onSend), conclude]
  })

  // Routes declared in this scope before the plugin was loaded, as happens without `await`, are reached only by these.
  const isLate = (request: FastifyRequest) => !routes.isDeclared(request)
  app.addHook('preParsing', (request, reply, _, done) => {
    if (isLate(request)) begin(request, reply).then(() => done(), done)
    else done()
  })
  app.addHook('preHandler', (request, reply, done) => {
    if (isLate(request)) verify(request, reply).then(() => done(), done)
    else done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isLate(request)) conclude(request, reply, payload).then((it) => done(null, it), done)
    else done(null, payload)
  })
  app.addHook('onReady', async () => routes.checkOptions())
  app.addHook('onListen', async () => {
    // Nobody waits for it: a seller starts while a facilitator is away.
    for (const [client = facilitator, accepts] of routes.accepts()) {
      void warnOfFacilitator(client, accepts, app.log)
    }
  })
}

/** Returns what names a payment where it was settled. */
function namesOf(offer: RouteOffer): Pick<Payment, 'nonce' | 'method'> {
  const { paymentNonce, method = 'eip3009' } = describeRefund(offer, 0n)
  return { nonce: offer.requirements.scheme === 'exact' ? paymentNonce : undefined, method }
}

/** Takes the turn of a payment, and settles first for a payer who has left calls. Returns why the handler must not begin. */
async function beginTurn(sale: RouteSale, payer: string, inFlight: InFlight) {
  const turn = inFlight.take(sale.offer, payer)
  if (turn === undefined) return underWay
  sale.begin(turn)
  if (!turn.isPaidFirst) return undefined
  // The cost of a metered call is known only afterwards.
  if (sale.offer.terms.isMetered) return leftTooOften
  const settled = await sale.settleOnce()
  return settled.ok ? undefined : settled
}

const underWay = {
  error: 'payment_under_way',
  message:
    'Another call works for this very payment. Wait for its answer, or sign another payment.',
}
const leftTooOften = {
  error: 'calls_abandoned',
  message:
    'You left calls while they were worked for, and what this one costs is known only when it ends. Call again later.',
}

function parseOrigin(name: string, text: string): string {
  const { pathname, origin } = httpUrl(`x402: ${name}`, text)
  if (pathname === '/') return origin
  throw new Error(`x402: ${name} is an origin without path, got "${text}".`)
}

function listOf<Hook>(hooks: Hook | Hook[] | undefined): Hook[] {
  return hooks === undefined ? [] : ([hooks].flat() as Hook[])
}
