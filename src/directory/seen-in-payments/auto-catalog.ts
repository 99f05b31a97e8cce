import { asSentence } from '@arcus/protocol/listing/text'
import type { BazaarResource, BazaarStatus } from '@arcus/protocol/x402/bazaar'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { toSeconds } from '../../async/time.js'
import type { ProbeResult } from '../probe/probe.js'
import type { ListingStore, StoredEndpoint } from '../store/listings.js'
import { unclaimedId, unclaimedName } from '../store/ownership.js'
import { describeEndpoint } from './draft.js'
import { type EntryPlace, entriesAt, findPlace, healthOfSeen, isStale } from './entry-place.js'
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

const MAX_RECENT = 5_000
const MAX_REFUSALS = 2_000
const MAX_REFUSALS_FOUND = 5
/** New entries in an hour. One payTo has at most fifty entries; a host may serve several merchants. */
const growthBounds = { inAll: 1_000, perPayer: 50, perPayTo: 50, perHost: 100 }
/** Times for which the same offer gets the same answer; for a rejection as long as discovery may be cached. */
const STANDING_MS = 1_000
const REJECTED_MS = 60_000

const processing: BazaarStatus = { status: 'processing' }

/**
 * The catalog of resources found in settled payments, which stand until an owner lists them. The URL comes from a buyer, so a
 * probe must confirm it.
 */
export class AutoCatalog {
  readonly #options: AutoCatalogOptions
  readonly #growth: ReturnType<typeof createHourlyBounds>
  /** The last answers, so that many payments for one resource cause few reads and checks. */
  readonly #recent: LRUCache<string, { fingerprint: string; status: BazaarStatus }>
  readonly #refusals: ReturnType<typeof createRefusals>

  constructor(options: AutoCatalogOptions) {
    const { now } = options
    this.#options = options
    this.#growth = createHourlyBounds(growthBounds, now)
    this.#recent = new LRUCache({ max: MAX_RECENT, perf: { now }, ttlResolution: 0 })
    this.#refusals = createRefusals(now)
  }

  /**
   * Takes in the resource that a settled payment describes, and resolves with what became of it. Taking one in again
   * changes nothing. `probed` is the result of a probe that found it, so that its entry needs none. Rejects if the store
   * cannot be read or written.
   */
  async take(offer: OfferedResource, probed?: ProbeResult): Promise<BazaarStatus> {
    const { key, fingerprint } = offer
    const known = this.#recent.get(key)
    if (known?.fingerprint === fingerprint) return known.status
    const status = await this.#addEntry(offer, probed)
    if (status.status === 'rejected') {
      this.#keepRejected(offer, status)
    } else {
      this.#recent.set(key, { fingerprint, status }, { ttl: STANDING_MS })
      this.#refusals.forget(offer.resource.url, offer.terms.payTo)
    }
    return status
  }

  /** Notes why the resource of a payment is no offer. */
  noteRefusal(refused: RefusedOffer): void {
    this.#refusals.note(refused)
  }

  /** Finds the last refusals of a URL, latest first. */
  findRefusals(url: string) {
    return this.#refusals.find(url)
  }

  /**
   * Finds the last refusals of a recipient, latest first, without those of URLs that are listed by now. They name what
   * buyers called, so they are for the recipient alone.
   */
  async findRefusalsOf(payTo: Address) {
    const noted = this.#refusals.findOf(payTo)
    const listed = await Promise.all(
      noted.map(({ url }) => url !== null && this.#isListed(url, payTo)),
    )
    return noted.filter((_, i) => !listed[i])
  }

  /** Adds the entry of a resource, unless it has one or may have none. */
  async #addEntry(offer: OfferedResource, probed: ProbeResult | undefined): Promise<BazaarStatus> {
    const { store, isDiskLow, probeSoon, keepProbe } = this.#options
    const { resource, terms, uncalled } = offer
    const { network, asset, payer, payTo, requirement } = terms
    const { url, method, toolName } = resource
    const place = await findPlace(store, { url, method, toolName, network, payTo })
    const standing = this.#statusAt(offer, place)
    if (standing !== undefined) return standing
    const problem = await this.#problemOf(resource)
    if (problem !== undefined) return rejected(problem)
    const described = describeEndpoint(resource, terms)
    if (!described.ok) return rejected(described.rejectedReason)
    if (isDiskLow()) return rejected('no new resources are kept at the moment.')
    if (place.state === 'free') {
      const full = this.#growth.take({ payer, payTo, host: new URL(url).host })
      if (full !== undefined) return rejected(`too many new resources were seen ${full}.`)
    }
    const merchant = { id: unclaimedId(payTo), name: unclaimedName(payTo), network, asset, payTo }
    const health = healthOfSeen([requirement], uncalled, this.#nowSeconds())
    const endpoint = { ...described.endpoint, ...health }
    const evicted = place.state === 'free' ? place.evicted : undefined
    const saved = await store.saveUnclaimed(merchant, endpoint, this.#nowSeconds(), evicted)
    if (saved.state === 'owned') return rejected('its owner lists this URL.')
    if (saved.state === 'known') return processing
    if (uncalled !== undefined) return rejected(neverLive(uncalled))
    if (probed === undefined) probeSoon(saved.endpointId)
    else await keepProbe(saved.endpointId, probed)
    return processing
  }

  /** Returns the status of a resource whose place is taken; `undefined` when it needs an entry. */
  #statusAt({ terms, resource }: OfferedResource, place: EntryPlace): BazaarStatus | undefined {
    if (place.state === 'free') return undefined
    if (place.state === 'taken') {
      if (place.rival !== undefined) this.#probeAgain(place.rival)
      return rejected(place.rejectedReason)
    }
    const { endpoint } = place
    const isAsPaid = agrees(endpoint.accepts, [terms.requirement])
    if (place.state === 'listed') {
      if (!isAsPaid) this.#probeAgain(endpoint)
      return { status: 'success' }
    }
    const { status, probe } = endpoint
    if (status === 'live') {
      if (isAsPaid) return { status: 'success' }
      this.#probeAgain(endpoint)
      return rejected(leftOut.otherTerms)
    }
    if (status === 'failing') {
      // Of a route that was bought under another path, this one may answer.
      const isOther = !isSamePath(resource.pathParams, endpoint.example.pathParams)
      if (isOther || isStale(endpoint, this.#nowSeconds())) return undefined
      return rejected(`a probe of it found: ${probe?.message ?? 'no answer.'}`)
    }
    const isNeverCalled = endpoint.nextProbeAt === null
    return isNeverCalled && probe !== null ? rejected(neverLive(probe)) : processing
  }

  /** Returns what is wrong with a description. One that needs much work while others do is checked with the next payment. */
  async #problemOf({ info, schema }: Partial<BazaarResource>): Promise<string | undefined> {
    if (info === undefined || schema === undefined) return undefined
    const verdict = await this.#options.infoCheck.check({ info, schema })
    return verdict.ok ? undefined : verdict.rejectedReason
  }

  /** Probes an endpoint again after a payment on other terms or to somebody else: it may have changed. */
  #probeAgain(endpoint: StoredEndpoint): void {
    if (isStale(endpoint, this.#nowSeconds())) this.#options.probeSoon(endpoint.id)
  }

  #keepRejected(
    { key, fingerprint, settlementId, terms, resource: { url } }: OfferedResource,
    status: Extract<BazaarStatus, { status: 'rejected' }>,
  ): void {
    this.#recent.set(key, { fingerprint, status }, { ttl: REJECTED_MS })
    const { rejectedReason } = status
    this.#refusals.note({ url, payTo: terms.payTo, rejectedReason })
    this.#options.log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
  }

  async #isListed(url: string, payTo: Address): Promise<boolean> {
    const entries = await entriesAt(this.#options.store, url, payTo)
    return entries.some(({ status }) => status === 'live')
  }

  #nowSeconds(): number {
    return toSeconds(this.#options.now())
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
