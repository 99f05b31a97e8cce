import { asSentence } from '../../listing-client/text.js'
import type { Endpoint, ListingStore } from '../../store/listings.js'
import { bazaarOf } from '../../x402/bazaar.js'
import type { BazaarStatus } from '../../x402/extension-responses.js'
import { draftUnclaimed } from './draft.js'
import { createGrowthLimit, type GrowthBounds } from './growth.js'
import { agrees, healthOfFound, isStale } from './health.js'
import type { InfoCheck } from './info-schema.js'
import { type Offer, type OfferRules, readOffer, type SettledPayment } from './offer.js'
import { createOfferQueue } from './offer-queue.js'
import { findPlace, type Place } from './place.js'
import { createPreparation } from './preparation.js'
import { createRecentOffers } from './recent.js'

export interface AutoCatalogOptions extends OfferRules {
  store: Pick<
    ListingStore,
    'findMerchant' | 'merchantsPaidTo' | 'endpointsOf' | 'findByUrl' | 'saveUnclaimed'
  >
  /** Best with a thread of its own, so that strangers' schemas do not keep owners waiting. */
  infoCheck: InfoCheck
  /** Has an endpoint probed as soon as its host's turn comes. */
  probeSoon: (endpointId: number) => void
  /** Unix milliseconds. */
  now: () => number
  /** While the disk is nearly full nothing new is taken in. */
  isDiskLow: () => boolean
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  /** Told the merchant whose entries changed, once that is kept. */
  onChange?: (merchantId: string) => void
  /** New entries in an hour; those of the catalog unless given. */
  growth?: Partial<GrowthBounds>
}

export interface AutoCatalog {
  /**
   * Takes in what a settled payment says of the resource it paid for; `undefined` when it says nothing. Answers once the
   * extension is judged, within a quarter of a second; never throws and never rejects. Listing it comes later.
   */
  offer(settled: SettledPayment): Promise<BazaarStatus> | undefined
  /** Starts to judge the extension before the payment has settled, so that `offer` need not wait for it. Never throws. */
  prepare(payload: unknown): void
  /** A payment is about to be settled: makes ready to judge what it carries. Never throws. */
  expect(payload: unknown): void
  /** Resolves when every offer so far was judged. */
  idle(): Promise<void>
  /** Drops what waits; resolves when what is under way has ended. */
  stop(): Promise<void>
}

const MAX_WAITING = 500
const MAX_WAITING_PER_PAY_TO = 20
/** In an hour. One payTo has fifty entries at most, and a host of many merchants more. */
const growthBounds = { inAll: 1_000, perPayer: 50, perPayTo: 50, perHost: 100 }
/** What the catalog says stays true that long; what no entry can be made of, as long as discovery may be cached. */
const STANDING_MS = 1_000
const REJECTED_MS = 60_000
/** A payment's answer waits no longer for the catalog's. */
const ANSWER_MS = 250

const processing: BazaarStatus = { status: 'processing' }

/** Lists what settled payments were for, until an owner does. The URL is a buyer's word: a look must confirm it. */
export function createAutoCatalog(options: AutoCatalogOptions): AutoCatalog {
  const { store, infoCheck, now, log } = options
  const growth = createGrowthLimit({ ...growthBounds, ...options.growth }, now)
  const recent = createRecentOffers(now)
  const nowSeconds = () => Math.floor(now() / 1000)
  const queue = createOfferQueue<Offer>({
    max: MAX_WAITING,
    maxPerGroup: MAX_WAITING_PER_PAY_TO,
    async run(offer) {
      keepRejected(offer, await catalogue(offer))
    },
    onError: (err, { settlementId }) =>
      log.warn({ err, settlementId }, 'paid resource could not be listed'),
  })

  /** Offers whose answer is under way, also where nobody waits for it any more. */
  const answering = new Set<Promise<BazaarStatus>>()

  const placeOf = ({ resource: { url, method }, terms: { network, payTo } }: Offer) =>
    findPlace(store, { url, method, network, payTo })

  function keepRejected(
    { key, fingerprint, settlementId, resource: { url } }: Offer,
    status: BazaarStatus,
  ): void {
    if (status.status !== 'rejected') return
    recent.keep(key, fingerprint, status, REJECTED_MS)
    const { rejectedReason } = status
    log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
  }

  async function catalogue(offer: Offer): Promise<BazaarStatus> {
    const { resource, terms, blockedBecause } = offer
    const verdict = await infoCheck.judge(resource)
    if (!verdict.ok) return rejected(verdict.rejectedReason)
    const drafted = draftUnclaimed(resource, terms)
    if (!drafted.ok) return rejected(drafted.rejectedReason)
    const { merchant, endpoint, accepts } = drafted.draft
    const place = await placeOf(offer)
    const standing = judgePlace(offer, place)
    if (standing !== undefined) return standing
    if (options.isDiskLow()) return rejected('no new resources are kept at the moment.')
    if (place.state === 'free') {
      const { payer, payTo } = terms
      const full = growth.refuse({ payer, payTo, host: new URL(resource.url).host })
      if (full !== undefined) return rejected(`too many new resources were seen ${full}.`)
    }
    const health = healthOfFound(accepts, blockedBecause, nowSeconds())
    const evicted = place.state === 'free' ? place.evicted : undefined
    const saved = await store.saveUnclaimed(
      merchant,
      { ...endpoint, ...health },
      nowSeconds(),
      evicted,
    )
    if (saved.state === 'owned') return rejected('its owner lists this URL.')
    if (saved.state === 'known') return processing
    options.onChange?.(merchant.id)
    if (blockedBecause !== undefined) return rejected(neverLive(blockedBecause))
    options.probeSoon(saved.endpointId)
    return processing
  }

  /** What can be said of a resource where something stands already; `undefined` when it is to be taken in. */
  function judgePlace({ terms }: Offer, place: Place): BazaarStatus | undefined {
    if (place.state === 'free') return undefined
    if (place.state === 'taken') {
      if (place.rival !== undefined) lookAgain(place.rival)
      return rejected(place.rejectedReason)
    }
    const { endpoint } = place
    const isAsPaid = agrees(endpoint.accepts, [terms.requirement])
    if (place.state === 'listed') {
      if (!isAsPaid) lookAgain(endpoint)
      return { status: 'success' }
    }
    const { status, probe } = endpoint
    if (status === 'live') {
      if (isAsPaid) return { status: 'success' }
      lookAgain(endpoint)
      return rejected('the endpoint itself asks for other terms than were paid.')
    }
    if (status === 'failing') {
      if (isStale(endpoint, nowSeconds())) return undefined
      return rejected(`a look at it found: ${probe?.message ?? 'no answer.'}`)
    }
    const isNeverCalled = endpoint.nextProbeAt === null
    return isNeverCalled ? rejected(neverLive(probe?.message ?? '')) : processing
  }

  /** A payment on other terms, or to somebody else: the endpoint may have changed since it was seen. */
  function lookAgain(endpoint: Endpoint): void {
    if (isStale(endpoint, nowSeconds())) options.probeSoon(endpoint.id)
  }

  async function answer(offer: Offer): Promise<BazaarStatus> {
    const { key, fingerprint } = offer
    const known = recent.find(key, fingerprint)
    if (known !== undefined) return known
    const standing = judgePlace(offer, await placeOf(offer))
    if (standing !== undefined) {
      recent.keep(key, fingerprint, standing, STANDING_MS)
      return standing
    }
    // What could not be judged now is judged in its turn.
    const verdict = await infoCheck.judge(offer.resource).catch(() => undefined)
    if (verdict?.ok === false) {
      const refused = rejected(verdict.rejectedReason)
      keepRejected(offer, refused)
      return refused
    }
    if (queue.add(key, offer.terms.payTo, offer)) return processing
    return rejected('too many resources wait; the next payment offers it again.')
  }

  function unreadable(err: unknown, { settlementId }: SettledPayment): BazaarStatus {
    log.warn({ err, settlementId }, 'extension could not be read')
    return rejected('the extension could not be read.')
  }

  return {
    offer(settled) {
      try {
        const read = readOffer(settled, options)
        if (read === undefined) return undefined
        if (!read.ok) return Promise.resolve(rejected(read.rejectedReason))
        const work = answer(read.offer).catch((err) => unreadable(err, settled))
        answering.add(work)
        void work.finally(() => answering.delete(work))
        return within(ANSWER_MS, work)
      } catch (err) {
        return Promise.resolve(unreadable(err, settled))
      }
    },
    prepare: createPreparation(infoCheck, now),
    expect(payload) {
      if (bazaarOf(payload) !== undefined) infoCheck.start()
    },
    async idle() {
      await Promise.all(answering)
      await queue.idle()
    },
    async stop() {
      await queue.stop()
      await Promise.all(answering)
    },
  }
}

/** What takes longer than that is still at work. */
function within(ms: number, work: Promise<BazaarStatus>): Promise<BazaarStatus> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, processing)
    void work.then(resolve).finally(() => clearTimeout(timer))
  })
}

function neverLive(reason: string): string {
  return `${reason} It is kept as unverified, outside the default order.`
}

function rejected(rejectedReason: string): BazaarStatus {
  return { status: 'rejected', rejectedReason: asSentence(rejectedReason) }
}
