import { SpanKind } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { TracingOptions } from './traces.js'

interface SdkOptions {
  /** The collector, to which `/v1/traces` is added. */
  endpoint: string
  /** Attributes of the process that all its spans share, apart from those that OpenTelemetry reads from the environment. */
  resource: Readonly<Record<string, string>>
  /** Called with how many spans the collector took, or did not. */
  onOutcome?: (outcome: 'exported' | 'dropped', spans: number) => void
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

/** Some 8 MB. A collector that is away for seconds at full load costs spans, and no memory beyond this. */
const MAX_WAITING = 8_192
/** The serialization of one batch takes a millisecond or two, during which the event loop does nothing else. */
const MAX_BATCH = 256
const EVERY_MS = 1_000
/** Following every trace costs a sixth of the speed. */
const SAMPLED_SHARE = 0.1
const TIMEOUT_MS = 5_000
const CLOSE_MS = 2_000

/**
 * Loads OpenTelemetry's SDK, which reads its own variables: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`,
 * `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_TRACES_SAMPLER_ARG`. It is a chunk of its own in the bundle: a service without a
 * collector never reads it.
 */
export async function openSdk(options: SdkOptions) {
  const { endpoint, resource } = options
  const [sdk, otlp, resources, core] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/core'),
  ])
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const exporter = new otlp.OTLPTraceExporter({ url, timeoutMillis: TIMEOUT_MS })
  const ratio = new sdk.TraceIdRatioBasedSampler(
    core.getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? SAMPLED_SHARE,
  )
  const ofRequests = new sdk.ParentBasedSampler({ root: ratio })
  const provider = new sdk.BasicTracerProvider({
    // What the operator sets in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES takes precedence.
    resource: resources
      .resourceFromAttributes(resource)
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    sampler: {
      // Spans other than those of requests are only begun for requests that are sampled.
      shouldSample: (...about) =>
        about[3] === SpanKind.SERVER
          ? ofRequests.shouldSample(...about)
          : { decision: sdk.SamplingDecision.RECORD_AND_SAMPLED },
      toString: () => `requests: ${ofRequests}`,
    },
    spanProcessors: [
      new sdk.BatchSpanProcessor(observed(exporter, options), {
        maxQueueSize: MAX_WAITING,
        maxExportBatchSize: MAX_BATCH,
        scheduledDelayMillis: EVERY_MS,
        exportTimeoutMillis: TIMEOUT_MS,
      }),
    ],
  })
  const open: TracingOptions = {
    tracer: provider.getTracer('arcus'),
    propagator: new core.W3CTraceContextPropagator(),
  }
  return {
    ...open,
    /** Sends what waits, for two seconds at most. */
    async close(): Promise<void> {
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())
      await Promise.race([provider.shutdown().catch(() => {}), late])
    },
  }
}

/** Counts what the collector took. The log names the first failure and the recovery. */
function observed(exporter: SpanExporter, { onOutcome, log }: SdkOptions): SpanExporter {
  let isAway = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const isTaken = result.code === 0
        onOutcome?.(isTaken ? 'exported' : 'dropped', spans.length)
        if (isTaken && isAway) log.info({}, 'traces are taken again')
        if (!isTaken && !isAway) {
          log.warn({ err: result.error }, 'traces are dropped: the collector does not take them')
        }
        isAway = !isTaken
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
