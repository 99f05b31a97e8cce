import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CheckReason, checkReasons } from '@arcus/protocol/answers/paid-checks'
import type { PaidResource } from '@arcus/protocol/x402/payment'
import type { Address } from 'viem'
import type { MayGoOn } from '../../async/background.js'
import { DAY_MS } from '../../async/time.js'
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

interface EventCollectorOptions extends Pick<SharedPorts, 'network' | 'checksum' | 'now'> {
  store: EventStore
  attributor: Attributor
  listings: Pick<ListingReader, 'findMerchant'>
  readPayment: (job: NonNullable<QueuedNews['job']>) => JournalPayment
}

/** Events of one commit, few enough for a tick of the event loop. */
const SLICE = 100
const SWEEP_ROWS = 200
/** The age up to which events are kept, and their number for each merchant. */
const KEPT_MS = 30 * DAY_MS
const KEPT_ROWS = 10_000
/** A feed is cut again after this number of events. */
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

  async function toEvent(news: QueuedNews): Promise<NewEvent | undefined> {
    return news.facts === null ? paymentEvent(news) : endpointEvent(news, news.facts)
  }

  async function paymentEvent({ type, at, job }: QueuedNews): Promise<NewEvent | undefined> {
    // A failed payment may have been reopened meanwhile: its next outcome is in the queue, or will be.
    const wanted = type === 'payment.settled' ? 'confirmed' : 'failed'
    if (job === null || job.network !== network || job.state !== wanted) return undefined
    const { asset, payer, payTo, value, nonce, resourceUrl, toolName } = options.readPayment(job)
    const url = readResource(resourceUrl)
    const paid = { network, asset, amount: BigInt(value) }
    const found = await attributor.find(payTo, url, { toolName, paid })
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

  async function collect(mayGoOn: MayGoOn): Promise<void> {
    for (let isMore = true; isMore && mayGoOn(); ) {
      const news = await store.queued(SLICE)
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
      await nextTurn()
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

  return {
    /** Moves all news that wait into the feeds. */
    collect,
    /** Deletes events that are too old, in small commits, so that nothing waits for it. */
    async forgetOld(mayGoOn: MayGoOn): Promise<void> {
      while (mayGoOn() && (await store.forget(now() - KEPT_MS, SWEEP_ROWS)) > 0) await nextTurn()
    },
  }
}
