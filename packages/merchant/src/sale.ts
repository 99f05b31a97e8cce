import type { SettleResponse } from '@x402/core/types'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { blockResponse, FIRST_FAILURE } from './blocked-response.js'
import { awaitFirstBytes, holdBody, isStream } from './held-body.js'
import type { PaymentTurn } from './in-flight.js'
import { createMeter, describeRefund, type Meter, settleMetered } from './metered.js'
import {
  copyHeaders,
  makePrivate,
  restoreHeaders,
  type SavedHeaders,
  settlementHeader,
} from './payment-headers.js'
import { isPaidTo, partOf, type Refunds } from './refunds.js'
import type { PaymentRefusal, ResourceServer, SettleOutcome } from './resource-server.js'
import { type RouteOffer, railKey } from './terms.js'

/** The facilitator that settles, and the refunds of metered calls where there are some. */
interface SaleServices {
  server: ResourceServer
  refunds: Refunds | undefined
}

/** One request that presents a payment, from the header to the answer. */
export class RouteSale {
  readonly offer: RouteOffer
  readonly #services: SaleServices
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #headersBefore: SavedHeaders
  readonly #trailers: Set<string>
  readonly #meter: Meter
  readonly #unblock: () => void
  /** Aborted once the buyer has closed the connection. */
  readonly #gone = new AbortController()
  #turn: PaymentTurn | undefined
  #settling: Promise<SettleOutcome> | undefined
  /** The answer that is being prepared. */
  #current: symbol | undefined
  /** True once the handler has ended: with an answer, or with a failure. */
  #isConcluded = false
  #isAnswered = false

  /** Blocks the response until it is paid for, and follows the connection of the buyer. */
  constructor(
    offer: RouteOffer,
    services: SaleServices,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.offer = offer
    this.#services = services
    this.#request = request
    this.#reply = reply
    this.#headersBefore = copyHeaders(reply)
    this.#unblock = blockResponse(reply.raw, () =>
      request.log.error('x402: refused a paid answer that was written before it was settled'),
    )
    this.#meter = createMeter(offer)
    this.#trailers = collectTrailers(reply)
    if (reply.raw.destroyed) this.#gone.abort()
    reply.raw.once('close', () => this.#buyerLeft())
  }

  async verify(): ReturnType<ResourceServer['verify']> {
    const verified = await this.#services.server.verify(this.offer)
    if (this.#gone.signal.aborted) this.#abandon()
    if (!verified.ok) logRefusal(this.#request, verified.refusal, verified.cause)
    return verified
  }

  /** The handler begins to work for the payment, in this turn. */
  begin(turn: PaymentTurn): void {
    this.#turn = turn
    if (this.#gone.signal.aborted) turn.abandon()
  }

  /** Sets the part of a metered price that is charged. */
  charge(amount: string): void {
    this.#meter.charge(amount)
  }

  /** Settles the payment, once even if it is called repeatedly. */
  settleOnce(): Promise<SettleOutcome> {
    this.#settling ??= this.#settle()
    return this.#settling
  }

  /** Settles now, for handlers that write the answer themselves. Throws when the payment does not settle. */
  async settleForHandler(): Promise<SettleResponse> {
    if (this.#gone.signal.aborted && this.#settling === undefined) {
      throw new Error('x402: the buyer is gone; nothing was settled')
    }
    const settled = await this.settleOnce()
    if (!settled.ok) throw asError(settled.refusal)
    const { raw } = this.#reply
    if (!raw.headersSent) {
      raw.setHeader('PAYMENT-RESPONSE', settlementHeader(settled.settlement))
      raw.setHeader('cache-control', 'private')
    }
    return settled.settlement
  }

  /** Settles, and gives the price back, or the part of it that is named. Returns the atomic units that go back. */
  async refund(amount?: string): Promise<string> {
    const { refunds } = this.#services
    const { requirements, terms } = this.offer
    if (refunds === undefined) throw new Error('x402: refund() needs refunds in the options')
    if (terms.isMetered || requirements.scheme !== 'exact') {
      throw new Error(
        'x402: refund() is for a fixed price by exact; charge() takes less of another',
      )
    }
    if (terms.facilitators.has(railKey(requirements)) || !isPaidTo(refunds, requirements)) {
      throw new Error(
        `x402: refunds do not come from ${requirements.payTo} on ${requirements.network}`,
      )
    }
    const back = partOf(requirements, amount)
    const settlement = await this.settleForHandler()
    const planned = await refunds.plan(describeRefund(this.offer, back))
    const given = await planned.confirm()
    const charged = String(BigInt(requirements.amount) - BigInt(given))
    const extra = { ...settlement.extra, charged, refund: given }
    this.#settling = Promise.resolve({ ok: true, settlement: { ...settlement, extra } })
    await this.settleForHandler()
    return given
  }

  /** Turns the answer that Fastify is about to send into the answer for the buyer. Never resolves for one that is too late. */
  async conclude(payload: unknown): Promise<unknown> {
    const status = takeStatus(this.#reply, payload)
    if (status >= FIRST_FAILURE) return this.#concludeFailure(payload)
    const { signal } = this.#gone
    // Fastify runs its hooks again for a second send. It must not overtake the first.
    if (signal.aborted) this.#turn?.end()
    if (this.#current !== undefined || signal.aborted) return never()
    const own = Symbol('answer')
    this.#current = own
    const isOver = () => this.#current !== own || signal.aborted
    const body = await this.#prepare(payload).catch((error) => {
      if (signal.aborted) this.#turn?.end()
      if (isOver()) return never()
      this.#current = undefined
      restoreHeaders(this.#reply, this.#headersBefore)
      throw error
    })
    if (signal.aborted) this.#turn?.end()
    if (isOver()) {
      discard(body)
      return never()
    }
    this.#isConcluded = true
    const answer = await this.#settleAndAnswer(status, body)
    this.#isAnswered = true
    return answer
  }

  #buyerLeft(): void {
    this.#gone.abort()
    this.#abandon()
    // An answer that was written past Fastify is whole too.
    const isWritten = this.#reply.raw.writableFinished
    const isOver = this.#isConcluded || isWritten || this.#settling !== undefined
    // The handler of a buyer who has left still works for the payment, and no other call may meanwhile.
    if (isOver) this.#turn?.end()
    else this.#turn?.abandon()
  }

  /** Releases the channel of the payment, unless it is being settled. */
  #abandon(): void {
    if (this.#settling !== undefined) return
    this.#services.server
      .cancel(this.offer)
      .catch((err) => this.#request.log.error({ err }, 'x402: payment not released'))
  }

  async #settle(): Promise<SettleOutcome> {
    const settled = await settleMetered(this.offer, this.#meter.close(), this.#services)
    if (settled.ok) this.#unblock()
    else logRefusal(this.#request, settled.refusal, settled.cause)
    return settled
  }

  /** Lets a failure replace an answer whose payment is not being settled yet. */
  async #concludeFailure(payload: unknown): Promise<unknown> {
    this.#isConcluded = true
    if (this.#gone.signal.aborted) this.#turn?.end()
    if (this.#settling === undefined) {
      this.#current = undefined
      this.#abandon()
      return bodyOf(payload)
    }
    // A later hook may still fail. A handler that fails after its answer is too late.
    if (this.#current !== undefined && !this.#isAnswered) return never()
    const settled = await this.#settling
    const settlement = settled.ok ? settled.settlement : settled.refusal.settlement
    if (settlement !== undefined) {
      this.#reply.header('PAYMENT-RESPONSE', settlementHeader(settlement))
    }
    return bodyOf(payload)
  }

  async #prepare(payload: unknown): Promise<unknown> {
    const { streaming, maxHeldBytes: maxBytes } = this.offer.terms
    const { signal } = this.#gone
    const body = bodyOf(payload)
    if (!isStream(body)) return body
    if (streaming === 'settle-first') return awaitFirstBytes(body, signal)
    const held = await holdBody(body, { maxBytes, signal })
    // A `Response` of fetch states the length from before it was decompressed.
    const declared = isResponse(payload) ? 0 : Number(this.#reply.getHeader('content-length') ?? 0)
    if (held.length < declared) throw new Error('x402: the stream ended before its content-length')
    return held
  }

  async #settleAndAnswer(status: number, body: unknown): Promise<unknown> {
    const reply = this.#reply
    const headers = copyHeaders(reply)
    if (this.#settling === undefined && this.#meter.read() === 0n) {
      this.#abandon()
      this.#unblock()
      return body
    }
    const settled = await this.settleOnce()
    if (settled.ok && this.#gone.signal.aborted) {
      const { transaction } = settled.settlement
      this.#request.log.warn({ transaction }, 'x402: settled, but the buyer was gone')
    }
    if (!settled.ok) {
      discard(body)
      for (const name of this.#trailers) reply.removeTrailer(name)
      return refuse(reply, this.#headersBefore, settled.refusal)
    }
    // A handler that failed after its answer has changed the headers meanwhile.
    restoreHeaders(reply, headers)
    reply.code(status).header('PAYMENT-RESPONSE', settlementHeader(settled.settlement))
    makePrivate(reply)
    return body
  }
}

/** Notes the trailers that a handler adds, because Fastify names them to nobody. */
function collectTrailers(reply: FastifyReply): Set<string> {
  const names = new Set<string>()
  const add = reply.trailer.bind(reply)
  reply.trailer = (name, write) => {
    names.add(name)
    return add(name, write)
  }
  return names
}

/** Removes the paid answer with its headers: a location or an entity tag may be worth the price. */
function refuse(reply: FastifyReply, headersBefore: SavedHeaders, refusal: PaymentRefusal): string {
  restoreHeaders(reply, headersBefore)
  if (reply.request.raw.httpVersionMajor < 2) reply.raw.statusMessage = ''
  reply
    .code(refusal.status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
  if (refusal.settlement !== undefined) {
    reply.header('PAYMENT-RESPONSE', settlementHeader(refusal.settlement))
  }
  return JSON.stringify({ error: refusal.error, message: refusal.message })
}

/** Copies status and headers of a `Response` to the reply, and returns the status. */
function takeStatus(reply: FastifyReply, payload: unknown): number {
  if (!isResponse(payload)) return reply.statusCode
  for (const [name, value] of payload.headers) reply.header(name, value)
  reply.code(payload.status)
  return payload.status
}

function bodyOf(payload: unknown): unknown {
  return isResponse(payload) ? payload.body : payload
}

function isResponse(payload: unknown): payload is Response {
  return Object.prototype.toString.call(payload) === '[object Response]'
}

function discard(body: unknown): void {
  if (isStream(body) && 'destroy' in body) body.destroy()
}

function logRefusal(request: FastifyRequest, refusal: PaymentRefusal, err: unknown): void {
  const { status, error, settlement } = refusal
  const details = { reason: error, transaction: settlement?.transaction, err }
  if (status !== 502) request.log.info(details, 'x402: payment refused')
  else request.log.error(details, 'x402: the facilitator could not check a payment')
}

function asError({ status, error, message }: PaymentRefusal): Error {
  return Object.assign(new Error(message), { statusCode: status, code: error })
}

function never(): Promise<never> {
  return new Promise(() => {})
}
