import { Pool } from 'undici'

/** One piece of work with a beginning and an end, as OTLP/HTTP writes it in JSON. */
export interface Span {
  /** 32 hex digits. */
  traceId: string
  /** 16 hex digits. */
  spanId: string
  parentSpanId?: string
  name: string
  /** 1 internal, 2 server (OTLP `SpanKind`). */
  kind: 1 | 2
  /** Unix milliseconds, with fractions. */
  startedAt: number
  endedAt: number
  attributes: Readonly<Record<string, string | number | undefined>>
  /** Spans of other traces that took part. */
  links?: readonly { traceId: string; spanId: string }[]
  isError?: boolean
}

export interface SpanExporter {
  /** Takes a finished span, and returns at once. A span for which there is no room is dropped and counted. */
  add(span: Span): void
  /** Sends what waits, for two seconds at most, and closes the connection. */
  close(): Promise<void>
}

export interface SpanExporterOptions {
  /** The collector, to which `/v1/traces` is added. */
  endpoint: string
  headers: Readonly<Record<string, string>>
  /** Attributes of the process that all its spans share. */
  resource: Readonly<Record<string, string>>
  /** Called with how many spans were taken by the collector, or dropped. */
  onOutcome?: (outcome: 'exported' | 'dropped', spans: number) => void
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

/** Some 4 MB. A collector that is away for seconds at full load costs spans, and no memory beyond this. */
const MAX_WAITING = 8_192
/** The serialization of one batch takes a millisecond or two, during which the event loop does nothing else. */
const MAX_BATCH = 256
const EVERY_MS = 1_000
const TIMEOUT_MS = 5_000
const CLOSE_MS = 2_000

/**
 * Sends spans to a collector by OTLP/HTTP in JSON, in batches and one request at a time. Nothing waits for it: a batch that
 * the collector does not take is dropped and counted, and the log names only the first failure and the recovery.
 */
export function createSpanExporter(options: SpanExporterOptions): SpanExporter {
  const { endpoint, headers, resource, onOutcome = () => {}, log } = options
  const url = new URL(`${endpoint.replace(/\/+$/, '')}/v1/traces`)
  const pool = new Pool(url.origin, {
    connections: 1,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    connectTimeout: TIMEOUT_MS,
  })
  let waiting: Span[] = []
  let sending: Promise<void> | undefined
  let isAway = false

  const timer = setInterval(flush, EVERY_MS)
  timer.unref()

  function flush(): void {
    if (sending !== undefined || waiting.length === 0) return
    sending = sendAll().finally(() => {
      sending = undefined
    })
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH)
      waiting = waiting.slice(MAX_BATCH)
      await send(batch)
    }
  }

  async function send(batch: readonly Span[]): Promise<void> {
    try {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(toRequest(batch, resource)),
      })
      await body.dump()
      if (statusCode >= 300) throw new Error(`the collector answers ${statusCode}`)
      onOutcome('exported', batch.length)
      if (isAway) log.info({}, 'traces are taken again')
      isAway = false
    } catch (err) {
      onOutcome('dropped', batch.length)
      if (!isAway) log.warn({ err }, 'traces are dropped: the collector does not take them')
      isAway = true
    }
  }

  return {
    add(span) {
      if (waiting.length >= MAX_WAITING) return onOutcome('dropped', 1)
      waiting.push(span)
      if (waiting.length >= MAX_BATCH) flush()
    },
    async close() {
      clearInterval(timer)
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())
      flush()
      await Promise.race([sending, late])
      if (waiting.length > 0) onOutcome('dropped', waiting.length)
      waiting = []
      await pool.destroy()
    },
  }
}

/** Returns the `ExportTraceServiceRequest` of OTLP. */
function toRequest(spans: readonly Span[], resource: Readonly<Record<string, string>>) {
  const scopeSpans = [{ scope: { name: 'arcus' }, spans: spans.map(toOtlp) }]
  return { resourceSpans: [{ resource: { attributes: toAttributes(resource) }, scopeSpans }] }
}

function toOtlp({ startedAt, endedAt, attributes, links = [], isError, ...span }: Span) {
  return {
    ...span,
    startTimeUnixNano: toNanos(startedAt),
    endTimeUnixNano: toNanos(Math.max(startedAt, endedAt)),
    attributes: toAttributes(attributes),
    ...(links.length > 0 && { links }),
    status: isError ? { code: 2 } : {},
  }
}

/** Unix nanoseconds do not fit a double, so the fraction is written beside the whole. */
function toNanos(ms: number): string {
  const whole = Math.floor(ms)
  return `${whole}${String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`
}

function toAttributes(values: Readonly<Record<string, string | number | undefined>>) {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return []
    return { key, value: typeof value === 'string' ? { stringValue: value } : { intValue: value } }
  })
}
