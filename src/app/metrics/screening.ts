import { Counter, Histogram, type Registry } from 'prom-client'
import type { ScreeningObserver } from '../../facilitator/screening/screening.js'

/** A payment waits 0.3 s for a verdict. Seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5]

/** Counts what screening refuses, and times its service. */
export function createScreeningMetrics(registry: Registry): ScreeningObserver {
  const registers = [registry]
  const refused = new Counter({
    name: 'arcus_screening_refused_total',
    help: 'Checks that screening ended: by is list, service, or error where no verdict came; side is the refused one.',
    labelNames: ['by', 'side'],
    registers,
  })
  const asked = new Histogram({
    name: 'arcus_screening_service_seconds',
    help: 'Time the screening service took, by its verdict: allowed, refused or failed.',
    buckets: BUCKETS,
    labelNames: ['verdict'],
    registers,
  })
  return {
    refused: ({ by, side }) => refused.inc({ by, side }),
    asked: (verdict, seconds) => asked.observe({ verdict }, seconds),
  }
}
