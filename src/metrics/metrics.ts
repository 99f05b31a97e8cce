import { collectDefaultMetrics, Registry } from 'prom-client'
import type { RpcObserver } from '../chain/rpc.js'
import type { MetricsPage } from '../http/metrics.js'
import type { RelayerEvents } from '../relayer/outcomes.js'
import { type AnswerMetrics, createAnswerMetrics } from './answers.js'
import { createChainMetrics } from './chain.js'
import { createDirectoryMetrics, type WatchedDirectory } from './directory.js'
import { createDiskMetrics, type WatchedDisk } from './disk.js'
import { createSettlingMetrics, type WatchedNetwork } from './settling.js'

export interface Metrics extends Omit<AnswerMetrics, 'decided'> {
  observeRpc(network: string): RpcObserver
  relayerEvents(network: string): RelayerEvents
  /** Shows this network's lanes, queue and head in every scrape from now on. */
  watch(network: WatchedNetwork): void
  /** The same for discovery and directory. */
  watchDirectory(directory: WatchedDirectory): void
  /** The same for the disk of the database, where there is one. */
  watchDisk(disk: WatchedDisk): void
  /** The page as Prometheus reads it; looked at anew at most once a second. Never fails for the chain's sake. */
  render(): Promise<MetricsPage>
}

/** The route knows no rate limit; many scrapes at once cost one. */
const CACHE_MS = 1_000

/** All figures of the service, in a registry of its own. */
export function createMetrics(now: () => number): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const answers = createAnswerMetrics(registry)
  const settling = createSettlingMetrics(registry)
  const watched: WatchedNetwork[] = []
  const lookAtDirectory = createDirectoryMetrics(registry)
  const lookAtDisk = createDiskMetrics(registry)
  let directory: WatchedDirectory | undefined
  let disk: WatchedDisk | undefined
  let latest: Promise<MetricsPage> | undefined
  let freshUntil = 0

  async function render(): Promise<MetricsPage> {
    if (directory !== undefined) lookAtDirectory(directory)
    if (disk !== undefined) lookAtDisk(disk)
    await Promise.all(watched.map((network) => settling.look(network, now())))
    return { contentType: registry.contentType, text: await registry.metrics() }
  }

  return {
    ...answers,
    observeRpc: createChainMetrics(registry),
    relayerEvents(network) {
      const events = settling.relayerEvents(network)
      return {
        ...events,
        decided(job, outcome) {
          events.decided(job, outcome)
          answers.decided(job, outcome)
        },
      }
    },
    watch: (network) => void watched.push(network),
    watchDirectory(watchedDirectory) {
      directory = watchedDirectory
    },
    watchDisk(watchedDisk) {
      disk = watchedDisk
    },
    render() {
      if (latest === undefined || now() >= freshUntil) {
        freshUntil = now() + CACHE_MS
        latest = render()
      }
      return latest
    },
  }
}
