import type { Endpoint, EndpointHealth, ListedEndpoint } from '../store/listings.js'
import { createBuckets } from './probe/call-budget.js'
import { hostKey } from './probe/host-pace.js'
import { freshHealth, nextHealth } from './probe/next-health.js'
import type { Probe, ProbeResult } from './probe/probe.js'
import { WriteFault } from './write-codes.js'

/** An endpoint as it is saved. */
export type LookedAt = ListedEndpoint & EndpointHealth

export interface SaveLooksOptions {
  probe: Probe
  /** CAIP-2. */
  network: string
  asset: Parameters<typeof freshHealth>[0]['asset']
  /** Unix milliseconds. */
  now: () => number
  /** From 0 to 1; for when to look next. */
  random?: () => number
}

/** Calls of one save under way at once. */
const PER_SAVE = 4
/** After this no further call is begun, so that a save is answered before its connection is given up. */
const WINDOW_MS = 20_000
/** Definite wrong answers after which a save is lost, and nobody need be called any more. */
const MAX_REFUSED = 10
/** Calls of one host in a row by saves of anybody, and the time until one more. */
const PER_HOST = { capacity: 300, refillMs: 1_000 }
/** What was not called at the save is looked at this much later. */
const CATCH_UP_SECONDS = 60

interface Refused {
  index: number
  result: ProbeResult
}

/**
 * Looks at every endpoint of a save. Throws a `WriteFault` (`endpoint_refused`) that names each endpoint with a definite
 * wrong answer; what could not be judged is kept as unverified, with the reason and the time of the next look.
 */
export function createSaveLooks(options: SaveLooksOptions) {
  const { probe, now, random = Math.random } = options
  const hosts = createBuckets({ ...PER_HOST, now })

  return async (
    endpoints: readonly ListedEndpoint[],
    payTo: ProbeTarget,
    known: readonly Endpoint[],
  ): Promise<LookedAt[]> => {
    const startedAt = now()
    const results: ProbeResult[] = []
    const refused: Refused[] = []
    let next = 0

    async function work(): Promise<void> {
      while (next < endpoints.length && refused.length < MAX_REFUSED) {
        const index = next++
        const endpoint = endpoints[index] as ListedEndpoint
        const isLate = now() - startedAt > WINDOW_MS
        const mayCall = !isLate && hosts.take(hostKey(endpoint.url)) === 0
        const result = mayCall ? await probe(endpoint, payTo) : notChecked(isLate, now())
        results[index] = result
        if (result.isDefinite && result.record.verdict !== 'live') refused.push({ index, result })
      }
    }
    await Promise.all(Array.from({ length: PER_SAVE }, work))
    if (refused.length > 0) throw refusal(endpoints, refused)
    return endpoints.map((endpoint, index) => {
      const before = known.find(
        ({ url, method }) => url === endpoint.url && method === endpoint.method,
      )
      return lookedAt(endpoint, results[index] as ProbeResult, before)
    })

    function lookedAt(endpoint: ListedEndpoint, result: ProbeResult, before?: Endpoint): LookedAt {
      const { network, asset } = options
      const fresh = freshHealth({ network, asset, payTo, price: endpoint.price })
      // Saving again neither heals an endpoint that keeps failing nor counts against one that does not.
      const isFailing = before?.status === 'failing'
      const quoted = quotedFor(payTo, options, before)
      const accepts = quoted ?? fresh.accepts
      const wasLive = before?.status === 'live' && quoted !== undefined
      const status = wasLive ? before.status : fresh.status
      const standing = { ...fresh, accepts, status, extras: before?.extras ?? fresh.extras }
      const previous = isFailing
        ? { ...standing, status: before.status, failures: before.failures }
        : standing
      const seconds = Math.floor(now() / 1000)
      const health = nextHealth(previous, result, seconds, random)
      if (result.record.verdict !== NOT_CHECKED) return { ...endpoint, ...health }
      const nextProbeAt = seconds + CATCH_UP_SECONDS
      return { ...endpoint, ...health, failures: previous.failures, nextProbeAt }
    }
  }
}

/** The last live quote stays while the endpoint is out of reach, unless the listing is paid elsewhere now. */
function quotedFor(
  payTo: ProbeTarget,
  { network, asset }: Pick<SaveLooksOptions, 'network' | 'asset'>,
  before: Endpoint | undefined,
) {
  const isPaid = before?.accepts
    .filter((it) => it.network === network)
    .every((it) => String(it.payTo).toLowerCase() === payTo.toLowerCase())
  if (isPaid !== true || before === undefined || before.accepts.length === 0) return undefined
  // What an earlier listing said was never quoted by anybody.
  const unseen = freshHealth({ network, asset, payTo, price: before.price }).accepts
  const isSeen =
    before.status === 'live' || JSON.stringify(before.accepts) !== JSON.stringify(unseen)
  return isSeen ? before.accepts : undefined
}

type ProbeTarget = Parameters<Probe>[1]

const NOT_CHECKED = 'not_checked'

function notChecked(isLate: boolean, nowMs: number): ProbeResult {
  const why = isLate
    ? 'checking the endpoints before it took too long'
    : 'its host was checked often just now'
  const record = {
    verdict: NOT_CHECKED,
    message: `The endpoint was not checked at this save: ${why}. It is checked in a minute.`,
    warnings: [],
    seen: {},
    checkedAt: Math.floor(nowMs / 1000),
  }
  return { record, accepts: [], isDefinite: false, extras: {} }
}

function refusal(endpoints: readonly ListedEndpoint[], refused: Refused[]): WriteFault {
  const details = refused
    .sort((a, b) => a.index - b.index)
    .map(({ index, result }) => {
      const { url, method } = endpoints[index] as ListedEndpoint
      const { verdict, message, seen } = result.record
      return { path: `endpoints[${index}]`, method, url, reason: verdict, message, seen }
    })
  const sentences = details.map(
    ({ path, method, url, reason, message }) => `${path} (${method} ${url}): ${reason}. ${message}`,
  )
  const rest = refused.length < MAX_REFUSED ? '' : ' No further ones were checked.'
  const text = `Nothing was saved. ${sentences.join(' ')}${rest}`
  return new WriteFault('endpointRefused', text, { endpoints: details })
}
