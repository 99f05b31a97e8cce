import { hash } from 'node:crypto'
import { asSentence } from '@arcus/protocol/listing/text'
import { type BazaarStatus, canonicalUrl } from '@arcus/protocol/x402/bazaar'
import { memberOf } from '@arcus/protocol/x402/json'
import { keptResourceOf, type PaymentAnswer, paidResourceOf } from '@arcus/protocol/x402/payment'
import { LRUCache } from 'lru-cache'
import { createTokenBuckets } from '../../async/limits.js'
import { createPolling } from '../../async/polling.js'
import { digestQuery, readResource } from '../../directory/activity/attribution.js'
import type { HandedAnswer } from '../../directory/activity/recorder.js'
import {
  type Offer,
  type OfferRules,
  readOffer,
  type SettledPayment,
} from '../../directory/seen-in-payments/offer.js'
import type { Outbox } from '../stores/outbox.js'
import { type HandedOffer, writeAnswers, writeOffer } from './handed-over.js'

interface HandOverOptions {
  outbox: Outbox
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

/** Answers wait this long for others, because one row for many is cheaper. */
const COLLECTED_MS = 250
/** Answers of one row. */
const SLICE = 500
/** Past this the newest answers are dropped and counted. The payments themselves are in the journal. */
const MAX_WAITING = 5_000

/** The same resource is offered again after this time: its listing may have changed. */
const OFFER_AGAIN_MS = 1_000
const REJECTED_AGAIN_MS = 60_000
const MAX_REMEMBERED = 5_000
/** The outcome of an offer is looked for so often, and for so long. */
const OUTCOMES_MS = 250
const OUTCOMES_AT_ONCE = 500
const AWAITED_MS = 60_000
/** New resources of one recipient, who can have fifty entries: so many at once, and one more each second. */
const offersOfPayTo = { capacity: 50, refillMs: 1_000 }

const processing: BazaarStatus = { status: 'processing' }

/** The resource of a payment, as far as the catalog has reported on it. */
interface Remembered {
  fingerprint: string
  status: BazaarStatus
  /** Unix milliseconds. */
  offerAgainAt: number
}

/**
 * Hands over to the directory what it needs to know of payments: every answer, for figures, and the resources of settled
 * payments. It only writes rows; nobody here waits for the directory.
 */
export function createHandOver(options: HandOverOptions) {
  const { outbox, rules, now, log } = options
  const remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED })
  /** When each resource was offered whose outcome is not known yet, Unix milliseconds. */
  const awaited = new LRUCache<string, number>({ max: MAX_REMEMBERED, ttl: AWAITED_MS })
  const allowance = createTokenBuckets({ ...offersOfPayTo, now })
  const waiting: HandedAnswer[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let dropped = 0

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const slice = waiting.splice(0, SLICE)
      const isKept = await outbox.append('answers', writeAnswers(slice)).catch((err) => {
        log.warn({ err }, 'answers could not be handed over to the directory')
        return false
      })
      if (!isKept) dropped += slice.length
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      writing = writing.then(write)
    }, COLLECTED_MS)
  }

  function append(handed: HandedOffer): void {
    if (options.isDiskLow()) return
    outbox
      .append('offer', writeOffer(handed))
      .catch((err) => log.warn({ err }, 'a paid resource could not be handed over'))
  }

  /** Offers a resource unless this was done a moment ago, and returns what is known of it. */
  function offer(offered: Offer): BazaarStatus {
    const { key, fingerprint, terms } = offered
    const known = remembered.get(key)
    const isSame = known?.fingerprint === fingerprint
    if (isSame && now() < known.offerAgainAt) return known.status
    if (allowance.take(terms.payTo) > 0) {
      return rejected('too many resources of this payTo wait; the next payment offers it again.')
    }
    append({ offer: offered })
    awaited.set(key, now())
    const status = isSame ? known.status : processing
    remembered.set(key, { fingerprint, status, offerAgainAt: now() + OFFER_AGAIN_MS })
    return status
  }

  function refuse({ payload, payTo, settlementId }: SettledPayment, reason: string): BazaarStatus {
    const status = rejected(reason)
    const { rejectedReason } = status
    const url = canonicalUrl(memberOf(memberOf(payload, 'resource'), 'url'))
    const key = `${payTo} ${url}`
    if (url === undefined || now() < (remembered.get(key)?.offerAgainAt ?? 0)) return status
    if (allowance.take(payTo) > 0) return status
    log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
    append({ refused: { url, payTo, rejectedReason } })
    const offerAgainAt = now() + REJECTED_AGAIN_MS
    remembered.set(key, { fingerprint: '', status, offerAgainAt })
    return status
  }

  /** Reads what the catalog made of the resources that were offered. */
  async function readOutcomes(): Promise<void> {
    const keys = [...awaited.keys()].slice(0, OUTCOMES_AT_ONCE)
    if (keys.length === 0) return
    for (const { key, fingerprint, status, at } of await outbox.outcomesOf(keys)) {
      // The outcome of an earlier offer says nothing about this one.
      if (at < (awaited.get(key) ?? 0)) continue
      awaited.delete(key)
      noteStatus(key, fingerprint, JSON.parse(status))
    }
  }

  function noteStatus(key: string, fingerprint: string, status: BazaarStatus): void {
    const againMs = status.status === 'rejected' ? REJECTED_AGAIN_MS : OFFER_AGAIN_MS
    remembered.set(key, { fingerprint, status, offerAgainAt: now() + againMs })
  }

  const outcomes = createPolling({
    poll: readOutcomes,
    everyMs: OUTCOMES_MS,
    onError: (err) => log.warn({ err }, 'what became of offers could not be read'),
  })
  outcomes.start()

  return {
    /** Takes in an answer; as cheap as a push, and never throws. */
    onAnswer(answer: PaymentAnswer): void {
      if (options.isDiskLow() || waiting.length >= MAX_WAITING) {
        dropped++
        return
      }
      waiting.push(toHanded(answer))
      schedule()
    },
    /** Takes in the resource of a settled payment, and returns what is known of it; `undefined` where it names none. */
    offerResource(settled: SettledPayment): BazaarStatus | undefined {
      const read = readOffer(settled, rules)
      if (read === undefined) return undefined
      if (!read.ok) return refuse(settled, read.rejectedReason)
      const status = offer(read.offer)
      const { dropped: left = [] } = read.offer.resource
      if (status.status === 'rejected' || left.length === 0) return status
      return { ...status, reason: `Left out, because they break their rules: ${left.join(', ')}.` }
    },
    /** Counts the answers that were dropped: they came too fast, or the directory has not taken the earlier ones. */
    dropped: () => dropped,
    /** Writes the waiting answers; the last call. */
    async stop(): Promise<void> {
      clearTimeout(timer)
      await outcomes.stop()
      await writing
      await write()
    },
  }
}

export type HandOver = ReturnType<typeof createHandOver>

/** Returns an answer without what a row may not keep: the query of the paid URL, and a signature. */
export function toHanded(answer: PaymentAnswer): HandedAnswer {
  const { resourceUrl, toolName, proof, ...payment } = answer.payment
  const url = readResource(resourceUrl)
  return {
    ...answer,
    payment: {
      ...payment,
      ...keptResourceOf(paidResourceOf({ resourceUrl, toolName })),
      ...(proof !== undefined && { proof: hash('sha256', proof, 'base64url') }),
    },
    query: url === undefined ? [] : digestQuery(url),
  }
}

function rejected(reason: string): Extract<BazaarStatus, { status: 'rejected' }> {
  return { status: 'rejected', rejectedReason: asSentence(reason) }
}
