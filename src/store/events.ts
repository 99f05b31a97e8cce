import type { Job } from './settlement-journal.js'

export const eventTypes = [
  'payment.settled',
  'payment.failed',
  'endpoint.failing',
  'endpoint.recovered',
  'price.drift',
  'gas.low',
] as const

export type EventType = (typeof eventTypes)[number]

/** Events that tell nothing but what the catalog shows to everybody; payments are for the owner alone. */
export const publicEventTypes = ['endpoint.failing', 'endpoint.recovered', 'price.drift'] as const

/** The events of a merchant. The operator alone has `gas.low`. */
export const merchantEventTypes = [
  'payment.settled',
  'payment.failed',
  ...publicEventTypes,
] as const

export interface NewEvent {
  /** Empty for the operator. */
  merchantId: string
  type: EventType
  /** Identifies what happened: it is kept once. */
  key: string
  /** Unix milliseconds. */
  at: number
  /** A JSON object. */
  data: string
}

export interface StoredEvent extends NewEvent {
  /** Rises with each event that becomes readable. */
  id: number
}

/** News that is in no feed yet. */
export interface QueuedNews {
  sequence: number
  type: EventType
  /** JSON about an endpoint; `null` for a decided payment. */
  facts: string | null
  at: number
  /** The payment as it is by now; `null` for an endpoint. */
  job: Pick<
    Job,
    'id' | 'kind' | 'network' | 'key' | 'state' | 'details' | 'transaction' | 'reason'
  > | null
}

export interface EventFilter {
  merchantId: string
  types: readonly EventType[]
  /** Only events after this number, oldest first. */
  since: number
  limit: number
}

/** The feeds of merchants. Payments and probes queue their news in their own commits. */
export interface EventStore {
  /** The oldest news first. */
  queued(limit: number): Promise<QueuedNews[]>
  /** Puts events into the feeds and takes their news from the queue, in one commit. Events that are known are left out. */
  keep(events: readonly NewEvent[], taken: readonly number[]): Promise<void>
  list(filter: EventFilter): Promise<StoredEvent[]>
  /** The newest events of these types, newest first. */
  latest(merchantId: string, types: readonly EventType[], limit: number): Promise<StoredEvent[]>
  /** Drops those of the oldest `limit` events that are before `before` (Unix milliseconds); resolves with their number. */
  forget(before: number, limit: number): Promise<number>
  /** Drops all but the newest events of a merchant. */
  trim(merchantId: string, most: number): Promise<void>
}
