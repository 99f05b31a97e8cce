import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { ScreeningListFigures } from '../../facilitator/screening/list.js'
import type { ScreenedOut } from '../../facilitator/screening/screening.js'
import type { Verdict } from '../../facilitator/screening/service.js'

/** A payment waits 0.3 s for a verdict. Seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5]

/** Counts what screening refuses, and shows the list that is in force. */
export class ScreeningMetrics {
  readonly #registry: Registry
  readonly #refused: Counter<'by' | 'side'>
  readonly #asked: Histogram<'verdict'>

  constructor(registry: Registry) {
    this.#registry = registry
    const registers = [registry]
    this.#refused = new Counter({
      name: 'arcus_screening_refused_total',
      help: 'Checks that screening ended: by is list, service, or error where no verdict came; side is the refused one.',
      labelNames: ['by', 'side'],
      registers,
    })
    this.#asked = new Histogram({
      name: 'arcus_screening_service_seconds',
      help: 'Time the screening service took, by its verdict: allowed, refused, or failed.',
      buckets: BUCKETS,
      labelNames: ['verdict'],
      registers,
    })
  }

  refused({ by, side }: ScreenedOut): void {
    this.#refused.inc({ by, side })
  }

  asked(verdict: Verdict, seconds: number): void {
    this.#asked.observe({ verdict }, seconds)
  }

  /** Shows the list in every scrape from now on. */
  watchList(figures: () => ScreeningListFigures, now: () => number): void {
    const show = (name: string, help: string, read: (list: ScreeningListFigures) => number) =>
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read(figures()))
        },
      })
    show(
      'arcus_screening_list_addresses',
      'Addresses of the screening list in force.',
      ({ addresses }) => addresses,
    )
    show(
      'arcus_screening_list_age_seconds',
      'Time since the file of the screening list in force was written.',
      ({ writtenAt }) => (now() - writtenAt) / 1_000,
    )
    show(
      'arcus_screening_list_broken',
      '1 while the file of the screening list cannot be used and an older list is in force, else 0.',
      ({ isBroken }) => Number(isBroken),
    )
  }
}
