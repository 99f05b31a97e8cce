import { Gauge, type Registry } from 'prom-client'

/** What a scrape looks at of discovery and directory. */
export interface WatchedDirectory {
  /** Of the index of discovery: endpoints in it, of those changed since it was built, and how long building took. */
  index(): { endpoints: number; changed: number; buildSeconds: number }
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
    'Endpoints in the index; 0 until it is read.',
  )
  const changed = gauge(
    'arcus_discovery_changed_endpoints',
    'Endpoints that changed since the index was built as a whole.',
  )
  const build = gauge(
    'arcus_discovery_build_seconds',
    'How long reading the catalog into the index took the last time.',
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
    changed.set(figures.changed)
    build.set(figures.buildSeconds)
    queued.set(probes().queued)
    underWay.set(probes().underWay)
    givenUp.set(dropped())
  }
}
