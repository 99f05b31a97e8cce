import type { ListingStore } from '../../store/listings.js'
import type { BazaarStatus } from '../../x402/extension-responses.js'
import type { SchemaCheck } from '../schema-check.js'
import { draftUnclaimed } from './draft.js'
import { createGrowthLimit } from './growth.js'
import { agrees, healthAfterPayment } from './health.js'
import { createInfoCheck } from './info-schema.js'
import { type Offer, type OfferRules, readOffer, type SettledPayment } from './offer.js'
import { createOfferQueue } from './offer-queue.js'
import { findPlace } from './place.js'
import { createPreparation } from './preparation.js'
import { createRecentOffers } from './recent.js'

export interface AutoCatalogOptions extends OfferRules {
  store: Pick<
    ListingStore,
    'findMerchant' | 'merchantsPaidTo' | 'endpointsOf' | 'findByUrl' | 'saveUnclaimed' | 'saveProbe'
  >
  /** Best one of its own, so that strangers' schemas do not keep owners waiting. */
  schemaCheck: Pick<SchemaCheck, 'check'>
  /** Unix milliseconds. */
  now: () => number
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  /** Told the merchant whose entries changed, once that is kept. */
  onChange?: (merchantId: string) => void
  /** New entries in an hour. */
  maxNewPerHour?: number
}

export interface AutoCatalog {
  /**
   * Takes in what a settled payment says of the resource it paid for; `undefined` when it says nothing. Answers at
   * once and never throws; the work comes later.
   */
  offer(settled: SettledPayment): BazaarStatus | undefined
  /** Starts to judge the extension before the payment has settled, so that `offer` can tell the outcome. Never throws. */
  prepare(payload: unknown): void
  /** Drops what waits; resolves when what is under way has ended. */
  stop(): Promise<void>
}

const MAX_WAITING = 500
const MAX_WAITING_PER_PAY_TO = 20
const MAX_NEW_PER_HOUR = 1_000

/** Lists what settled payments were for, until an owner does. The URL is a buyer's word: the next look confirms it. */
export function createAutoCatalog(options: AutoCatalogOptions): AutoCatalog {
  const { store, now, log } = options
  const infoCheck = createInfoCheck(options.schemaCheck, now)
  const growth = createGrowthLimit(options.maxNewPerHour ?? MAX_NEW_PER_HOUR, now)
  const recent = createRecentOffers(now)
  const queue = createOfferQueue<Offer>({
    max: MAX_WAITING,
    maxPerGroup: MAX_WAITING_PER_PAY_TO,
    async run(offer) {
      // Offered again while it was at work.
      if (recent.find(offer.key, offer.fingerprint) !== undefined) return
      const status = await catalogue(offer)
      recent.keep(offer.key, offer.fingerprint, status)
      if (status.status !== 'rejected') return
      const { settlementId, resource } = offer
      const { rejectedReason } = status
      log.info({ settlementId, url: resource.url, rejectedReason }, 'paid resource not listed')
    },
    onError: (err, { settlementId }) =>
      log.warn({ err, settlementId }, 'paid resource could not be listed'),
  })

  async function catalogue({ resource, terms }: Offer): Promise<BazaarStatus> {
    const verdict = await infoCheck.judge(resource)
    if (!verdict.ok) return rejected(verdict.rejectedReason)
    const drafted = draftUnclaimed(resource, terms)
    if (!drafted.ok) return rejected(drafted.rejectedReason)
    const { merchant, endpoint, accepts } = drafted.draft
    const place = await findPlace(store, drafted.draft)
    if (!place.isFree) return rejected(place.rejectedReason)
    const { current } = place
    const nowSeconds = Math.floor(now() / 1000)
    const health = healthAfterPayment(current, accepts, nowSeconds)
    if (current?.status === 'live' && !agrees(current.accepts, accepts)) {
      // At another price than it asks for itself: the words beside it need not be its own either.
      await store.saveProbe(current.id, health, nowSeconds)
      return rejected('the endpoint itself asks for other terms than were paid.')
    }
    if (current === undefined && !growth.take()) {
      return rejected('too many new resources were seen within the hour.')
    }
    const saved = await store.saveUnclaimed(merchant, { ...endpoint, ...health }, nowSeconds)
    if (saved === 'owned') return rejected('its owner lists this URL.')
    options.onChange?.(merchant.id)
    return { status: 'success' }
  }

  function answer(settled: SettledPayment): BazaarStatus | undefined {
    const read = readOffer(settled, options)
    if (read === undefined) return undefined
    if (!read.ok) return rejected(read.rejectedReason)
    const { offer } = read
    const known = recent.find(offer.key, offer.fingerprint)
    if (known !== undefined) return known
    const verdict = infoCheck.known(offer.resource)
    if (verdict?.ok === false) return rejected(verdict.rejectedReason)
    if (queue.add(offer.key, settled.payTo, offer)) return { status: 'processing' }
    return rejected('too many resources wait; the next payment offers it again.')
  }

  return {
    offer(settled) {
      try {
        return answer(settled)
      } catch (err) {
        log.warn({ err, settlementId: settled.settlementId }, 'extension could not be read')
        return rejected('the extension could not be read.')
      }
    },
    prepare: createPreparation(infoCheck, now),
    stop: () => queue.stop(),
  }
}

function rejected(rejectedReason: string): BazaarStatus {
  return { status: 'rejected', rejectedReason }
}
