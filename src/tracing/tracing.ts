import { randomFillSync } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { RelayerEvents } from '../relayer/outcomes.js'
import '../http/operation.js'
import type { Span } from './exporter.js'

/** The identity of a span, as W3C Trace Context names it. */
interface SpanContext {
  traceId: string
  spanId: string
}

/** The span of one request, and what is under way for it. */
interface RequestTrace extends SpanContext {
  parentSpanId: string | undefined
  /** The span that a stranger names. */
  links: readonly SpanContext[]
  startedAt: number
  /** The payment that this request claimed, if it did. */
  settlement: Settlement | undefined
}

/** A payment between its claim and its answer: what it waits for, and since when. */
interface Settlement {
  id: string
  server: SpanContext
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
  add(span: Span): void
  /** The share of the traces that begin here, 0 to 1. A trusted proxy decides about traces that it passes on. */
  sampleRatio: number
}

/** Where a request keeps its trace: a weak map of so many short-lived keys would cost the garbage collector more. */
const TRACE = Symbol('trace')
type Traced = FastifyRequest & { [TRACE]?: RequestTrace }

/** Payments that are followed at once. The oldest is followed no further. */
const MAX_SETTLEMENTS = 20_000

/**
 * Follows a payment through the service. The span of its request goes on the trace that a `traceparent` of a trusted proxy
 * names; to that of a stranger it is only linked, so that nobody chooses what is traced, or writes into others' traces.
 * Its children are `check`, `queue`, `batch` (preparing and signing a transaction), `block` (until the chain has decided)
 * and `answer`. Payments that share a transaction are linked to one span `transaction`, which is a trace of its own.
 */
export function createTracing({ add, sampleRatio }: TracingOptions): Tracing {
  const settlements = new LRUCache<string, Settlement>({ max: MAX_SETTLEMENTS })

  /** Ends what a payment waits for, as a span of its trace, and begins the next. */
  function advance(it: Settlement, next: Settlement['waitsFor'], at = now()): void {
    const { id, server, waitsFor, since, network, transaction } = it
    add({
      ...child(server),
      name: waitsFor,
      kind: 1,
      startedAt: since,
      endedAt: at,
      attributes: { 'arcus.settlement_id': id, 'arcus.network': network },
      ...(transaction && { links: [transaction] }),
    })
    it.waitsFor = next
    it.since = at
  }

  const known = (ids: readonly string[]) => ids.flatMap((id) => settlements.get(id) ?? [])

  function openTransaction(network: string, members: readonly Settlement[], hash: string): void {
    const at = now()
    const transaction = { traceId: randomHex(16), spanId: randomHex(8) }
    add({
      ...transaction,
      name: 'transaction',
      kind: 1,
      startedAt: Math.min(...members.map(({ since }) => since)),
      endedAt: at,
      attributes: { 'arcus.network': network, 'arcus.transaction': hash },
      links: members.map(({ server }) => server),
    })
    for (const it of members) {
      it.transaction = transaction
      advance(it, 'block', at)
    }
  }

  function begin(request: FastifyRequest): RequestTrace | undefined {
    const caller = parseTraceparent(request.headers.traceparent)
    const isTrusted = isFromProxy(request)
    const parent = isTrusted ? caller : undefined
    const isSampled = parent === undefined ? Math.random() < sampleRatio : parent.isSampled
    if (!isSampled) return undefined
    return {
      traceId: parent?.traceId ?? randomHex(16),
      spanId: randomHex(8),
      parentSpanId: parent?.spanId,
      links:
        isTrusted || caller === undefined
          ? []
          : [{ traceId: caller.traceId, spanId: caller.spanId }],
      startedAt: now(),
      settlement: undefined,
    }
  }

  function end(request: FastifyRequest, trace: RequestTrace, status: number): void {
    const { traceId, spanId, parentSpanId, links, startedAt, settlement } = trace
    const { method, id, routeOptions } = request
    if (settlement !== undefined) {
      settlement.isAnswered = true
      if (settlement.waitsFor === 'answer') {
        settlements.delete(settlement.id)
        advance(settlement, 'answer')
      }
    }
    add({
      traceId,
      spanId,
      ...(parentSpanId !== undefined && { parentSpanId }),
      name: `${method} ${routeOptions.url}`,
      kind: 2,
      startedAt,
      endedAt: now(),
      attributes: {
        'http.request.method': method,
        'http.route': routeOptions.url,
        'http.response.status_code': status,
        'arcus.request_id': id,
        'arcus.settlement_id': settlement?.id,
      },
      links,
      isError: status >= 500,
    })
  }

  return {
    install(app) {
      app.addHook('onRequest', (request, _reply, done) => {
        const { family } = request.routeOptions.config
        const isTraced = family === 'verify' || family === 'settle'
        const trace = isTraced ? begin(request) : undefined
        if (trace !== undefined) {
          ;(request as Traced)[TRACE] = trace
          request.log = request.log.child({ traceId: trace.traceId })
        }
        done()
      })
      app.addHook('onResponse', (request, reply, done) => {
        const trace = (request as Traced)[TRACE]
        if (trace !== undefined) end(request, trace, reply.statusCode)
        done()
      })
    },
    claimed(request, settlementId) {
      const trace = (request as Traced)[TRACE]
      if (trace === undefined) return
      const at = now()
      const { startedAt } = trace
      add({ ...child(trace), name: 'check', kind: 1, startedAt, endedAt: at, attributes: {} })
      const { traceId, spanId } = trace
      const server = { traceId, spanId }
      trace.settlement = {
        id: settlementId,
        server,
        waitsFor: 'queue',
        since: at,
        network: undefined,
        transaction: undefined,
        isAnswered: false,
      }
      settlements.set(settlementId, trace.settlement)
    },
    relayerEvents: (network, next) => ({
      ...next,
      taken(ids) {
        const at = now()
        for (const it of known(ids)) {
          it.network = network
          advance(it, 'batch', at)
        }
        next.taken(ids)
      },
      signed(ids, transaction) {
        const members = known(ids)
        if (members.length > 0) openTransaction(network, members, transaction)
        next.signed(ids, transaction)
      },
      decided(job, outcome) {
        for (const it of known([job.id])) {
          advance(it, 'answer')
          it.transaction = undefined
          if (it.isAnswered) settlements.delete(it.id)
        }
        next.decided(job, outcome)
      },
    }),
  }
}

/** Returns Unix milliseconds with fractions, on the monotonic clock of the process. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

function child({ traceId, spanId }: SpanContext) {
  return { traceId, spanId: randomHex(8), parentSpanId: spanId }
}

/** Random bytes are drawn for many ids at once, since each draw is a call into the system. */
const pool = Buffer.alloc(4_096)
let drawn = pool.length

function randomHex(bytes: number): string {
  if (drawn + bytes > pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  const hex = pool.toString('hex', drawn, drawn + bytes)
  drawn += bytes
  return hex
}

/** Tells whether a request came through a proxy that `TRUST_PROXY` names. */
function isFromProxy({ ips = [] }: FastifyRequest): boolean {
  return ips.length > 1
}

/** Reads the header of W3C Trace Context; `undefined` if it is missing or malformed, and then a new trace begins. */
export function parseTraceparent(
  header: unknown,
): (SpanContext & { isSampled: boolean }) | undefined {
  if (typeof header !== 'string') return undefined
  const parts = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header)
  const [, version, traceId = '', spanId = '', flags = '', rest] = parts ?? []
  if (parts === null || version === 'ff' || (version === '00' && rest !== undefined))
    return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
