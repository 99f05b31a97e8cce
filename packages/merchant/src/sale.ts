import type { ServerResponse } from 'node:http'
import type { SettleResponse } from '@x402/core/types'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { awaitFirstBytes, holdBody, isStream } from './held-body.js'
import type { PaymentTurn } from './in-flight.js'
import { createMeter, settleMetered } from './metered.js'
import {
  copyHeaders,
  makePrivate,
  restoreHeaders,
  type SavedHeaders,
  settlementHeader,
} from './payment-headers.js'
import type { Refunds } from './refunds.js'
import type {
  PaymentRefusal,
  ResourceServer,
  SettleOutcome,
  VerifyOutcome,
} from './resource-server.js'
import type { RouteOffer } from './terms.js'

/** One request that presents a payment, from the header to the answer. */
export interface RouteSale {
  readonly offer: RouteOffer
  verify(): Promise<VerifyOutcome>
  /** The handler begins to work for the payment, in this turn. */
  begin(turn: PaymentTurn): void
  /** Settles before the handler begins. */
  settleFirst(): Promise<SettleOutcome>
  charge(amount: string): void
  /** Settles now, for handlers that write the answer themselves. Throws when the payment does not settle. */
  settle(): Promise<SettleResponse>
  /** Turns the answer that Fastify is about to send into the answer for the buyer. Never resolves for one that is too late. */
  conclude(payload: unknown): Promise<unknown>
}

const FIRST_FAILURE = 400

export function openSale(
  offer: RouteOffer,
  { server, refunds }: { server: ResourceServer; refunds: Refunds | undefined },
  request: FastifyRequest,
  reply: FastifyReply,
): RouteSale {
  const { terms } = offer
  const headersBefore = copyHeaders(reply)
  const gone = new AbortController()
  const unblock = blockResponse(reply.raw, () =>
    request.log.error('x402: refused a paid answer that was written before it was settled'),
  )
  const meter = createMeter(offer)
  let settling: Promise<SettleOutcome> | undefined
  /** The answer that is being prepared. */
  let current: symbol | undefined
  let isAnswered = false
  let turn: PaymentTurn | undefined
  /** True once the handler has ended: with an answer, or with a failure. */
  let isConcluded = false
  const trailers = collectTrailers(reply)

  if (reply.raw.destroyed) gone.abort()
  reply.raw.once('close', () => {
    gone.abort()
    abandon()
    // An answer that was written past Fastify is whole too.
    const isOver = isConcluded || reply.raw.writableFinished || settling !== undefined
    // The handler of a buyer who has left still works for the payment, and no other call may meanwhile.
    if (isOver) turn?.end()
    else turn?.abandon()
  })

  /** Releases the channel of the payment, unless it is being settled. */
  function abandon(): void {
    if (settling !== undefined) return
    server.cancel(offer).catch((err) => request.log.error({ err }, 'x402: payment not released'))
  }

  /** Settles once, even if it is called repeatedly. */
  function settleOnce(): Promise<SettleOutcome> {
    settling ??= settleMetered(offer, meter.close(), { server, refunds }).then((settled) => {
      if (settled.ok) unblock()
      else logRefusal(request, settled.refusal, settled.cause)
      return settled
    })
    return settling
  }

  async function conclude(payload: unknown): Promise<unknown> {
    const status = takeStatus(reply, payload)
    if (status >= FIRST_FAILURE) return concludeFailure(payload)
    // Fastify runs its hooks again for a second send. It must not overtake the first.
    if (gone.signal.aborted) turn?.end()
    if (current !== undefined || gone.signal.aborted) return never()
    const own = Symbol('answer')
    current = own
    const isOver = () => current !== own || gone.signal.aborted
    const body = await prepare(payload).catch((error) => {
      if (gone.signal.aborted) turn?.end()
      if (isOver()) return never()
      current = undefined
      restoreHeaders(reply, headersBefore)
      throw error
    })
    if (gone.signal.aborted) turn?.end()
    if (isOver()) {
      discard(body)
      return never()
    }
    isConcluded = true
    const answer = await settleAndAnswer(status, body)
    isAnswered = true
    return answer
  }

  /** Lets a failure replace an answer whose payment is not being settled yet. */
  async function concludeFailure(payload: unknown): Promise<unknown> {
    isConcluded = true
    if (gone.signal.aborted) turn?.end()
    if (settling === undefined) {
      current = undefined
      abandon()
      return bodyOf(payload)
    }
    // A later hook may still fail. A handler that fails after its answer is too late.
    if (current !== undefined && !isAnswered) return never()
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
    // A `Response` of fetch states the length from before it was decompressed.
    const declared = isResponse(payload) ? 0 : Number(reply.getHeader('content-length') ?? 0)
    if (held.length < declared) throw new Error('x402: the stream ended before its content-length')
    return held
  }

  async function settleAndAnswer(status: number, body: unknown): Promise<unknown> {
    const headers = copyHeaders(reply)
    if (settling === undefined && meter.read() === 0n) {
      abandon()
      unblock()
      return body
    }
    const settled = await settleOnce()
    if (settled.ok && gone.signal.aborted) {
      const { transaction } = settled.settlement
      request.log.warn({ transaction }, 'x402: settled, but the buyer was gone')
    }
    if (!settled.ok) {
      discard(body)
      for (const name of trailers) reply.removeTrailer(name)
      return refuse(reply, headersBefore, settled.refusal)
    }
    // A handler that failed after its answer has changed the headers meanwhile.
    restoreHeaders(reply, headers)
    reply.code(status).header('PAYMENT-RESPONSE', settlementHeader(settled.settlement))
    makePrivate(reply)
    return body
  }

  return {
    offer,
    async verify() {
      const verified = await server.verify(offer)
      if (gone.signal.aborted) abandon()
      if (!verified.ok) logRefusal(request, verified.refusal, verified.cause)
      return verified
    },
    begin(own) {
      turn = own
      if (gone.signal.aborted) own.abandon()
    },
    settleFirst: settleOnce,
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

type Method = (...args: unknown[]) => unknown

const blockedMethods = ['writeHead', 'write', 'end', 'flushHeaders'] as const
/** Methods that send something before the answer, which may be worth the price: it is never sent. */
const silentMethods = [
  'writeEarlyHints',
  'writeInformation',
  'writeContinue',
  'writeProcessing',
  'createPushResponse',
] as const

/**
 * Blocks a response for everything but failures, and returns a function that unblocks it. A handler that writes past
 * Fastify (`reply.raw`, `reply.hijack()`) passes no hook and would give the paid answer away. Such an attempt is answered
 * with a 500 and calls `onAttempt`. Nothing is thrown, because it may come from a timer, where an error would end the
 * process.
 */
function blockResponse(response: ServerResponse, onAttempt: () => void): () => void {
  const methods = response as unknown as Record<string, Method>
  let state: 'blocked' | 'open' | 'refused' = 'blocked'

  function refuseWrite() {
    state = 'open'
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    response.statusCode = 500
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end('{"error":"not_settled","message":"The answer was written before it was paid."}')
    state = 'refused'
    onAttempt()
  }

  for (const name of blockedMethods) {
    const original = methods[name]
    // Responses of HTTP/2 lack one of these methods.
    if (original === undefined) continue
    methods[name] = (...args) => {
      const status = name === 'writeHead' ? Number(args[0]) : response.statusCode
      if (state === 'blocked' && status >= FIRST_FAILURE) state = 'open'
      if (state === 'open') return original.apply(response, args)
      if (state === 'blocked') refuseWrite()
      // The caller sees a stream that took the data. Everything written from here on is dropped.
      return name === 'write' ? true : response
    }
  }
  for (const name of silentMethods) {
    const original = methods[name]
    if (original === undefined) continue
    methods[name] = (...args) => {
      if (state === 'open') return original.apply(response, args)
      const done = args.at(-1)
      return typeof done === 'function' ? done() : undefined
    }
  }
  // Trailers go out with the answer, whichever it is, so they wait until it is the paid one.
  const held: unknown[][] = []
  const addTrailers = methods.addTrailers as Method
  methods.addTrailers = (...args) => {
    if (state === 'open') addTrailers.apply(response, args)
    else held.push(args)
  }
  return () => {
    if (state !== 'blocked') return
    state = 'open'
    for (const args of held) addTrailers.apply(response, args)
  }
}
