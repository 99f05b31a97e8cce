import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { TaskFigures } from '../../async/background.js'
import { inTime } from '../../async/in-time.js'
import type { RpcObserver } from '../../chain/rpc.js'
import type { RelayerEvents } from '../../facilitator/relayer/outcomes.js'
import type { ScreeningListFigures } from '../../facilitator/screening/list.js'
import type { ScreeningObserver } from '../../facilitator/screening/screening.js'
import { shareReads } from '../../http/cached-reply.js'
import type { LeaseKeeper } from '../../sql/lease-keeper.js'
import { type AnswerMetrics, createAnswerMetrics } from './answers.js'
import type { MetricsPage } from './routes.js'
import { createScreeningMetrics } from './screening.js'
import { createSettlingMetrics, type WatchedNetwork } from './settling.js'

export interface Metrics extends Omit<AnswerMetrics, 'decided' | 'begin'> {
  observeRpc(network: string): RpcObserver
  countSpans(outcome: 'exported' | 'dropped', spans: number): void
  relayerEvents(network: string): RelayerEvents
  /** Shows this network's lanes, queue and head in every scrape from now on. */
  watch(network: WatchedNetwork): void
  /** Shows discovery and directory in every scrape from now on. */
  watchDirectory(directory: WatchedDirectory): void
  /** Shows in every scrape from now on how many answers were not kept as activity since the start. */
  watchActivity(dropped: () => number): void
  /** Shows in every scrape from now on how the tasks of one half went. */
  watchBackground(list: () => readonly TaskFigures[]): void
  /** Counts what screening refuses, and what its service says. */
  screening: ScreeningObserver
  /** Shows the screening list in every scrape from now on. */
  watchScreeningList(figures: () => ScreeningListFigures): void
  /** Shows the leases of this process in every scrape from now on. */
  watchLeases(leases: WatchedLeases): void
  /** Shows the database in every scrape from now on. */
  watchDatabase(database: WatchedDatabase): void
  /** Shows the disk of the database in every scrape from now on. */
  watchDisk(disk: WatchedDisk): void
  /** Returns the page as Prometheus reads it, made anew at most once a second. Never rejects because of the chain. */
  render(): Promise<MetricsPage>
}

/** What the paid checks found. */
interface CheckFigures {
  byReason: readonly { reason: string; count: number; last: number }[]
  /** The last check of each endpoint of our own, with its time in Unix seconds. */
  own: readonly { reason: string; at: number }[]
  /** The time between two checks of one of them. */
  ownPauseSeconds: number
  /** Wallets that could pay for any check; `undefined` if the chain does not answer. */
  funded: number | undefined
}

/** The state of the directory that a scrape reads, as its thread last reported it. */
interface WatchedDirectory {
  /** `undefined` before its first report. */
  figures():
    | {
        /** The number of endpoints of the catalog in memory, and how long reading it took. */
        index: { endpoints: number; readSeconds: number }
        /** Endpoints that wait for their probe and are read from the database, and endpoints that are being probed. */
        probes: { queued: number; underWay: number }
        /** `undefined` where nothing is bought. */
        checks: CheckFigures | undefined
      }
    | undefined
  isUp(): boolean
  /** Counts the restarts of its thread. */
  restarts(): number
}

interface WatchedDatabase {
  store: 'sqlite' | 'postgres'
  isWritable(): Promise<boolean>
  sizeBytes(): Promise<number>
}

/** The disk under the database, as a scrape reads it. */
interface WatchedDisk {
  isLow(): boolean
  /** `undefined` if the database is not on a disk of this machine. */
  freeBytes(): number | undefined
}

/** The leases of this process, as a scrape reads them. */
type WatchedLeases = Pick<LeaseKeeper, 'ageMs' | 'clockAhead'>

/** A scrape waits no longer than this for a database or a node. */
const PATIENCE_MS = 1_500
/** PostgreSQL adds up the sizes of its files for each answer. */
const SIZE_CACHE_MS = 60_000

/** The route has no rate limit, so many scrapes at once cost one. */
const CACHE_MS = 1_000

/** Creates all figures of the service, in a registry of its own. */
export function createMetrics(now: () => number): Metrics {
  const page = new ScrapedPage()
  const { registry } = page
  collectDefaultMetrics({ register: registry })
  const answers = createAnswerMetrics(registry)
  const settling = createSettlingMetrics(registry)
  const screening = createScreeningMetrics(registry)
  const spans = new Counter({
    name: 'arcus_trace_spans_total',
    help: 'Spans that the collector of traces took, and spans that were dropped because it did not.',
    labelNames: ['outcome'],
    registers: [registry],
  })

  return {
    ...answers,
    observeRpc: createRpcMetrics(registry),
    countSpans: (outcome, count) => spans.inc({ outcome }, count),
    watchBackground: createBackgroundWatch(page),
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
    watch(network) {
      answers.begin(network.network)
      page.addRefresh(() => soon(settling.show(network, now()), undefined))
    },
    watchDatabase: (database) => watchDatabase(page, database, now),
    watchDirectory: (directory) => watchDirectory(page, directory),
    screening,
    watchScreeningList: (figures) => watchScreeningList(page, figures, now),
    watchActivity(dropped) {
      const help = 'Answers since the start whose activity could not be kept.'
      page.addGauge('arcus_activity_dropped', help, dropped)
    },
    watchLeases: (leases) => watchLeases(page, leases),
    watchDisk: (disk) => watchDisk(page, disk),
    render: shareReads(CACHE_MS, now, () => page.render()),
  }
}

/** The page of all figures, which each scrape brings up to date. */
class ScrapedPage {
  readonly registry = new Registry()
  readonly #refreshes: (() => Promise<void>)[] = []

  /** Adds what sets figures to the present state before each scrape. It must take `PATIENCE_MS` at most, and never reject. */
  addRefresh(refresh: () => Promise<void>): void {
    this.#refreshes.push(refresh)
  }

  /** Adds a gauge that each scrape reads anew. A figure that is unknown at the moment stays as it was. */
  addGauge(
    name: string,
    help: string,
    read: () => number | undefined | Promise<number | undefined>,
    labels: Record<string, string> = {},
  ): void {
    const labelNames = Object.keys(labels)
    const gauge = new Gauge({ name, help, labelNames, registers: [this.registry] })
    this.addRefresh(async () => {
      const figure = await read()
      if (figure !== undefined) gauge.set(labels, figure)
    })
  }

  async render(): Promise<MetricsPage> {
    await Promise.all(this.#refreshes.map((refresh) => refresh()))
    return { contentType: this.registry.contentType, text: await this.registry.metrics() }
  }
}

/** Makes the function that shows the tasks of one half from then on. */
function createBackgroundWatch(page: ScrapedPage): Metrics['watchBackground'] {
  const runs = new Counter({
    name: 'arcus_background_runs_total',
    help: 'Runs of what the service does by itself, without a request, by task and by result.',
    labelNames: ['task', 'result'],
    registers: [page.registry],
  })
  /** Each returns the tasks of one half. */
  const lists: (() => readonly TaskFigures[])[] = []
  page.addRefresh(async () => {
    runs.reset()
    for (const { task, done, failed } of lists.flatMap((list) => list())) {
      runs.inc({ task, result: 'done' }, done)
      runs.inc({ task, result: 'failed' }, failed)
    }
  })
  return (list) => void lists.push(list)
}

function watchDatabase(
  page: ScrapedPage,
  { store, isWritable, sizeBytes }: WatchedDatabase,
  now: () => number,
): void {
  const readSize = shareReads(SIZE_CACHE_MS, now, sizeBytes)
  const isUp = () => soon(isWritable().then(Number), 0)
  const size = () => soon(readSize(), undefined)
  const labels = { store }
  page.addGauge('arcus_database_up', '1 while the journal can be written, else 0.', isUp, labels)
  const bytes = 'Size of the database, its log included on SQLite.'
  page.addGauge('arcus_database_bytes', bytes, size, labels)
}

function watchScreeningList(
  page: ScrapedPage,
  figures: () => ScreeningListFigures,
  now: () => number,
): void {
  page.addGauge(
    'arcus_screening_list_addresses',
    'Addresses of the screening list that is in force.',
    () => figures().addresses,
  )
  page.addGauge(
    'arcus_screening_list_age_seconds',
    'Time since the file of the screening list that is in force was written.',
    () => (now() - figures().writtenAt) / 1_000,
  )
  page.addGauge(
    'arcus_screening_list_broken',
    '1 while the file of the screening list cannot be used and an older list is in force, else 0.',
    () => Number(figures().isBroken),
  )
}

function watchDirectory(page: ScrapedPage, { figures, isUp, restarts }: WatchedDirectory): void {
  let show: ((found: CheckFigures) => void) | undefined
  page.addRefresh(async () => {
    const found = figures()?.checks
    if (found === undefined) return
    show ??= createCheckGauges(page.registry)
    show(found)
  })
  page.addGauge(
    'arcus_directory_up',
    '1 while the thread of the directory answers, else 0. Payments do not need it.',
    () => Number(isUp()),
  )
  page.addGauge(
    'arcus_directory_restarts',
    'How often the thread of the directory was started again.',
    restarts,
  )
  page.addGauge(
    'arcus_discovery_endpoints',
    'Endpoints that discovery can show; 0 until the catalog is read.',
    () => figures()?.index.endpoints,
  )
  page.addGauge(
    'arcus_discovery_build_seconds',
    'How long the last reading of the catalog took.',
    () => figures()?.index.readSeconds,
  )
  page.addGauge(
    'arcus_probe_queue_length',
    'Endpoints that wait for their probe.',
    () => figures()?.probes.queued,
  )
  page.addGauge(
    'arcus_probes_under_way',
    'Endpoints that are being probed.',
    () => figures()?.probes.underWay,
  )
}

function watchLeases(page: ScrapedPage, { ageMs, clockAhead }: WatchedLeases): void {
  page.addGauge(
    'arcus_lease_age_seconds',
    'Time since this replica last renewed its leases; above 4.5 it sends nothing. 0 on SQLite.',
    () => (ageMs() ?? 0) / 1000,
  )
  page.addGauge(
    'arcus_clock_ahead_seconds',
    'How far the clock of this machine is ahead of the clock of the database; negative if it is behind.',
    () => (clockAhead().least + clockAhead().most) / 2_000,
  )
}

function watchDisk(page: ScrapedPage, { isLow, freeBytes }: WatchedDisk): void {
  page.addGauge(
    'arcus_disk_free_bytes',
    'Free bytes on the disk of the SQLite database.',
    freeBytes,
  )
  page.addGauge(
    'arcus_disk_low',
    '1 while the disk is nearly full and only payments are kept, else 0.',
    () => Number(isLow()),
  )
}

/** Makes the figures of the paid checks, and returns what brings them up to date. */
function createCheckGauges(registry: Registry): (found: CheckFigures) => void {
  const registers = [registry]
  const total = new Gauge({
    name: 'arcus_checks',
    help: 'Paid checks of listed endpoints that are kept, by what they found.',
    labelNames: ['reason'],
    registers,
  })
  const success = new Gauge({
    name: 'arcus_check_success_timestamp_seconds',
    help: 'When a paid check last delivered, Unix seconds; 0 if none has.',
    registers,
  })
  const own = new Gauge({
    name: 'arcus_check_own_up',
    help: '1 if the last paid check of each endpoint of our own delivered, else 0; absent before the first.',
    registers,
  })
  const ownTime = new Gauge({
    name: 'arcus_check_own_timestamp_seconds',
    help: 'When an endpoint of our own was last bought from, Unix seconds; absent before the first time.',
    registers,
  })
  const ownPause = new Gauge({
    name: 'arcus_check_own_pause_seconds',
    help: 'Time from one paid check of an endpoint of our own to the next, as the money of the day allows.',
    registers,
  })
  const funded = new Gauge({
    name: 'arcus_check_wallets_funded',
    help: 'Wallets of paid checks that could pay for any check: they hold CHECK_MAX_USD and are not blocked.',
    registers,
  })
  for (const gauge of [own, ownTime, funded]) gauge.remove()
  return (found) => {
    for (const { reason, count } of found.byReason) total.set({ reason }, count)
    success.set(found.byReason.find(({ reason }) => reason === 'delivered')?.last ?? 0)
    if (found.funded !== undefined) funded.set(found.funded)
    ownPause.set(found.ownPauseSeconds)
    if (found.own.length === 0) return
    own.set(Number(found.own.every(({ reason }) => reason === 'delivered')))
    ownTime.set(Math.max(...found.own.map(({ at }) => at)))
  }
}

/** Resolves with the value, or with the substitute if it fails or takes too long. */
function soon<Value>(value: Promise<Value>, substitute: Value): Promise<Value> {
  return inTime(
    value.catch(() => substitute),
    PATIENCE_MS,
    () => substitute,
  )
}

/** Bounds from the round trip to a node in the same rack up to the timeout of a send, in seconds. */
const RPC_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]

/**
 * Counts calls to the chain's nodes. The label of a node is its place in the settings, from 0, because its address may
 * contain an access key.
 */
function createRpcMetrics(registry: Registry): (network: string) => RpcObserver {
  const registers = [registry]
  const requests = new Counter({
    name: 'arcus_rpc_requests_total',
    help: 'JSON-RPC calls that were tried; members of a batch count one each.',
    labelNames: ['network', 'node', 'method', 'ok'],
    registers,
  })
  const seconds = new Histogram({
    name: 'arcus_rpc_seconds',
    help: 'Time of one round trip to a node, whether it succeeded or not.',
    labelNames: ['network', 'node'],
    buckets: RPC_BUCKETS,
    registers,
  })
  const up = new Gauge({
    name: 'arcus_rpc_node_up',
    help: 'Whether the last round trip to the node succeeded.',
    labelNames: ['network', 'node'],
    registers,
  })

  return (network) => {
    return ({ node: index, methods, ms, ok }) => {
      const node = String(index)
      for (const [method, count] of countEach(methods)) {
        requests.inc({ network, node, method, ok: String(ok) }, count)
      }
      seconds.observe({ network, node }, ms / 1000)
      up.set({ network, node }, ok ? 1 : 0)
    }
  }
}

function countEach(methods: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const method of methods) counts.set(method, (counts.get(method) ?? 0) + 1)
  return counts
}
