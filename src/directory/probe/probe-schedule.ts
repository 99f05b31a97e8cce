import { toSeconds } from '../../async/time.js'
import type {
  CatalogEntry,
  DescribedEndpoint,
  EndpointHealth,
  ListingStore,
  StoredEndpoint,
} from '../store/listings.js'
import { GAP_MS, type HostPace } from './call-limits.js'
import { asOneFailure } from './health.js'
import type { Probe, ProbeResult } from './probe.js'
import { hostKey } from './target-rules.js'

/** Interval of reading due endpoints from the store while few are due. */
const IDLE_REFILL_MS = 15_000
/** Rows read from the store at once. */
const BATCH = 64
/** Probes that run at once. */
const CONCURRENCY = 4
/** Early probes that may wait for their hosts; further ones come at their time. */
const MAX_EARLY = 100

export interface ProbeScheduleOptions {
  store: Pick<ListingStore, 'dueEndpoints' | 'entriesById' | 'saveProbe'>
  probe: Probe
  /** Returns whether this process probes what is due, as one process does for all. */
  isKeeper: () => boolean
  /** Unix milliseconds. */
  now: () => number
  effectOf: (entry: CatalogEntry, result: ProbeResult, nowSeconds: number) => Promise<ProbeEffect>
  /** The calls that other parts of the service make to the same hosts are counted here as well. */
  pace: HostPace
  log: { warn(o: object, m: string): void; debug(o: object, m: string): void }
}

export interface ProbeEffect {
  /** Returns the health after the probe, from the health known by then. */
  after(previous: EndpointHealth): EndpointHealth
  /** The endpoint as its own 402 describes it, if that replaces the description of a buyer. */
  described?: DescribedEndpoint
}

/** The result of `probeNow`. `busy` while another call has the host; `changed` when the listing was saved meanwhile. */
type ProbeNowResult =
  | { state: 'probed'; health: EndpointHealth }
  | { state: 'busy' | 'changed' | 'missing' }

/** `due` at its time, `early` before it, `request` for a caller who waits for the result. */
type ProbeCause = 'due' | 'early' | 'request'

/**
 * Probes every endpoint again and again, at the times the store says, and keeps the results. `nextHealth` says after how many
 * failures an endpoint is `failing`, and when it is probed again.
 */
export class ProbeSchedule {
  readonly #options: ProbeScheduleOptions
  readonly #spread = createHostSpread()
  /** Entries to probe before their time. */
  #early: CatalogEntry[] = []
  /** Due entries, most overdue first. */
  #queue: CatalogEntry[] = []
  /** By id of the endpoint. */
  readonly #underWay = new Map<number, Promise<unknown>>()
  #isStopped = false
  #refillAt = 0

  constructor(options: ProbeScheduleOptions) {
    this.#options = options
  }

  /** Reads what is due, unless enough is under way, and starts the probes that may start. Call it every second. */
  async look(): Promise<void> {
    try {
      // With a free probe, every queued entry waits for its host: read which others are due.
      const isFree = this.#underWay.size < CONCURRENCY
      if (isFree && this.#options.now() >= this.#refillAt) await this.#refill()
    } finally {
      this.#startWaiting()
    }
  }

  /** Starts and keeps nothing more; resolves when the running probes have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.allSettled(this.#underWay.values())
  }

  /** Counts the waiting and the running probes. */
  figures(): { queued: number; underWay: number } {
    return { queued: this.#queue.length, underWay: this.#underWay.size }
  }

  /** Probes one endpoint now, for its owner. */
  async probeNow(merchantId: string, endpointId: number): Promise<ProbeNowResult> {
    const { store, pace } = this.#options
    const [entry] = await store.entriesById([endpointId])
    if (entry?.merchant.id !== merchantId) return { state: 'missing' }
    if (!(await pace.enterSoon(entry.endpoint.url))) return { state: 'busy' }
    return this.#run(entry.endpoint, 'request')
  }

  /** Probes an endpoint before all due ones, as soon as its host is free. Never throws. */
  probeSoon(endpointId: number): void {
    this.#addEarly(endpointId).catch((err) =>
      this.#options.log.warn({ err }, 'an endpoint could not be read'),
    )
  }

  /** Keeps the result of a probe that was made a moment ago, before the endpoint had its entry. */
  async keepProbe(endpointId: number, result: ProbeResult): Promise<void> {
    const entry = await this.#find(endpointId)
    if (entry !== undefined) await this.#keep(entry, result, 'early')
  }

  async #addEarly(endpointId: number): Promise<void> {
    const entry = await this.#find(endpointId)
    const isKnown = this.#early.some(({ endpoint }) => endpoint.id === endpointId)
    if (entry === undefined || isKnown || this.#early.length >= MAX_EARLY) return
    this.#early.push(entry)
    this.#startWaiting()
  }

  async #refill(): Promise<void> {
    const { store, isKeeper, now } = this.#options
    const due = isKeeper() ? await store.dueEndpoints(this.#seconds(), BATCH) : []
    this.#refillAt = now() + (due.length < BATCH ? IDLE_REFILL_MS : 0)
    const waiting = due.filter(({ endpoint }) => !this.#underWay.has(endpoint.id))
    const { ready, later } = this.#spread(waiting, this.#seconds())
    for (const { endpoint, at } of later) {
      if (this.#isStopped) return
      await store.saveProbe(endpoint.id, { ...endpoint, nextProbeAt: at }, this.#seconds())
    }
    this.#queue = ready
  }

  #startWaiting(): void {
    if (this.#isStopped) return
    this.#early = this.#startFrom(this.#early, 'early')
    this.#queue = this.#startFrom(this.#queue, 'due')
  }

  /** Starts the probes that may start, and returns the entries that must wait. */
  #startFrom(entries: readonly CatalogEntry[], cause: ProbeCause): CatalogEntry[] {
    const { pace } = this.#options
    const waiting: CatalogEntry[] = []
    for (const entry of entries) {
      const { id, url } = entry.endpoint
      if (this.#underWay.has(id)) continue
      if (this.#underWay.size >= CONCURRENCY || !pace.enter(url)) waiting.push(entry)
      else this.#runAlone(entry.endpoint, cause)
    }
    return waiting
  }

  /** Runs a probe without a caller. If the store fails, the endpoint stays due. */
  #runAlone(endpoint: StoredEndpoint, cause: ProbeCause): void {
    this.#run(endpoint, cause).catch((err) =>
      this.#options.log.warn({ err }, 'the result of a probe could not be kept'),
    )
  }

  /** Runs a probe for which its host is reserved. */
  #run({ id, url }: StoredEndpoint, cause: ProbeCause): Promise<ProbeNowResult> {
    const work = this.#probeOne(id, cause).finally(() => {
      this.#options.pace.leave(url)
      this.#underWay.delete(id)
      this.#startWaiting()
      // The next early probe of this host can begin then, and need not wait for the next look.
      if (this.#early.length > 0) setTimeout(() => this.#startWaiting(), GAP_MS).unref()
    })
    this.#underWay.set(id, work)
    return work
  }

  async #probeOne(id: number, cause: ProbeCause): Promise<ProbeNowResult> {
    const { probe } = this.#options
    const before = await this.#find(id)
    if (before === undefined) return { state: 'missing' }
    // A due entry may have been saved or probed on request while it waited.
    if (cause === 'due' && !isDue(before.endpoint, this.#seconds())) return { state: 'changed' }
    return this.#keep(before, await probe(before.endpoint, before.merchant.payTo), cause)
  }

  /** Keeps the result of a probe of an entry as it was before. */
  async #keep(
    before: CatalogEntry,
    result: ProbeResult,
    cause: ProbeCause,
  ): Promise<ProbeNowResult> {
    const { store, effectOf, log } = this.#options
    const { id } = before.endpoint
    const effect = await effectOf(before, result, this.#seconds())
    const after = await this.#find(id)
    if (after === undefined) return { state: 'missing' }
    // Saved during the probe: that save probed the endpoint as it is now.
    if (isOther(after, before)) return { state: 'changed' }
    const health = effect.after(after.endpoint)
    const kept = cause === 'request' ? asOneFailure(after.endpoint, health) : health
    await store.saveProbe(id, kept, this.#seconds(), effect.described)
    log.debug({ endpointId: id, verdict: result.record.verdict }, 'endpoint probed')
    return { state: 'probed', health: kept }
  }

  async #find(id: number): Promise<CatalogEntry | undefined> {
    return this.#isStopped ? undefined : (await this.#options.store.entriesById([id]))[0]
  }

  #seconds(): number {
    return toSeconds(this.#options.now())
  }
}

function isDue({ nextProbeAt }: StoredEndpoint, nowSeconds: number): boolean {
  return nextProbeAt !== null && nextProbeAt <= nowSeconds
}

/** Returns whether the listing changed since the entry was read for the probe. */
function isOther(current: CatalogEntry, probed: CatalogEntry): boolean {
  return (
    current.merchant.revision !== probed.merchant.revision ||
    current.merchant.payTo !== probed.merchant.payTo ||
    current.endpoint.price !== probed.endpoint.price ||
    JSON.stringify(current.endpoint.example) !== JSON.stringify(probed.endpoint.example)
  )
}

/** Due endpoints of one host that may wait in memory; each takes a second or two. */
const PER_HOST = 8
/** Time between two probes of one host: the gap between calls, and the call itself. */
const SPACING_SECONDS = 2
const MAX_SPREAD_HOSTS = 1_000

/**
 * Creates the spread of due endpoints over time, so that thousands at one crowded host do not delay all other hosts. It
 * returns those that may wait in memory and, for the others, the new time of their probe in Unix seconds.
 */
function createHostSpread() {
  /** The first free second of each host. */
  const freeFrom = new Map<string, number>()

  function nextSlot(host: string, nowSeconds: number): number {
    const at = Math.max(freeFrom.get(host) ?? 0, nowSeconds + PER_HOST * SPACING_SECONDS)
    freeFrom.set(host, at + SPACING_SECONDS)
    return at
  }

  return (due: readonly CatalogEntry[], nowSeconds: number) => {
    if (freeFrom.size > MAX_SPREAD_HOSTS) {
      for (const [host, at] of freeFrom) if (at <= nowSeconds) freeFrom.delete(host)
    }
    const counts = new Map<string, number>()
    const ready: CatalogEntry[] = []
    const later: { endpoint: StoredEndpoint; at: number }[] = []
    for (const entry of due) {
      const host = hostKey(entry.endpoint.url)
      const count = (counts.get(host) ?? 0) + 1
      counts.set(host, count)
      if (count <= PER_HOST) ready.push(entry)
      else later.push({ endpoint: entry.endpoint, at: nextSlot(host, nowSeconds) })
    }
    return { ready, later }
  }
}
