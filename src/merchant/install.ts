import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseUrl } from '../x402/parse-url.js'
import { createCashier } from './cashier.js'
import { createFacilitatorClient } from './facilitator.js'
import { answerRefusal, askForPayment } from './payment-answer.js'
import { readPayment } from './payment-header.js'
import { exposePaymentHeaders } from './response-headers.js'
import { createPricedRoutes } from './routes.js'
import { openSale, type Sale } from './sale.js'
import type { X402Options } from './x402.js'

/** As of the official client. */
const DEFAULT_FACILITATOR_TIMEOUT_MS = 90_000

/**
 * Hangs the sale into the life of each priced request: the payment is read before the body is, verified when the
 * request has been validated, and settled when the answer stands and no hook of others follows.
 */
export async function install(app: FastifyInstance, options: X402Options): Promise<void> {
  if (app.hasRequestDecorator('payment')) {
    throw new Error('x402: it is registered in this scope already, or in one around it.')
  }
  app.decorateRequest('payment', null)
  const cashier = createCashier(clientOf(options), options.channels)
  const { refunds } = options
  const baseUrl =
    options.baseUrl === undefined ? undefined : parseOrigin('baseUrl', options.baseUrl)
  const routes = createPricedRoutes(app, options)
  const sales = new WeakMap<FastifyRequest, Sale>()

  async function begin(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const terms = routes.find(request)
    if (terms === undefined) return undefined
    exposePaymentHeaders(reply)
    const ask = (error?: string) => askForPayment(request, reply, { terms, baseUrl, error })
    const offered = readPayment(request.headers)
    if (offered.kind === 'none') return ask()
    if (offered.kind === 'unreadable') return ask(offered.error)
    const offer = cashier.match(offered.payload, terms)
    if (typeof offer === 'string') return ask(offer)
    sales.set(request, openSale(offer, { cashier, refunds }, request, reply))
    return undefined
  }

  async function verify(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const sale = sales.get(request)
    if (sale === undefined || request.payment !== null) return undefined
    const verified = await sale.verify()
    if (!verified.ok) {
      const terms = await cashier.reoffer(sale.offer, verified.refusal.error)
      return answerRefusal(request, reply, { terms, baseUrl, ...verified })
    }
    // Nothing is bought: the scheme answers, and is settled as an answer of the handler would be.
    if (verified.answer !== undefined) return reply.send(verified.answer)
    const { network, asset, amount, payTo, scheme } = sale.offer.requirements
    const { charge, settle } = sale
    const { payer } = verified
    request.payment = { payer, amount, asset, network, payTo, scheme, charge, settle }
    return undefined
  }

  async function conclude(request: FastifyRequest, _: FastifyReply, payload: unknown) {
    return sales.get(request)?.conclude(payload) ?? payload
  }

  // Hooks of a route follow those of the server: cross-origin rules, logins and limits come before the payment in
  // whatever order they were registered, and settling comes after whatever else may fail.
  app.addHook('onRoute', (route) => {
    if (!routes.declare(route)) return
    route.preParsing = [...listOf(route.preParsing), begin]
    route.preHandler = [verify, ...listOf(route.preHandler)]
    route.onSend = [...listOf(route.onSend), conclude]
  })

  // Routes declared in this scope before the plugin was loaded, as without `await`, are reached by these only.
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
}

function clientOf({ facilitator, facilitatorTimeoutMs }: X402Options) {
  if (typeof facilitator === 'object') return facilitator
  httpUrl('facilitator', facilitator)
  return createFacilitatorClient(
    facilitator,
    facilitatorTimeoutMs ?? DEFAULT_FACILITATOR_TIMEOUT_MS,
  )
}

function parseOrigin(name: string, text: string): string {
  const { pathname, origin } = httpUrl(name, text)
  if (pathname === '/') return origin
  throw new Error(`x402: ${name} is an origin without path, got "${text}".`)
}

function httpUrl(name: string, text: string): URL {
  const url = parseUrl(text)
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw new Error(`x402: ${name} must be an http or https URL, got "${text}".`)
}

function listOf<Hook>(hooks: Hook | Hook[] | undefined): Hook[] {
  return hooks === undefined ? [] : ([hooks].flat() as Hook[])
}
