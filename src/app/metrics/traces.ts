import {
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { RelayerEvents } from '../../facilitator/relayer/outcomes.js'
import '../../http/operation.js'

/** The span of one request, and what is under way for it. */
interface RequestTrace {
  span: Span
  context: Context
  startedAt: number
  /** The payment that this request claimed, if it did. */
  settlement: TracedSettlement | undefined
}

/** A payment between its claim and its answer: what it waits for, and since when. */
interface TracedSettlement {
  id: string
  server: RequestTrace
  waitsFor: 'queue' | 'batch' | 'block' | 'answer'
  since: number
  network: string | undefined
  /** The transaction it is in, while it waits for that. */
  transaction: SpanContext | undefined
  isAnswered: boolean
}

export interface Tracing {
  /** Traces every verify and settle from here on. Call it before the routes. */
  install(app: FastifyInstance): void
  /** Notes that a request claimed a payment. Call it before the relayer gets the payment. */
  claimed(request: FastifyRequest, settlementId: string): void
  /** Returns events that trace what becomes of payments, and then call those of `next`. */
  relayerEvents(network: string, next: RelayerEvents): RelayerEvents
}

export interface TracingOptions {
  tracer: Tracer
  /** Reads the trace that a caller began. */
  propagator: Pick<TextMapPropagator, 'extract'>
}

/** Where a request keeps its trace: a weak map of so many short-lived keys would cost the garbage collector more. */
const TRACE = Symbol('trace')
type Traced = FastifyRequest & { [TRACE]?: RequestTrace }

/** Payments that are followed at once. The oldest is followed no further. */
const MAX_SETTLEMENTS = 20_000

/** Creates the tracing of verify and settle. */
export function createTracing(options: TracingOptions): Tracing {
  return new PaymentTracing(options)
}

/**
 * Follows a payment through the service. The span of its request goes on the trace that a `traceparent` of a trusted proxy
 * names; to that of a stranger it is only linked, so that nobody chooses what is traced, or writes into others' traces.
 * Its children are `check`, `queue`, `batch` (preparing and signing a transaction), `block` (until the chain has decided)
 * and `answer`. Payments that share a transaction are linked to one span `transaction`, which is a trace of its own.
 */
class PaymentTracing implements Tracing {
  readonly #tracer: Tracer
  readonly #propagator: TracingOptions['propagator']
  readonly #settlements = new LRUCache<string, TracedSettlement>({ max: MAX_SETTLEMENTS })

  constructor({ tracer, propagator }: TracingOptions) {
    this.#tracer = tracer
    this.#propagator = propagator
  }

  install(app: FastifyInstance): void {
    app.addHook('onRequest', (request, _reply, done) => {
      const { family } = request.routeOptions.config
      const isTraced = family === 'verify' || family === 'settle'
      const began = isTraced ? this.#begin(request) : undefined
      if (began !== undefined) {
        ;(request as Traced)[TRACE] = began
        request.log = request.log.child({ traceId: began.span.spanContext().traceId })
      }
      done()
    })
    app.addHook('onResponse', (request, reply, done) => {
      const began = (request as Traced)[TRACE]
      if (began !== undefined) this.#end(began, reply.statusCode)
      done()
    })
  }

  claimed(request: FastifyRequest, settlementId: string): void {
    const server = (request as Traced)[TRACE]
    if (server === undefined) return
    const at = now()
    this.#tracer.startSpan('check', { startTime: server.startedAt }, server.context).end(at)
    server.settlement = {
      id: settlementId,
      server,
      waitsFor: 'queue',
      since: at,
      network: undefined,
      transaction: undefined,
      isAnswered: false,
    }
    this.#settlements.set(settlementId, server.settlement)
  }

  relayerEvents(network: string, next: RelayerEvents): RelayerEvents {
    return {
      ...next,
      taken: (ids) => {
        const at = now()
        for (const it of this.#known(ids)) {
          it.network = network
          this.#advance(it, 'batch', at)
        }
        next.taken(ids)
      },
      signed: (ids, transaction) => {
        const members = this.#known(ids)
        if (members.length > 0) this.#openTransaction(network, members, transaction)
        next.signed(ids, transaction)
      },
      decided: (job, outcome) => {
        for (const it of this.#known([job.id])) {
          this.#advance(it, 'answer')
          it.transaction = undefined
          if (it.isAnswered) this.#settlements.delete(it.id)
        }
        next.decided(job, outcome)
      },
    }
  }

  /** Begins the trace of a request; `undefined` where the sampler leaves it out. */
  #begin(request: FastifyRequest): RequestTrace | undefined {
    const { method, id, routeOptions, headers } = request
    const startedAt = now()
    const attributes = {
      'http.request.method': method,
      'http.route': routeOptions.url ?? '',
      'arcus.request_id': id,
    }
    const named = this.#propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
    // A stranger may name a trace, and does not decide what is traced: theirs is only linked.
    const isTrusted = isFromProxy(request)
    const caller = isTrusted ? undefined : trace.getSpanContext(named)
    const links = caller === undefined ? [] : [{ context: caller }]
    const options = { kind: SpanKind.SERVER, startTime: startedAt, attributes, links }
    const parent = isTrusted ? named : ROOT_CONTEXT
    const span = this.#tracer.startSpan(`${method} ${routeOptions.url}`, options, parent)
    if (!span.isRecording()) return undefined
    return { span, context: trace.setSpan(ROOT_CONTEXT, span), startedAt, settlement: undefined }
  }

  #end({ span, settlement }: RequestTrace, status: number): void {
    if (settlement !== undefined) {
      settlement.isAnswered = true
      if (settlement.waitsFor === 'answer') {
        this.#settlements.delete(settlement.id)
        this.#advance(settlement, 'answer')
      }
      span.setAttribute('arcus.settlement_id', settlement.id)
    }
    span.setAttribute('http.response.status_code', status)
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(now())
  }

  /** Ends what a payment waits for, as a span of its trace, and begins the next. */
  #advance(it: TracedSettlement, next: TracedSettlement['waitsFor'], at = now()): void {
    const { id, server, waitsFor, since, network, transaction } = it
    const attributes = { 'arcus.settlement_id': id, ...(network && { 'arcus.network': network }) }
    const links = transaction === undefined ? [] : [{ context: transaction }]
    const options = { startTime: since, attributes, links }
    this.#tracer.startSpan(waitsFor, options, server.context).end(at)
    it.waitsFor = next
    it.since = at
  }

  #openTransaction(network: string, members: readonly TracedSettlement[], hash: string): void {
    const at = now()
    const startTime = Math.min(...members.map(({ since }) => since))
    const links = members.map(({ server }) => ({ context: server.span.spanContext() }))
    const attributes = { 'arcus.network': network, 'arcus.transaction': hash }
    const options = { startTime, links, attributes }
    const span = this.#tracer.startSpan('transaction', options, ROOT_CONTEXT)
    span.end(at)
    for (const it of members) {
      it.transaction = span.spanContext()
      this.#advance(it, 'block', at)
    }
  }

  #known(ids: readonly string[]): TracedSettlement[] {
    return ids.flatMap((id) => this.#settlements.get(id) ?? [])
  }
}

/** Returns Unix milliseconds with fractions, on the monotonic clock of the process. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

/** Returns whether a request came through a proxy that `TRUST_PROXY` names. */
function isFromProxy({ ips = [] }: FastifyRequest): boolean {
  return ips.length > 1
}
