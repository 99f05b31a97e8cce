import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSpanExporter, type Span, type SpanExporter } from '../../../src/tracing/exporter.js'
import { attributeOf, type Collector, startCollector } from '../../support/collector.js'

let collector: Collector
let exporter: SpanExporter | undefined
beforeEach(async () => {
  collector = await startCollector()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await exporter?.close()
  await collector.stop()
})

const aSpan = (more: Partial<Span> = {}): Span => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  name: 'check',
  kind: 1,
  startedAt: 1_700_000_000_000.25,
  endedAt: 1_700_000_000_001.5,
  attributes: { 'arcus.network': 'eip155:5042', 'http.response.status_code': 200, none: undefined },
  ...more,
})

function anExporter(endpoint = collector.url) {
  const counted = { exported: 0, dropped: 0 }
  const said: string[] = []
  const note = (_: object, message: string) => void said.push(message)
  exporter = createSpanExporter({
    endpoint,
    headers: { 'api-key': 'k' },
    resource: { 'service.name': 'arcus' },
    onOutcome(outcome, spans) {
      counted[outcome] += spans
    },
    log: { info: note, warn: note },
  })
  return { exporter, counted, said }
}

/** The second after which spans are sent. */
const aSecond = () => vi.advanceTimersByTime(1_000)
const until = (test: () => void) => vi.waitFor(test, { timeout: 20_000, interval: 20 })

describe('the exporter of spans', () => {
  it('sends what OTLP/HTTP asks for, with the headers of the settings', async () => {
    const { exporter, counted } = anExporter(`${collector.url}/`)
    exporter.add(aSpan({ links: [{ traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) }] }))
    aSecond()
    await until(() => expect(counted.exported).toBe(1))
    const [span] = collector.spans
    expect(span).toMatchObject({
      name: 'check',
      kind: 1,
      startTimeUnixNano: '1700000000000250000',
      endTimeUnixNano: '1700000000001500000',
      links: [{ traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) }],
      status: {},
    })
    expect(span?.attributes).toHaveLength(2)
    expect(span && attributeOf(span, 'http.response.status_code')).toBe(200)
    expect(collector.resource).toEqual({ 'service.name': 'arcus' })
    expect(collector.headers['api-key']).toBe('k')
  })

  it('drops and counts what a collector refuses, says so once, and goes on when it is back', async () => {
    const { exporter, counted, said } = anExporter()
    collector.answer = 503
    exporter.add(aSpan())
    aSecond()
    await until(() => expect(counted.dropped).toBe(1))
    exporter.add(aSpan())
    aSecond()
    await until(() => expect(counted.dropped).toBe(2))
    collector.answer = 200
    exporter.add(aSpan())
    aSecond()
    await until(() => expect(counted.exported).toBe(1))
    expect(said).toEqual([
      'traces are dropped: the collector does not take them',
      'traces are taken again',
    ])
  })

  it('keeps a bounded number while the collector hangs, and counts the rest as dropped', async () => {
    const { exporter, counted } = anExporter()
    collector.answer = 'hang'
    const total = 20_000
    for (let i = 0; i < total; i++) exporter.add(aSpan())
    // 8,192 wait, and a batch of 256 is on its way.
    expect(counted.dropped).toBe(total - 8_192 - 256)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closed = exporter.close()
    vi.advanceTimersByTime(2_000)
    // The client of HTTP keeps timers of its own, which must be real.
    vi.useRealTimers()
    await closed
    expect(counted.exported).toBe(0)
    expect(counted.dropped).toBeGreaterThanOrEqual(total - 256)
  })

  it('sends what waits when it is closed', async () => {
    const { exporter, counted } = anExporter()
    for (let i = 0; i < 300; i++) exporter.add(aSpan())
    await exporter.close()
    expect(counted).toEqual({ exported: 300, dropped: 0 })
    expect(collector.spans).toHaveLength(300)
  })
})
