import { Gauge, type Registry } from 'prom-client'

/** What a scrape looks at of discovery and directory. */
export interface WatchedDirectory {
  /** Of the catalog in memory: its endpoints, and how long reading it took. */
  index(): { endpoints: number; readSeconds: number }
  /** Endpoints that are due for a look and read, and those that are being looked at. */
  probes(): { queued: number; underWay: number }
  /** Answers whose activity was given up since the start. */
  dropped(): number
}

/** Shows how discovery and directory stand. */
export function createDirectoryMetrics(registry: Registry): (watched: WatchedDirectory) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const endpoints = gauge(
    'arcus_discovery_endpoints',
    'Endpoints that discovery can show; 0 until the catalog is read.',
  )
  const build = gauge(
    'arcus_discovery_build_seconds',
    'How long the last reading of the catalog took.',
  )
  const queued = gauge('arcus_probe_queue_length', 'Endpoints that are due and wait for a look.')
  const underWay = gauge('arcus_probes_under_way', 'Endpoints that are being looked at.')
  const givenUp = gauge(
    'arcus_activity_dropped',
    'Answers since the start whose activity could not be kept.',
  )
  return ({ index, probes, dropped }) => {
    const figures = index()
    endpoints.set(figures.endpoints)
    build.set(figures.readSeconds)
    queued.set(probes().queued)
    underWay.set(probes().underWay)
    givenUp.set(dropped())
  }
}
