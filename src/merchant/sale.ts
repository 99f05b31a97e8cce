import type { SettleResponse } from '@x402/core/types'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cashier, Refusal, Settled, Verified } from './cashier.js'
import { awaitFirstBytes, holdBody, isStream } from './held-body.js'
import { createMeter } from './meter.js'
import { settleMetered } from './metered-settlement.js'
import type { Refunds } from './refunds.js'
import {
  copyHeaders,
  type HeadersThen,
  makePrivate,
  restoreHeaders,
  settlementHeader,
} from './response-headers.js'
import { shut } from './shutter.js'
import type { Offer } from './terms.js'

/** One request that presents a payment, from the header to the answer. */
export interface Sale {
  readonly offer: Offer
  verify(): Promise<Verified>
  charge(amount: string): void
  /** Settles now, for handlers that write the answer themselves; throws when there is no settlement. */
  settle(): Promise<SettleResponse>
  /** Turns what Fastify is about to send into what the buyer gets; never resolves for an answer that comes too late. */
  conclude(payload: unknown): Promise<unknown>
}

const FIRST_FAILURE = 400

export function openSale(
  offer: Offer,
  { cashier, refunds }: { cashier: Cashier; refunds: Refunds | undefined },
  request: FastifyRequest,
  reply: FastifyReply,
): Sale {
  const { terms } = offer
  const headersBefore = copyHeaders(reply)
  const gone = new AbortController()
  const shutter = shut(reply.raw, () =>
    request.log.error('x402: a paid answer was written before it was settled, and refused'),
  )
  const meter = createMeter(offer)
  let settling: Promise<Settled> | undefined
  /** The answer being worked on. */
  let current: symbol | undefined
  let isTold = false

  if (reply.raw.destroyed) gone.abort()
  reply.raw.once('close', () => {
    gone.abort()
    abandon()
  })

  /** Frees what the payment holds, unless it is being settled. */
  function abandon(): void {
    if (settling !== undefined) return
    cashier.cancel(offer).catch((err) => request.log.error({ err }, 'x402: payment not freed'))
  }

  /** Settles once, however often it is asked for. */
  function settleOnce(): Promise<Settled> {
    settling ??= settleMetered(offer, meter.close(), { cashier, refunds }).then((settled) => {
      if (settled.ok) shutter.open()
      else logRefusal(request, settled.refusal, settled.cause)
      return settled
    })
    return settling
  }

  async function conclude(payload: unknown): Promise<unknown> {
    const status = takeStatus(reply, payload)
    if (status >= FIRST_FAILURE) return concludeFailure(payload)
    // Fastify runs its hooks again for a second send, which must not overtake the first.
    if (current !== undefined || gone.signal.aborted) return never()
    const own = Symbol('answer')
    current = own
    const isOver = () => current !== own || gone.signal.aborted
    const body = await prepare(payload).catch((error) => {
      if (isOver()) return never()
      current = undefined
      restoreHeaders(reply, headersBefore)
      throw error
    })
    if (isOver()) {
      discard(body)
      return never()
    }
    const answer = await tell(status, body)
    isTold = true
    return answer
  }

  /** A failure takes the place of an answer whose payment is not on its way yet. */
  async function concludeFailure(payload: unknown): Promise<unknown> {
    if (settling === undefined) {
      current = undefined
      abandon()
      return bodyOf(payload)
    }
    // Later hooks may fail; a handler that does after its answer is too late.
    if (current !== undefined && !isTold) return never()
    const settled = await settling
    const settlement = settled.ok ? settled.settlement : settled.refusal.settlement
    if (settlement !== undefined) reply.header('PAYMENT-RESPONSE', settlementHeader(settlement))
    return bodyOf(payload)
  }

  async function prepare(payload: unknown): Promise<unknown> {
    const body = bodyOf(payload)
    if (!isStream(body)) return body
    if (terms.streaming === 'settle-first') return awaitFirstBytes(body, gone.signal)
    const held = await holdBody(body, { maxBytes: terms.maxHeldBytes, signal: gone.signal })
    // A `Response` of fetch tells the length before it was decompressed.
    const declared = isResponse(payload) ? 0 : Number(reply.getHeader('content-length') ?? 0)
    if (held.length < declared) throw new Error('x402: the stream ended before its content-length')
    return held
  }

  async function tell(status: number, body: unknown): Promise<unknown> {
    const headers = copyHeaders(reply)
    if (settling === undefined && meter.read() === 0n) {
      abandon()
      shutter.open()
      return body
    }
    const settled = await settleOnce()
    if (settled.ok && gone.signal.aborted) {
      const { transaction } = settled.settlement
      request.log.warn({ transaction }, 'x402: settled, but the buyer was gone')
    }
    if (!settled.ok) {
      discard(body)
      return refuse(reply, headersBefore, settled.refusal)
    }
    // A handler that fails after its answer has changed them meanwhile.
    restoreHeaders(reply, headers)
    reply.code(status).header('PAYMENT-RESPONSE', settlementHeader(settled.settlement))
    makePrivate(reply)
    return body
  }

  return {
    offer,
    async verify() {
      const verified = await cashier.verify(offer)
      if (gone.signal.aborted) abandon()
      if (!verified.ok) logRefusal(request, verified.refusal, verified.cause)
      return verified
    },
    charge: meter.charge,
    async settle() {
      if (gone.signal.aborted) throw new Error('x402: the buyer is gone; nothing was settled')
      const settled = await settleOnce()
      if (!settled.ok) throw asError(settled.refusal)
      if (!reply.raw.headersSent) {
        reply.raw.setHeader('PAYMENT-RESPONSE', settlementHeader(settled.settlement))
        reply.raw.setHeader('cache-control', 'private')
      }
      return settled.settlement
    },
    conclude,
  }
}

/** Nothing of the paid answer is left, its headers included: a location or an entity tag may be worth the price. */
function refuse(reply: FastifyReply, headersBefore: HeadersThen, refusal: Refusal): string {
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

/** A `Response` brings a status and headers of its own. */
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

function logRefusal(request: FastifyRequest, refusal: Refusal, err: unknown): void {
  const { status, error, settlement } = refusal
  const details = { reason: error, transaction: settlement?.transaction, err }
  if (status === 402) request.log.info(details, 'x402: payment refused')
  else request.log.error(details, 'x402: the facilitator did not judge a payment')
}

function asError({ status, error, message }: Refusal): Error {
  return Object.assign(new Error(message), { statusCode: status, code: error })
}

function never(): Promise<never> {
  return new Promise(() => {})
}
