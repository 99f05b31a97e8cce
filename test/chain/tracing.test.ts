import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import {
  attributeOf,
  type Collector,
  type ReceivedSpan,
  startCollector,
} from '../support/collector.js'

let world: World
let collector: Collector
let lines: Record<string, unknown>[] = []
beforeAll(async () => {
  collector = await startCollector()
  // Variables of OpenTelemetry are read by its SDK.
  vi.stubEnv('OTEL_TRACES_SAMPLER_ARG', '1')
  world = await startWorld({
    env: {
      RATE_LIMIT_MAX: '0',
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TRUST_PROXY: '1',
    },
    onLine: (line) => lines.push(line),
  })
})
afterAll(async () => {
  await world?.stop()
  await collector?.stop()
})
beforeEach(() => {
  lines = []
  collector.spans = []
  collector.answer = 200
})

const traceId = (i: number) => `${i}`.padStart(32, 'a')
const merchantSpan = 'b7ad6b7169203331'
const headers = (i: number) => ({
  traceparent: `00-${traceId(i)}-${merchantSpan}-01`,
  'x-request-id': `order-${i}`,
  // A trusted proxy passes it on.
  'x-forwarded-for': '192.0.2.1',
})
const until = <T>(test: () => T) => vi.waitFor(test, { timeout: 30_000, interval: 50 })
const lookUp = async ({ paymentPayload }: SignedPayment) => {
  const { from, nonce } = paymentPayload.payload.authorization
  return (await world.get(`/payments/eip155:5042/${from}/${nonce}`)).body
}

/** The spans of a trace, by name, once the span of its `settle` has come. */
async function spansOf(trace: string, last = 'POST /settle') {
  return until(() => {
    const own = collector.spans.filter(({ traceId }) => traceId === trace)
    expect(own.map(({ name }) => name)).toContain(last)
    return new Map(own.map((span) => [span.name, span]))
  })
}

describe('the trace of a payment', () => {
  it("goes from the merchant's span through verify, settle, queue, batch and block to the answer", async () => {
    const payment = await aSignedPayment()
    await world.post('/verify', payment, headers(1))
    const settled = await world.post('/settle', payment, headers(1))
    expect(settled.body.success).toBe(true)
    expect(settled.headers.get('x-request-id')).toBe('order-1')
    const spans = await spansOf(traceId(1))
    const inOrder = ['check', 'queue', 'batch', 'block', 'answer']
    expect([...spans.keys()].sort()).toEqual(['POST /settle', 'POST /verify', ...inOrder].sort())
    const server = spans.get('POST /settle') as ReceivedSpan
    expect(server).toMatchObject({ parentSpanId: merchantSpan, kind: 2 })
    expect(spans.get('POST /verify')).toMatchObject({ parentSpanId: merchantSpan, kind: 2 })
    const parts = inOrder.map((name) => spans.get(name) as ReceivedSpan)
    for (const part of parts) expect(part.parentSpanId).toBe(server.spanId)
    for (const [i, part] of parts.slice(1).entries()) {
      expect(part.startTimeUnixNano, part.name).toBe(parts[i]?.endTimeUnixNano)
    }
    const { settlementId, transaction } = await lookUp(payment)
    expect(attributeOf(server, 'arcus.settlement_id')).toBe(settlementId)
    expect(attributeOf(server, 'arcus.request_id')).toBe('order-1')
    const [shared] = spans.get('block')?.links ?? []
    const batch = collector.spans.find(({ traceId }) => traceId === shared?.traceId)
    expect(batch && attributeOf(batch, 'arcus.transaction')).toBe(transaction)
    const line = lines.find(({ msg }) => msg === 'settle answered with success')
    expect(line).toMatchObject({ requestId: 'order-1', traceId: traceId(1), settlementId })
  })

  it('is linked to the transaction that it shares with others', async () => {
    const payments = await Promise.all(Array.from({ length: 40 }, () => aSignedPayment()))
    await Promise.all(payments.map((it, i) => world.post('/settle', it, headers(100 + i))))
    const links = await Promise.all(
      payments.map(async (_, i) => (await spansOf(traceId(100 + i))).get('block')?.links?.[0]),
    )
    const transactions = collector.spans.filter(({ name }) => name === 'transaction')
    const members = transactions.flatMap(({ links = [] }) => links.map(({ traceId }) => traceId))
    expect(members.sort()).toEqual(payments.map((_, i) => traceId(100 + i)).sort())
    expect(transactions.length).toBeLessThan(payments.length)
    const known = transactions.map(({ spanId }) => spanId)
    for (const link of links) expect(known).toContain(link?.spanId)
  })

  it('is left out where its caller says so, and begins here where no caller names one', async () => {
    const unsampled = { ...headers(3), traceparent: `00-${traceId(3)}-${merchantSpan}-00` }
    await world.post('/settle', await aSignedPayment(), unsampled)
    await world.post('/settle', await aSignedPayment())
    const own = await until(() => {
      const servers = collector.spans.filter(({ name }) => name === 'POST /settle')
      expect(servers).toHaveLength(1)
      return servers[0] as ReceivedSpan
    })
    expect(own.parentSpanId).toBeUndefined()
    expect(own.traceId).not.toBe(traceId(3))
  })

  it('is no choice of strangers: their trace is linked, and neither continued nor left out', async () => {
    const { 'x-forwarded-for': _, ...strange } = headers(4)
    await world.post('/verify', await aSignedPayment(), strange)
    const unsampled = { traceparent: `00-${traceId(4)}-${merchantSpan}-00` }
    await world.post('/verify', await aSignedPayment(), unsampled)
    const own = await until(() => {
      const servers = collector.spans.filter(({ name }) => name === 'POST /verify')
      expect(servers).toHaveLength(2)
      return servers
    })
    for (const span of own) {
      expect(span.traceId).not.toBe(traceId(4))
      expect(span.parentSpanId).toBeUndefined()
      expect(span.links).toMatchObject([{ traceId: traceId(4), spanId: merchantSpan }])
    }
  })

  it('costs no payment when the collector hangs', async () => {
    collector.answer = 'hang'
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, i) =>
        world.post('/settle', await aSignedPayment(), headers(300 + i)),
      ),
    )
    expect(answers.every(({ body }) => body.success)).toBe(true)
  })
})

describe('the lines of a refusal', () => {
  it('name request, payer and nonce', async () => {
    const payment = await aSignedPayment()
    const { from, nonce } = payment.paymentPayload.payload.authorization
    payment.paymentRequirements.amount = '20000'
    await world.post('/verify', payment, headers(4))
    await world.post('/settle', payment, headers(5))
    const refused = lines.filter(({ msg }) => /^(verify|settle) refused$/.test(String(msg)))
    const names = { payer: from?.toLowerCase(), nonce }
    expect(refused).toMatchObject([
      { requestId: 'order-4', level: 'debug', ...names },
      { requestId: 'order-5', level: 'info', ...names },
    ])
  })
})
