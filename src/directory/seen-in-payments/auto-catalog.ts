import { setImmediate as nextTurn } from 'node:timers/promises'
import { asSentence } from '@arcus/protocol/listing/text'
import { type BazaarResource, type BazaarStatus, canonicalUrl } from '@arcus/protocol/x402/bazaar'
import { memberOf } from '@arcus/protocol/x402/json'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { inTime } from '../../async/in-time.js'
import { createHourlyCounts } from '../../http/rate-limit.js'
import type { Endpoint, ListingStore } from '../store/listings.js'
import { unclaimedId, unclaimedName } from '../store/ownership.js'
import { describeEndpoint } from './draft.js'
import { findPlace, healthOfSeen, isStale, type Place } from './entry-place.js'
import type { InfoCheck } from './info-check.js'
import { agrees, type Offer, type OfferRules, readOffer, type SettledPayment } from './offer.js'

export interface AutoCatalogOptions extends OfferRules {
  store: Pick<
    ListingStore,
    'findMerchant' | 'merchantsPaidTo' | 'endpointsOf' | 'findByUrl' | 'saveUnclaimed'
  >
  infoCheck: InfoCheck
  /** Has an endpoint probed as soon as its host's turn comes. */
  probeSoon: (endpointId: number) => void
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

const MAX_WAITING = 500
const MAX_WAITING_PER_PAY_TO = 20
const MAX_RECENT = 5_000
const MAX_REFUSALS = 2_000
const MAX_REFUSALS_FOUND = 5
/** New entries in an hour. One payTo has at most fifty entries; a host may serve several merchants. */
const growthBounds = { inAll: 1_000, perPayer: 50, perPayTo: 50, perHost: 100 }
/** Times for which the same offer gets the same answer; for a rejection as long as discovery may be cached. */
const STANDING_MS = 1_000
const REJECTED_MS = 60_000
/** The answer to a payment waits no longer than this for the catalog. */
const ANSWER_MS = 250

const processing: BazaarStatus = { status: 'processing' }

/**
 * Creates the catalog of resources found in settled payments, which stand until an owner lists them. The URL comes from a
 * buyer, so a probe must confirm it.
 */
export function createAutoCatalog(options: AutoCatalogOptions) {
  const { store, infoCheck, now, log } = options
  const growth = createGrowthLimit(now)
  /** The last answers, so that many payments for one resource cause few reads and checks. */
  const recent = new LRUCache<string, { fingerprint: string; status: BazaarStatus }>({
    max: MAX_RECENT,
    perf: { now },
    ttlResolution: 0,
  })
  const refusals = createRefusals(now)
  const nowSeconds = () => Math.floor(now() / 1000)
  const queue = createOfferQueue({
    async run(offer) {
      keepRejected(offer, await addEntry(offer))
    },
    onError: (err, { settlementId }) =>
      log.warn({ err, settlementId }, 'paid resource could not be listed'),
  })

  /** Answers in the making, even if nobody waits for them any more. */
  const answering = new Set<Promise<BazaarStatus>>()

  const placeOf = ({ resource: { url, method, toolName }, terms: { network, payTo } }: Offer) =>
    findPlace(store, { url, method, toolName, network, payTo })

  function keepRejected(
    { key, fingerprint, settlementId, terms, resource: { url } }: Offer,
    status: BazaarStatus,
  ): void {
    if (status.status !== 'rejected') return
    recent.set(key, { fingerprint, status }, { ttl: REJECTED_MS })
    const { rejectedReason } = status
    refusals.note(url, terms.payTo, rejectedReason)
    log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
  }

  async function addEntry(offer: Offer): Promise<BazaarStatus> {
    const { resource, claims, terms, uncalled } = offer
    const verdict = await infoCheck.check(resource)
    if (!verdict.ok) return rejected(verdict.rejectedReason)
    const described = describeEndpoint(claims, terms)
    if (!described.ok) return rejected(described.rejectedReason)
    const place = await placeOf(offer)
    const standing = statusAt(offer, place)
    if (standing !== undefined) return standing
    if (options.isDiskLow()) return rejected('no new resources are kept at the moment.')
    const { network, asset, payer, payTo, requirement } = terms
    if (place.state === 'free') {
      const full = growth({ payer, payTo, host: new URL(resource.url).host })
      if (full !== undefined) return rejected(`too many new resources were seen ${full}.`)
    }
    const merchant = { id: unclaimedId(payTo), name: unclaimedName(payTo), network, asset, payTo }
    const health = healthOfSeen([requirement], uncalled, nowSeconds())
    const endpoint = { ...described.endpoint, ...health }
    const evicted = place.state === 'free' ? place.evicted : undefined
    const saved = await store.saveUnclaimed(merchant, endpoint, nowSeconds(), evicted)
    if (saved.state === 'owned') return rejected('its owner lists this URL.')
    if (saved.state === 'known') return processing
    if (uncalled !== undefined) return rejected(neverLive(uncalled.message))
    options.probeSoon(saved.endpointId)
    return processing
  }

  /** Returns the status of a resource whose place is taken; `undefined` when it needs an entry. */
  function statusAt({ terms, resource }: Offer, place: Place): BazaarStatus | undefined {
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
      return rejected('the endpoint itself asks for other terms than were paid.')
    }
    if (status === 'failing') {
      // Of a route that was bought under another path, this one may answer.
      const isOther = !isSamePath(resource.pathParams, endpoint.example.pathParams)
      if (isOther || isStale(endpoint, nowSeconds())) return undefined
      return rejected(`a probe of it found: ${probe?.message ?? 'no answer.'}`)
    }
    const isNeverCalled = endpoint.nextProbeAt === null
    return isNeverCalled ? rejected(neverLive(probe?.message ?? '')) : processing
  }

  /** Probes an endpoint again after a payment on other terms or to somebody else: it may have changed. */
  function probeAgain(endpoint: Endpoint): void {
    if (isStale(endpoint, nowSeconds())) options.probeSoon(endpoint.id)
  }

  async function answer(offer: Offer): Promise<BazaarStatus> {
    const { key, fingerprint } = offer
    const known = recent.get(key)
    if (known?.fingerprint === fingerprint) return known.status
    const standing = statusAt(offer, await placeOf(offer))
    if (standing !== undefined) {
      recent.set(key, { fingerprint, status: standing }, { ttl: STANDING_MS })
      return standing
    }
    // An extension that cannot be checked now is checked in its turn.
    const verdict = await infoCheck.check(offer.resource).catch(() => undefined)
    if (verdict?.ok === false) {
      const refused = rejected(verdict.rejectedReason)
      keepRejected(offer, refused)
      return refused
    }
    if (queue.add(offer)) return processing
    return rejected('too many resources wait; the next payment offers it again.')
  }

  /** Notes why a resource is not taken in, and adds to the answer which members of its description were left out. */
  function answerOf(
    { payload, payTo }: SettledPayment,
    status: BazaarStatus,
    dropped: readonly string[] = [],
  ): BazaarStatus {
    if (status.status === 'rejected') {
      refusals.note(memberOf(memberOf(payload, 'resource'), 'url'), payTo, status.rejectedReason)
      return status
    }
    if (dropped.length === 0) return status
    return { ...status, reason: `Left out, because they break their rules: ${dropped.join(', ')}.` }
  }

  function unreadable(err: unknown, { settlementId }: SettledPayment): BazaarStatus {
    log.warn({ err, settlementId }, 'extension could not be read')
    return rejected('the extension could not be read.')
  }

  return {
    /**
     * Takes in the resource that a settled payment describes; `undefined` when it describes none. Resolves once the
     * extension is checked, within a quarter of a second; the entry is made later. Never throws and never rejects.
     */
    offer(settled: SettledPayment): Promise<BazaarStatus> | undefined {
      try {
        const read = readOffer(settled, options)
        if (read === undefined) return undefined
        if (!read.ok) return Promise.resolve(answerOf(settled, rejected(read.rejectedReason)))
        const { dropped } = read.offer.resource
        const work = answer(read.offer).catch((err) => unreadable(err, settled))
        answering.add(work)
        void work.finally(() => answering.delete(work))
        return inTime(work, ANSWER_MS, () => processing).then((status) =>
          answerOf(settled, status, dropped),
        )
      } catch (err) {
        return Promise.resolve(unreadable(err, settled))
      }
    },
    findRefusals: refusals.find,
    /** Resolves when every offer so far is handled. */
    async idle(): Promise<void> {
      await Promise.all(answering)
      await queue.idle()
    },
    /** Drops the waiting offers; resolves when the running one has ended. */
    async stop(): Promise<void> {
      await queue.stop()
      await Promise.all(answering)
    },
  }
}

function isSamePath(a: BazaarResource['pathParams'] = {}, b: typeof a = {}): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}

function neverLive(reason: string): string {
  return `${reason} It is kept as unverified, outside the default order.`
}

function rejected(rejectedReason: string): BazaarStatus {
  return { status: 'rejected', rejectedReason: asSentence(rejectedReason) }
}

/**
 * Creates the limit on new entries: it takes one into the counts, or returns the bound that is reached, as the end of a
 * sentence. The bounds of one payer, recipient and host are far below the bound of all, so that nobody uses it up alone:
 * that takes many funded payers, recipients and hosts. `now` is in Unix milliseconds.
 */
function createGrowthLimit(now: () => number) {
  const counts = createHourlyCounts(now)
  return (entry: { payer: Address; payTo: Address; host: string }): string | undefined => {
    const parts = [
      { key: 'all', max: growthBounds.inAll, scope: 'within the hour' },
      {
        key: `payer ${entry.payer}`,
        max: growthBounds.perPayer,
        scope: 'of this payer within the hour',
      },
      {
        key: `payTo ${entry.payTo}`,
        max: growthBounds.perPayTo,
        scope: 'of this payTo within the hour',
      },
      {
        key: `host ${entry.host}`,
        max: growthBounds.perHost,
        scope: 'of this host within the hour',
      },
    ]
    const full = parts.find(({ key, max }) => counts.of(key) >= max)
    if (full !== undefined) return full.scope
    for (const { key } of parts) counts.add(key, 1)
    return undefined
  }
}

/** Creates a queue of offers, which are handled one at a time, each in a loop turn of its own. */
function createOfferQueue(options: {
  run(offer: Offer): Promise<void>
  onError(error: unknown, offer: Offer): void
}) {
  const waiting = new Map<string, Offer>()
  let running: Promise<void> | undefined
  let isStopped = false

  async function drain(): Promise<void> {
    for (;;) {
      // Requests that came meanwhile go first.
      await nextTurn()
      const [next] = waiting
      if (next === undefined) break
      const [key, offer] = next
      waiting.delete(key)
      await options.run(offer).catch((error) => options.onError(error, offer))
    }
    running = undefined
  }

  /** Returns whether the queue has no room. One payTo gets a part of it, so that it cannot fill the queue. */
  function isFull(payTo: Address): boolean {
    if (waiting.size >= MAX_WAITING) return true
    const ofPayTo = [...waiting.values()].filter(({ terms }) => terms.payTo === payTo)
    return ofPayTo.length >= MAX_WAITING_PER_PAY_TO
  }

  return {
    /** Adds an offer, in place of a waiting one with the same key; `false` when the queue is full. */
    add(offer: Offer): boolean {
      const { key, terms } = offer
      if (isStopped || (!waiting.has(key) && isFull(terms.payTo))) return false
      waiting.set(key, offer)
      running ??= drain()
      return true
    },
    /** Resolves when nothing waits and nothing runs. */
    idle: async () => running,
    /** Drops the waiting offers; resolves when the running one has ended. */
    async stop(): Promise<void> {
      isStopped = true
      waiting.clear()
      await running
    },
  }
}

/** Keeps the last refusals by URL and recipient, but not who paid. `now` is in Unix milliseconds. */
function createRefusals(now: () => number) {
  const kept = new LRUCache<string, { url: string; payTo: Address; reason: string; at: number }>({
    max: MAX_REFUSALS,
  })
  return {
    /** Takes the URL as a payment states it; of anything else nothing is kept. */
    note(given: unknown, payTo: Address, reason: string): void {
      const url = canonicalUrl(given)
      if (url === undefined) return
      kept.set(`${payTo} ${url}`, { url, payTo, reason, at: Math.floor(now() / 1000) })
    },
    /** Finds the last ones of a URL, latest first, at most a few. Times are Unix seconds. */
    find(url: string) {
      const found = [...kept.values()].filter((refusal) => refusal.url === url)
      return found.slice(0, MAX_REFUSALS_FOUND).map(({ url: _, ...refusal }) => refusal)
    },
  }
}
