import { asSentence } from '@arcus/protocol/listing/text'
import { type BazaarStatus, canonicalUrl } from '@arcus/protocol/x402/bazaar'
import { memberOf } from '@arcus/protocol/x402/json'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { createTokenBuckets } from '../../async/limits.js'
import { leftOut } from '../../directory/seen-in-payments/left-out.js'
import {
  type OfferingPayment,
  type OfferRules,
  readBare,
  readOffer,
} from '../../directory/seen-in-payments/offer.js'
import type { Outbox } from '../stores/outbox.js'
import { type HandedOffer, writeOffer } from './handed-over.js'

export interface OfferQueueOptions {
  outbox: Pick<Outbox, 'append' | 'outcomesOf'>
  rules: OfferRules
  /** Nothing but payments is kept while the disk is nearly full. */
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
}

/** The same resource is offered again after this time: its listing may have changed. */
const OFFER_AGAIN_MS = 1_000
const REJECTED_AGAIN_MS = 60_000
const MAX_REMEMBERED = 5_000
/** The outcomes that one look reads, and how long each is looked for. */
const OUTCOMES_AT_ONCE = 500
const AWAITED_MS = 60_000
/** New resources of one recipient, who can have fifty entries: this number at once, and one more each second. */
const offersOfPayTo = { capacity: 50, refillMs: 1_000 }

const processing: BazaarStatus = { status: 'processing' }

/** The resource of a payment, as far as the catalog has reported on it. */
interface Remembered {
  fingerprint: string
  status: BazaarStatus
  /** Unix milliseconds. */
  offerAgainAt: number
}

/** A resource that is handed over, and what its payment is answered until the catalog has reported on it. */
interface ToOffer {
  key: string
  fingerprint: string
  payTo: Address
  first: BazaarStatus
  handed: HandedOffer
}

/** The resources of settled payments on their way to the directory, and what it made of them. */
export class OfferQueue {
  readonly #options: OfferQueueOptions
  readonly #remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED })
  /** When each resource was offered whose outcome is not known yet, Unix milliseconds. */
  readonly #awaited = new LRUCache<string, number>({ max: MAX_REMEMBERED, ttl: AWAITED_MS })
  readonly #allowance: ReturnType<typeof createTokenBuckets>

  constructor(options: OfferQueueOptions) {
    this.#options = options
    this.#allowance = createTokenBuckets({ ...offersOfPayTo, now: options.now })
  }

  /** Takes in the resource of a settled payment, and returns what is known of it; `undefined` where it names none. */
  offer(settled: OfferingPayment): BazaarStatus | undefined {
    const { rules } = this.#options
    const bare = readBare(settled, rules)
    if (bare?.ok) {
      const { key, fingerprint, payTo, url } = bare.bare
      const reason = url === undefined ? leftOut.noUrl : leftOut.asking
      const first = { status: 'processing', reason } as const
      return this.#offerOnce({ key, fingerprint, payTo, first, handed: { bare: bare.bare } })
    }
    const read = bare ?? readOffer(settled, rules)
    if (read === undefined) return undefined
    if (!read.ok) return this.#refuse(settled, read.rejectedReason)
    const { key, fingerprint, terms } = read.offer
    const offered = { key, fingerprint, payTo: terms.payTo, first: processing }
    const status = this.#offerOnce({ ...offered, handed: { offer: read.offer } })
    const { dropped: left = [] } = read.offer.resource
    if (status.status === 'rejected' || left.length === 0) return status
    return { ...status, reason: `Left out, because they break their rules: ${left.join(', ')}.` }
  }

  /** Reads what the catalog made of the resources that were offered. */
  async readOutcomes(): Promise<void> {
    const keys = [...this.#awaited.keys()].slice(0, OUTCOMES_AT_ONCE)
    if (keys.length === 0) return
    for (const { key, fingerprint, status, at } of await this.#options.outbox.outcomesOf(keys)) {
      // The outcome of an earlier offer says nothing about this one.
      if (at < (this.#awaited.get(key) ?? 0)) continue
      this.#awaited.delete(key)
      this.#noteStatus(key, fingerprint, JSON.parse(status))
    }
  }

  /** Offers a resource unless this was done a moment ago, and returns what is known of it. */
  #offerOnce({ key, fingerprint, payTo, first, handed }: ToOffer): BazaarStatus {
    const { now } = this.#options
    const known = this.#remembered.get(key)
    const isSame = known?.fingerprint === fingerprint
    if (isSame && now() < known.offerAgainAt) return known.status
    if (this.#allowance.take(payTo) > 0) {
      return rejected('too many resources of this payTo wait; the next payment offers it again.')
    }
    this.#append(handed)
    this.#awaited.set(key, now())
    const status = isSame ? known.status : first
    this.#remembered.set(key, { fingerprint, status, offerAgainAt: now() + OFFER_AGAIN_MS })
    return status
  }

  #refuse({ payload, payTo, settlementId }: OfferingPayment, reason: string): BazaarStatus {
    const { now, log } = this.#options
    const status = rejected(reason)
    const { rejectedReason } = status
    const url = canonicalUrl(memberOf(memberOf(payload, 'resource'), 'url'))
    const key = `${payTo} ${url}`
    if (url === undefined || now() < (this.#remembered.get(key)?.offerAgainAt ?? 0)) return status
    if (this.#allowance.take(payTo) > 0) return status
    log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
    this.#append({ refused: { url, payTo, rejectedReason } })
    const offerAgainAt = now() + REJECTED_AGAIN_MS
    this.#remembered.set(key, { fingerprint: '', status, offerAgainAt })
    return status
  }

  #append(handed: HandedOffer): void {
    const { outbox, isDiskLow, log } = this.#options
    if (isDiskLow()) return
    outbox
      .append('offer', writeOffer(handed))
      .catch((err) => log.warn({ err }, 'a paid resource could not be handed over'))
  }

  #noteStatus(key: string, fingerprint: string, status: BazaarStatus): void {
    const againMs = status.status === 'rejected' ? REJECTED_AGAIN_MS : OFFER_AGAIN_MS
    const offerAgainAt = this.#options.now() + againMs
    this.#remembered.set(key, { fingerprint, status, offerAgainAt })
  }
}

function rejected(reason: string): Extract<BazaarStatus, { status: 'rejected' }> {
  return { status: 'rejected', rejectedReason: asSentence(reason) }
}
