import { type CheckReason, checkReasons } from '@arcus/protocol/answers/paid-checks'
import type { PaidResource } from '@arcus/protocol/x402/payment'
import type { Address } from 'viem'
import { createPolling } from '../../async/polling.js'
import { type Attributor, canonicalResource, readResource } from '../activity/attribution.js'
import type { SharedPorts } from '../ports.js'
import type { EventStore, NewEvent, QueuedNews } from '../store/events.js'
import type { ListingReader } from '../store/listings.js'

/** A payment as its job in the journal states it; addresses are lower-case. */
export interface JournalPayment extends PaidResource {
  asset: Address
  payer: Address
  payTo: Address
  /** Atomic units. */
  value: string
  nonce: string
}

interface EventCollectorOptions
  extends Pick<SharedPorts, 'network' | 'isKeeper' | 'checksum' | 'isDiskLow' | 'lookMs' | 'now'> {
  store: EventStore
  attributor: Attributor
  listings: Pick<ListingReader, 'findMerchant'>
  readPayment: (job: NonNullable<QueuedNews['job']>) => JournalPayment
  log: { warn(details: object, message: string): void }
}

const TICK_MS = 1_000
/** News of one commit, few enough for a turn of the loop. */
const SLICE = 100
const SWEEP_MS = 60_000
const SWEEP_ROWS = 200
/** Events are kept for so long, and so many of a merchant. */
const KEPT_MS = 30 * 86_400_000
const KEPT_ROWS = 10_000
/** A feed is cut again after so many events. */
const TRIM_EVERY = 500
const MAX_COUNTED = 10_000

/**
 * Moves news from the queue into the feeds of merchants, off the way of payments. Taking news in twice changes nothing,
 * so that a crash at any point neither loses nor repeats an event.
 */
export function createEventCollector(options: EventCollectorOptions) {
  const { store, attributor, network, now } = options
  /** Events of each merchant since its feed was cut. */
  const counts = new Map<string, number>()
  let sweepAt = 0

  async function toEvent(news: QueuedNews): Promise<NewEvent | undefined> {
    return news.facts === null ? paymentEvent(news) : endpointEvent(news, news.facts)
  }

  async function paymentEvent({ type, at, job }: QueuedNews): Promise<NewEvent | undefined> {
    // A failed payment may have been reopened meanwhile: its next outcome is in the queue, or will be.
    const wanted = type === 'payment.settled' ? 'confirmed' : 'failed'
    if (job === null || job.network !== network || job.state !== wanted) return undefined
    const { asset, payer, payTo, value, nonce, resourceUrl, toolName } = options.readPayment(job)
    const url = readResource(resourceUrl)
    const found = await attributor.find(payTo, url, toolName)
    if (found === undefined || found.owner === null) return undefined
    const { merchantId, endpointId } = found
    const { transaction, reason } = job
    const data = JSON.stringify({
      merchantId,
      endpointId,
      resource: canonicalResource(url),
      toolName,
      network,
      asset: options.checksum(asset),
      payer: options.checksum(payer),
      payTo: options.checksum(payTo),
      amount: value,
      nonce,
      transaction,
      reason,
    })
    return { merchantId, type, key: `${type}/${job.id}`, at, data }
  }

  async function endpointEvent(news: QueuedNews, facts: string): Promise<NewEvent | undefined> {
    const { merchantId, endpointId, probe, check, ...endpoint } = JSON.parse(facts)
    const merchant = await options.listings.findMerchant(merchantId)
    if (merchant === undefined || merchant.owner === null || merchant.deletedAt !== null) return
    if (check !== undefined) {
      const { checkId, reason, ...found } = check
      const message = checkReasons[reason as CheckReason]
      const data = { merchantId, endpointId, ...endpoint, reason, message, ...found }
      const key = `${news.type}/${endpointId}/${checkId}`
      return { merchantId, type: news.type, key, at: news.at, data: JSON.stringify(data) }
    }
    const { verdict, message, seen, checkedAt } = probe
    const data = { merchantId, endpointId, ...endpoint, verdict, message, seen }
    const key = `${news.type}/${endpointId}/${checkedAt}`
    return { merchantId, type: news.type, key, at: news.at, data: JSON.stringify(data) }
  }

  async function collect(signal: AbortSignal): Promise<void> {
    for (let isMore = true; isMore && !signal.aborted; ) {
      const news = options.isDiskLow() ? [] : await store.queued(SLICE)
      isMore = news.length === SLICE
      if (news.length === 0) continue
      await attributor.refresh()
      const events: NewEvent[] = []
      for (const one of news) {
        const event = await toEvent(one)
        if (event !== undefined) events.push(event)
      }
      await store.keep(
        events,
        news.map(({ sequence }) => sequence),
      )
      await trim(events)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async function trim(events: readonly NewEvent[]): Promise<void> {
    if (counts.size > MAX_COUNTED) counts.clear()
    for (const { merchantId } of events) {
      const count = counts.get(merchantId) ?? TRIM_EVERY
      counts.set(merchantId, count >= TRIM_EVERY ? 0 : count + 1)
      if (count >= TRIM_EVERY) await store.trim(merchantId, KEPT_ROWS)
    }
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    if (now() < sweepAt) return
    sweepAt = now() + SWEEP_MS
    while (!signal.aborted && (await store.forget(now() - KEPT_MS, SWEEP_ROWS)) > 0) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  return createPolling({
    everyMs: options.lookMs ?? TICK_MS,
    async poll(signal) {
      if (!options.isKeeper()) return
      await collect(signal)
      await sweep(signal)
    },
    onError: (err) =>
      options.log.warn({ err }, 'events could not be added to the feeds; trying again'),
  })
}
