import type {
  CatalogEntry,
  DescribedEndpoint,
  Endpoint,
  EndpointHealth,
  ListingStore,
} from '../../store/listings.js'
import { createHostPace, type HostPace, hostKey } from './host-pace.js'
import { createHostSlots } from './host-slots.js'
import { nextHealth } from './next-health.js'
import type { Probe, ProbeResult } from './probe.js'

/** How often it is looked whether something waits, and whether something new is due. */
const TICK_MS = 1_000
const IDLE_REFILL_MS = 15_000
/** Rows read from the store at once. */
const BATCH = 64
/** How long a look by hand waits for the turn of its host. */
const TURN_WAIT_MS = 5_000
/** Looks asked for that may wait for their hosts; more than these come at their time. */
const MAX_ASKED = 100
/** A second failure sooner than this, asked for by hand, is the same failure. */
const SAME_FAILURE_SECONDS = 240

export interface ProbeScheduleOptions {
  store: Pick<ListingStore, 'dueEndpoints' | 'entriesById' | 'saveProbe'>
  probe: Probe
  /** Unix milliseconds. */
  now: () => number
  /** What a look does to an entry; unless given, what it does to an owner's. */
  judge?: (entry: CatalogEntry, result: ProbeResult, nowSeconds: number) => Promise<JudgedLook>
  /** 0 to 1; `Math.random` unless a test gives another. */
  random?: () => number
  /** Endpoints looked at at once. */
  concurrency?: number
  /** Given when others take turns at the same hosts. */
  pace?: HostPace
  log: { warn(o: object, m: string): void; debug(o: object, m: string): void }
}

export interface JudgedLook {
  /** The health after the look, over what is known by then. */
  after(previous: EndpointHealth): EndpointHealth
  /** The endpoint in its own words, where they take the place of a stranger's. */
  described?: DescribedEndpoint
}

/** What `probeNow` found. `busy` when the host's turn is taken; `changed` when the listing was saved meanwhile. */
export type ProbeNowResult =
  | { state: 'probed'; health: EndpointHealth }
  | { state: 'busy' | 'changed' | 'missing' }

export interface ProbeSchedule {
  start(): void
  /** Starts nothing more and keeps nothing more; resolves when what was under way has ended. */
  stop(): Promise<void>
  /** How much waits, and how many looks are under way. */
  figures(): { queued: number; underWay: number }
  /** Looks at one endpoint at once, for its owner. */
  probeNow(merchantId: string, endpointId: number): Promise<ProbeNowResult>
  /** Looks at an endpoint before all that is due, as soon as its host's turn comes. Never throws. */
  lookSoon(endpointId: number): void
}

/** `due` at its time, `asked` before it, `hand` for somebody who waits for the answer. */
type Cause = 'due' | 'asked' | 'hand'

/** Looks at every endpoint again and again, at the times the store says, and keeps what it finds. */
export function createProbeSchedule(options: ProbeScheduleOptions): ProbeSchedule {
  const { store, probe, now, log, random = Math.random, concurrency = 4 } = options
  const pace = options.pace ?? createHostPace(now)
  const slots = createHostSlots(hostKey)
  const seconds = () => Math.floor(now() / 1000)
  const judge = options.judge ?? judgeListed
  /** Asked for, before their time. */
  let asked: CatalogEntry[] = []
  /** Due and read, most overdue first. */
  let queue: CatalogEntry[] = []
  /** By number of the endpoint. */
  const underWay = new Map<number, Promise<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let refilling: Promise<void> | undefined
  let refillAt = 0

  async function find(id: number): Promise<CatalogEntry | undefined> {
    return isStopped ? undefined : (await store.entriesById([id]))[0]
  }

  async function judgeListed(
    _: CatalogEntry,
    result: ProbeResult,
    nowSeconds: number,
  ): Promise<JudgedLook> {
    return { after: (previous: EndpointHealth) => nextHealth(previous, result, nowSeconds, random) }
  }

  async function look(id: number, cause: Cause): Promise<ProbeNowResult> {
    const before = await find(id)
    if (before === undefined) return { state: 'missing' }
    // What was read as due may have been saved, or looked at by hand, while it waited.
    if (cause === 'due' && !isDue(before.endpoint, seconds())) return { state: 'changed' }
    const result = await probe(before.endpoint, before.merchant.payTo)
    const judged = await judge(before, result, seconds())
    const after = await find(id)
    if (after === undefined) return { state: 'missing' }
    // Saved while we looked: that save had its own look, at what stands there now.
    if (isOther(after, before)) return { state: 'changed' }
    const health = judged.after(after.endpoint)
    const kept = cause === 'hand' ? asOneFailure(after.endpoint, health) : health
    await store.saveProbe(id, kept, seconds(), judged.described)
    log.debug({ endpointId: id, verdict: result.record.verdict }, 'endpoint probed')
    return { state: 'probed', health: kept }
  }

  /** Runs a look whose host's turn is taken. */
  function run({ id, url }: Endpoint, cause: Cause): Promise<ProbeNowResult> {
    const work = look(id, cause).finally(() => {
      pace.leave(hostKey(url))
      underWay.delete(id)
      if (!isStopped) pump()
    })
    underWay.set(id, work)
    return work
  }

  /** When the store fails, the endpoint stays due. */
  function runAlone(endpoint: Endpoint, cause: Cause): void {
    run(endpoint, cause).catch((err) => log.warn({ err }, 'a look at an endpoint was not kept'))
  }

  /** Starts what may start, and answers what must wait. */
  function startFrom(entries: readonly CatalogEntry[], cause: Cause): CatalogEntry[] {
    const waiting: CatalogEntry[] = []
    for (const entry of entries) {
      const { id, url } = entry.endpoint
      if (underWay.has(id)) continue
      if (underWay.size >= concurrency || !pace.enter(hostKey(url))) waiting.push(entry)
      else runAlone(entry.endpoint, cause)
    }
    return waiting
  }

  function pump(): void {
    asked = startFrom(asked, 'asked')
    queue = startFrom(queue, 'due')
  }

  async function ask(endpointId: number): Promise<void> {
    const entry = await find(endpointId)
    const isAsked = asked.some(({ endpoint }) => endpoint.id === endpointId)
    if (entry === undefined || isAsked || asked.length >= MAX_ASKED) return
    asked.push(entry)
    pump()
  }

  async function refill(): Promise<void> {
    const due = await store.dueEndpoints(seconds(), BATCH)
    refillAt = now() + (due.length < BATCH ? IDLE_REFILL_MS : 0)
    const { ready, later } = slots.share(
      due.filter(({ endpoint }) => !underWay.has(endpoint.id)),
      seconds(),
    )
    for (const { endpoint, at } of later) {
      if (isStopped) return
      await store.saveProbe(endpoint.id, { ...healthOf(endpoint), nextProbeAt: at }, seconds())
    }
    queue = ready
  }

  async function tick(): Promise<void> {
    if (refilling !== undefined) return
    // With a look to spare, all that is queued waits for its host: read again what else is due.
    if (underWay.size < concurrency && now() >= refillAt) {
      refilling = refill().catch((err) => log.warn({ err }, 'due endpoints could not be read'))
      await refilling
      refilling = undefined
    }
    if (!isStopped) pump()
  }

  return {
    start() {
      timer = setInterval(tick, TICK_MS)
      void tick()
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      await Promise.allSettled([refilling, ...underWay.values()])
    },
    figures: () => ({ queued: queue.length, underWay: underWay.size }),
    async probeNow(merchantId, endpointId) {
      const [entry] = await store.entriesById([endpointId])
      if (entry?.merchant.id !== merchantId) return { state: 'missing' }
      const { url } = entry.endpoint
      if (!(await pace.enterWithin(hostKey(url), TURN_WAIT_MS))) return { state: 'busy' }
      return run(entry.endpoint, 'hand')
    },
    lookSoon(endpointId) {
      ask(endpointId).catch((err) => log.warn({ err }, 'an endpoint could not be read'))
    },
  }
}

function isDue({ nextProbeAt }: Endpoint, nowSeconds: number): boolean {
  return nextProbeAt !== null && nextProbeAt <= nowSeconds
}

/** Whether what was looked at is not what is listed any more. */
function isOther(current: CatalogEntry, looked: CatalogEntry): boolean {
  return (
    current.merchant.revision !== looked.merchant.revision ||
    current.merchant.payTo !== looked.merchant.payTo ||
    current.endpoint.price !== looked.endpoint.price ||
    JSON.stringify(current.endpoint.example) !== JSON.stringify(looked.endpoint.example)
  )
}

/** Asking three times in a minute must not make an endpoint `failing`. */
function asOneFailure(previous: Endpoint, next: EndpointHealth): EndpointHealth {
  const { failures, status, nextProbeAt, probe } = previous
  if (next.failures === 0 || failures === 0 || probe === null || next.probe === null) return next
  if (next.probe.checkedAt - probe.checkedAt >= SAME_FAILURE_SECONDS) return next
  return { ...next, failures, status, nextProbeAt }
}

function healthOf(endpoint: Endpoint): EndpointHealth {
  const { accepts, extras, status, probe, failures, nextProbeAt } = endpoint
  return { accepts, extras, status, probe, failures, nextProbeAt }
}
