import { asSentence } from '@arcus/protocol/listing/text'
import type { BazaarResource, BazaarStatus } from '@arcus/protocol/x402/bazaar'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { ProbeResult } from '../probe/probe.js'
import type { ListingStore, StoredEndpoint } from '../store/listings.js'
import { unclaimedId, unclaimedName } from '../store/ownership.js'
import { describeEndpoint } from './draft.js'
import { type EntryPlace, findPlace, healthOfSeen, isStale } from './entry-place.js'
import { createHourlyBounds } from './hourly-bounds.js'
import type { InfoCheck } from './info-check.js'
import { leftOut } from './left-out.js'
import { agrees, type OfferedResource, type RefusedOffer } from './offer.js'

export interface AutoCatalogOptions {
  store: Pick<
    ListingStore,
    | 'findMerchant'
    | 'merchantsPaidTo'
    | 'endpointsOf'
    | 'findByUrl'
    | 'findAtUrl'
    | 'findTemplates'
    | 'saveUnclaimed'
  >
  infoCheck: InfoCheck
  /** Has an endpoint probed as soon as its host's turn comes. */
  probeSoon: (endpointId: number) => void
  /** Keeps the result of a probe that found the endpoint. */
  keepProbe: (endpointId: number, result: ProbeResult) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
  /** Nothing new is kept while the disk is nearly full. */
  isDiskLow: () => boolean
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
}

export type AutoCatalog = ReturnType<typeof createAutoCatalog>

const MAX_RECENT = 5_000
const MAX_REFUSALS = 2_000
const MAX_REFUSALS_FOUND = 5
/** Entries of one URL that are read. */
const MAX_AT_URL = 20
/** New entries in an hour. One payTo has at most fifty entries; a host may serve several merchants. */
const growthBounds = { inAll: 1_000, perPayer: 50, perPayTo: 50, perHost: 100 }
/** Times for which the same offer gets the same answer; for a rejection as long as discovery may be cached. */
const STANDING_MS = 1_000
const REJECTED_MS = 60_000

const processing: BazaarStatus = { status: 'processing' }

/**
 * Creates the catalog of resources found in settled payments, which stand until an owner lists them. The URL comes from a
 * buyer, so a probe must confirm it.
 */
export function createAutoCatalog(options: AutoCatalogOptions) {
  const { store, infoCheck, now, log } = options
  const growth = createHourlyBounds(growthBounds, now)
  /** The last answers, so that many payments for one resource cause few reads and checks. */
  const recent = new LRUCache<string, { fingerprint: string; status: BazaarStatus }>({
    max: MAX_RECENT,
    perf: { now },
    ttlResolution: 0,
  })
  const refusals = createRefusals(now)
  const nowSeconds = () => Math.floor(now() / 1000)
  const placeOf = ({
    resource: { url, method, toolName },
    terms: { network, payTo },
  }: OfferedResource) => findPlace(store, { url, method, toolName, network, payTo })

  async function isListed(url: string, payTo: Address): Promise<boolean> {
    const found = [...(await store.findAtUrl({ url }, MAX_AT_URL))]
    found.push(...(await store.findTemplates({ url }, MAX_AT_URL)))
    return found.some(
      ({ endpoint, merchant }) => merchant.payTo === payTo && endpoint.status === 'live',
    )
  }

  function keepRejected(
    { key, fingerprint, settlementId, terms, resource: { url } }: OfferedResource,
    status: Extract<BazaarStatus, { status: 'rejected' }>,
  ): void {
    recent.set(key, { fingerprint, status }, { ttl: REJECTED_MS })
    const { rejectedReason } = status
    refusals.note({ url, payTo: terms.payTo, rejectedReason })
    log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
  }

  /** Returns what is wrong with a description. One that needs much work while others do is checked with the next payment. */
  async function problemOf({ info, schema }: Partial<BazaarResource>): Promise<string | undefined> {
    if (info === undefined || schema === undefined) return undefined
    const verdict = await infoCheck.check({ info, schema })
    return verdict.ok ? undefined : verdict.rejectedReason
  }

  /** Adds the entry of a resource, unless it has one or may have none. */
  async function addEntry(
    offer: OfferedResource,
    probed: ProbeResult | undefined,
  ): Promise<BazaarStatus> {
    const { resource, terms, uncalled } = offer
    const place = await placeOf(offer)
    const standing = statusAt(offer, place)
    if (standing !== undefined) return standing
    const problem = await problemOf(resource)
    if (problem !== undefined) return rejected(problem)
    const described = describeEndpoint(resource, terms)
    if (!described.ok) return rejected(described.rejectedReason)
    if (options.isDiskLow()) return rejected('no new resources are kept at the moment.')
    const { network, asset, payer, payTo, requirement } = terms
    if (place.state === 'free') {
      const full = growth.take({ payer, payTo, host: new URL(resource.url).host })
      if (full !== undefined) return rejected(`too many new resources were seen ${full}.`)
    }
    const merchant = { id: unclaimedId(payTo), name: unclaimedName(payTo), network, asset, payTo }
    const health = healthOfSeen([requirement], uncalled, nowSeconds())
    const endpoint = { ...described.endpoint, ...health }
    const evicted = place.state === 'free' ? place.evicted : undefined
    const saved = await store.saveUnclaimed(merchant, endpoint, nowSeconds(), evicted)
    if (saved.state === 'owned') return rejected('its owner lists this URL.')
    if (saved.state === 'known') return processing
    if (uncalled !== undefined) return rejected(neverLive(uncalled))
    if (probed === undefined) options.probeSoon(saved.endpointId)
    else await options.keepProbe(saved.endpointId, probed)
    return processing
  }

  /** Returns the status of a resource whose place is taken; `undefined` when it needs an entry. */
  function statusAt(
    { terms, resource }: OfferedResource,
    place: EntryPlace,
  ): BazaarStatus | undefined {
    if (place.state === 'free') return undefined
    if (place.state === 'taken') {
      if (place.rival !== undefined) probeAgain(place.rival)
      return rejected(place.rejectedReason)
    }
    const { endpoint } = place
    const isAsPaid = agrees(endpoint.accepts, [terms.requirement])
    if (place.state === 'listed') {
      if (!isAsPaid) probeAgain(endpoint)
      return { status: 'success' }
    }
    const { status, probe } = endpoint
    if (status === 'live') {
      if (isAsPaid) return { status: 'success' }
      probeAgain(endpoint)
      return rejected(leftOut.otherTerms)
    }
    if (status === 'failing') {
      // Of a route that was bought under another path, this one may answer.
      const isOther = !isSamePath(resource.pathParams, endpoint.example.pathParams)
      if (isOther || isStale(endpoint, nowSeconds())) return undefined
      return rejected(`a probe of it found: ${probe?.message ?? 'no answer.'}`)
    }
    const isNeverCalled = endpoint.nextProbeAt === null
    return isNeverCalled && probe !== null ? rejected(neverLive(probe)) : processing
  }

  /** Probes an endpoint again after a payment on other terms or to somebody else: it may have changed. */
  function probeAgain(endpoint: StoredEndpoint): void {
    if (isStale(endpoint, nowSeconds())) options.probeSoon(endpoint.id)
  }

  return {
    /**
     * Takes in the resource that a settled payment describes, and resolves with what became of it. Taking one in again
     * changes nothing. `probed` is the result of a probe that found it, so that its entry needs none. Rejects if the store
     * cannot be read or written.
     */
    async take(offer: OfferedResource, probed?: ProbeResult): Promise<BazaarStatus> {
      const { key, fingerprint } = offer
      const known = recent.get(key)
      if (known?.fingerprint === fingerprint) return known.status
      const status = await addEntry(offer, probed)
      if (status.status === 'rejected') keepRejected(offer, status)
      else {
        recent.set(key, { fingerprint, status }, { ttl: STANDING_MS })
        refusals.forget(offer.resource.url, offer.terms.payTo)
      }
      return status
    },
    /** Notes why the resource of a payment is no offer. */
    noteRefusal: refusals.note,
    findRefusals: refusals.find,
    /**
     * Finds the last refusals of a recipient, latest first, without those of URLs that are listed by now. They name what
     * buyers called, so they are for the recipient alone.
     */
    async findRefusalsOf(payTo: Address) {
      const noted = refusals.findOf(payTo)
      const listed = await Promise.all(noted.map(({ url }) => url !== null && isListed(url, payTo)))
      return noted.filter((_, i) => !listed[i])
    },
  }
}

function isSamePath(a: BazaarResource['pathParams'] = {}, b: typeof a = {}): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}

function neverLive({ verdict, message }: { verdict: string; message: string }): string {
  const kept = `${message} It is kept as unverified, outside the default order.`
  return verdict === 'blocked_target' ? `${kept} ${leftOut.privateHost}` : kept
}

function rejected(rejectedReason: string): BazaarStatus {
  return { status: 'rejected', rejectedReason: asSentence(rejectedReason) }
}

/** A paid resource that was not listed, as its seller reads it. */
interface NotedRefusal {
  /** Without its query; `null` where the payment named no web address. */
  url: string | null
  payTo: Address
  reason: string
  /** Unix seconds. */
  at: number
}

/** Keeps the last refusals by URL and recipient, but not who paid. `now` is in Unix milliseconds. */
function createRefusals(now: () => number) {
  const kept = new LRUCache<string, NotedRefusal>({ max: MAX_REFUSALS })
  const latest = (isWanted: (refusal: NotedRefusal) => boolean) =>
    [...kept.values()].filter(isWanted).slice(0, MAX_REFUSALS_FOUND)
  return {
    note({ url, payTo, rejectedReason: reason }: RefusedOffer): void {
      const at = Math.floor(now() / 1000)
      kept.set(`${payTo} ${url}`, { url: url ?? null, payTo, reason, at })
    },
    /** Forgets one, because the resource has its entry now. */
    forget: (url: string, payTo: Address): boolean => kept.delete(`${payTo} ${url}`),
    /** Finds the last ones of a URL, latest first, at most a few. */
    find: (url: string) =>
      latest((refusal) => refusal.url === url).map(({ url: _, ...refusal }) => refusal),
    /** The same of a recipient. */
    findOf: (payTo: Address) =>
      latest((refusal) => refusal.payTo === payTo).map(({ payTo: _, ...refusal }) => refusal),
  }
}
