import { targetKey } from '@arcus/protocol/x402/calls'
import { findToken, type Stablecoin } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import { createTokenBuckets } from '../../async/limits.js'
import { blockOf } from '../../http/rate-limit.js'
import { freshHealth, nextHealth } from '../probe/health.js'
import type { Probe, ProbeResult } from '../probe/probe.js'
import { hostKey } from '../probe/target-rules.js'
import { WriteFault } from '../refusals.js'
import type { EndpointDraft, StoredEndpoint, WrittenEndpoint } from '../store/listings.js'

interface SaveProbesOptions {
  probe: Probe
  /** CAIP-2. */
  network: string
  /** All that are settled on it. */
  tokens: readonly Stablecoin[]
  /** Unix milliseconds. */
  now: () => number
}

/** Probes of one save that run at once. */
const PER_SAVE = 4
/** After this time no further probe starts, so that the save is answered before its client gives up. */
const WINDOW_MS = 20_000
/** Definite wrong answers after which the save is refused without further probes. */
const MAX_REFUSED = 10
/** Probes of one host by the saves of everybody. */
const PER_HOST = { capacity: 300, refillMs: 1_000 }
/** Seconds until an endpoint that the save did not probe is probed. */
const CATCH_UP_SECONDS = 60

interface Refused {
  index: number
  result: ProbeResult
}

/**
 * Creates the probes of a save. Throws a `WriteFault` (`endpoint_refused`) that names each endpoint with a definite wrong
 * answer. An endpoint that could not be checked is kept as unverified, with the reason and the time of its next probe.
 */
export function createSaveProbes(options: SaveProbesOptions) {
  const { probe, now } = options
  const hosts = createTokenBuckets({ ...PER_HOST, now })

  return async (
    endpoints: readonly WrittenEndpoint[],
    payTo: ProbeTarget,
    known: readonly StoredEndpoint[],
  ): Promise<EndpointDraft[]> => {
    const startedAt = now()
    const results: ProbeResult[] = []
    const refused: Refused[] = []
    let next = 0

    async function probeNext(): Promise<void> {
      while (next < endpoints.length && refused.length < MAX_REFUSED) {
        const index = next++
        const endpoint = endpoints[index] as WrittenEndpoint
        const isLate = now() - startedAt > WINDOW_MS
        const mayCall = !isLate && hosts.take(hostKey(endpoint.url)) === 0
        const result = mayCall ? await probe(endpoint, payTo) : notChecked(isLate, now())
        results[index] = result
        if (result.isDefinite && result.record.verdict !== 'live') refused.push({ index, result })
      }
    }
    await Promise.all(Array.from({ length: PER_SAVE }, probeNext))
    if (refused.length > 0) throw refusal(endpoints, refused)
    return endpoints.map((endpoint, index) => {
      const before = known.find((it) => targetKey(it) === targetKey(endpoint))
      return toSaved(endpoint, results[index] as ProbeResult, before)
    })

    function toSaved(
      endpoint: WrittenEndpoint,
      result: ProbeResult,
      before?: StoredEndpoint,
    ): EndpointDraft {
      const { network, tokens } = options
      const asset = findToken(tokens, endpoint.asset) as Stablecoin
      const fresh = freshHealth({ network, asset, payTo, price: endpoint.price })
      // Saving again neither heals a failing endpoint nor counts as a failure of another.
      const isFailing = before?.status === 'failing'
      const quoted = quotedFor(payTo, { network, asset }, before)
      const accepts = quoted ?? fresh.accepts
      const wasLive = before?.status === 'live' && quoted !== undefined
      const status = wasLive ? before.status : fresh.status
      const standing = { ...fresh, accepts, status, extras: before?.extras ?? fresh.extras }
      const previous = isFailing
        ? { ...standing, status: before.status, failures: before.failures }
        : standing
      const seconds = Math.floor(now() / 1000)
      const health = nextHealth(previous, result, seconds, Math.random)
      if (result.record.verdict !== NOT_CHECKED) return { ...endpoint, ...health }
      const nextProbeAt = seconds + CATCH_UP_SECONDS
      return { ...endpoint, ...health, failures: previous.failures, nextProbeAt }
    }
  }
}

/** Returns the last live quote, which stays while the endpoint is out of reach, unless payTo or token of the listing changed. */
function quotedFor(
  payTo: ProbeTarget,
  { network, asset }: { network: string; asset: Stablecoin },
  before: StoredEndpoint | undefined,
) {
  const isPaid = before?.accepts
    .filter((it) => it.network === network)
    .every((it) => String(it.payTo).toLowerCase() === payTo.toLowerCase())
  if (isPaid !== true || before?.asset !== asset.address || before.accepts.length === 0)
    return undefined
  // Terms that only repeat the earlier listing were never quoted by the endpoint.
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

function refusal(endpoints: readonly WrittenEndpoint[], refused: Refused[]): WriteFault {
  const details = refused
    .sort((a, b) => a.index - b.index)
    .map(({ index, result }) => {
      const { url, method } = endpoints[index] as WrittenEndpoint
      const { verdict, message, seen } = result.record
      return { path: `endpoints[${index}]`, method, url, reason: verdict, message, seen }
    })
  const sentences = details.map(
    ({ path, method, url, reason, message }) => `${path} (${method} ${url}): ${reason}. ${message}`,
  )
  const rest = refused.length < MAX_REFUSED ? '' : ' No further ones were checked.'
  const text = `Nothing was saved. ${sentences.join(' ')}${rest}`
  return new WriteFault('endpoint_refused', text, { endpoints: details })
}

/** Endpoints that saves of one owner may have checked: a full listing six times at once, then five a second. */
const ofOwner = { capacity: 600, refillMs: 200 }
/** The same for one block of addresses: a key costs nothing, and a new one has an allowance of its own. */
const ofBlock = { capacity: 1_200, refillMs: 100 }

export type SaveAllowances = ReturnType<typeof createSaveAllowances>

/** Creates the bounds on the endpoints that are checked in a short time. `now` is in Unix milliseconds. */
export function createSaveAllowances(now: () => number) {
  const owners = createTokenBuckets({ ...ofOwner, now })
  const blocks = createTokenBuckets({ ...ofBlock, now })
  return {
    /** Takes endpoints of an owner and of their addresses. Returns 0, or takes none and returns the seconds to wait. */
    take({ owner, ip }: { owner: Address; ip: string }, endpoints: number): number {
      const waitSeconds = owners.take(owner, endpoints)
      return waitSeconds > 0 ? waitSeconds : blocks.take(blockOf(ip), endpoints)
    },
  }
}
