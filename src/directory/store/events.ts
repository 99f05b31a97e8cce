import type { Hex } from 'viem'
import { get, type Insertion, insertAll, run, type Sql, type Steps } from '../../sql/sql.js'

const eventTypes = [
  'payment.settled',
  'payment.failed',
  'endpoint.failing',
  'endpoint.recovered',
  'endpoint.not_delivered',
  'price.drift',
  'gas.low',
] as const

export type EventType = (typeof eventTypes)[number]

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
  job: DecidedPayment | null
}

/** What the facilitator's table of payments says of one that is decided. */
export interface DecidedPayment {
  id: string
  kind: string
  network: string
  /** For `exact` it is made of asset, payer and nonce. */
  key: string
  state: string
  /** JSON that only the kind understands. */
  details: string
  /** JSON that only the kind understands; `null` where the payment names nothing. */
  resource: string | null
  transaction: Hex | null
  reason: string | null
}

interface EventFilter {
  merchantId: string
  types: readonly EventType[]
  /** Only events after this number, oldest first. */
  since: number
  limit: number
}

/** The lock under which events are numbered, so that a lower number never becomes readable after a higher one. */
export const EVENTS_LOCK = 'events'

const insertion: Insertion = {
  table: 'events',
  rest: 'ON CONFLICT (key) DO NOTHING',
}

type QueuedRow = Omit<QueuedNews, 'job'> & {
  [Member in keyof NonNullable<QueuedNews['job']>]: NonNullable<QueuedNews['job']>[Member] | null
}

/** The feeds of merchants. Payments and probes queue their news in their own commits. */
export function createEventStore(sql: Sql) {
  return {
    /** The oldest news first. */
    async queued(limit: number): Promise<QueuedNews[]> {
      const rows = await sql.all<QueuedRow>(
        `SELECT q.sequence, q.type, q.facts, q.at,
           j.id, j.kind, j.network, j.key, j.state, j.details, coalesce(j.resource, q.resource) AS resource,
           j."transaction", j.reason
         FROM event_queue q LEFT JOIN jobs j ON q.facts IS NULL AND j.id = q.subject
         ORDER BY q.sequence LIMIT $1`,
        [limit],
      )
      return rows.map(({ sequence, type, facts, at, ...job }) => ({
        sequence,
        type,
        facts,
        at,
        job: job.id === null ? null : (job as QueuedNews['job']),
      }))
    },
    /** Puts events into the feeds and takes their news from the queue, in one commit. Events that are known are left out. */
    keep: (events: readonly NewEvent[], taken: readonly number[]) =>
      sql.transaction(() => keep(events, taken, sql), { lock: EVENTS_LOCK }),
    list: ({ merchantId, types, since, limit }: EventFilter) =>
      sql.all<StoredEvent>(
        `SELECT id, merchant_id AS "merchantId", type, key, at, data FROM events
         WHERE merchant_id = $1 AND id > $2 AND ${sql.among('type', 3)} ORDER BY id LIMIT $4`,
        [merchantId, since, types, limit],
      ),
    /** Drops those of the oldest `limit` events that are before `before` (Unix milliseconds); resolves with their number. */
    forget: (before: number, limit: number) =>
      sql.run(
        `DELETE FROM events WHERE id IN (
           SELECT id FROM (SELECT id, at FROM events ORDER BY id LIMIT $1) AS oldest WHERE at < $2)`,
        [limit, before],
      ),
    /** Drops all but the newest events of a merchant. */
    async trim(merchantId: string, most: number): Promise<void> {
      await sql.transaction(
        function* () {
          const text =
            'SELECT id FROM events WHERE merchant_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2'
          const last = yield* get<{ id: number }>(text, [merchantId, most])
          if (last === undefined) return
          const values = [merchantId, last.id]
          yield* run('DELETE FROM events WHERE merchant_id = $1 AND id <= $2', values)
          const behind = 'merchant_id = $1 AND cursor < $2 AND next_at IS NOT NULL'
          yield* run(`UPDATE hooks SET lost = 1 WHERE ${behind}`, values)
        },
        { lock: EVENTS_LOCK },
      )
    },
  }
}

export type EventStore = ReturnType<typeof createEventStore>

function* keep(
  events: readonly NewEvent[],
  taken: readonly number[],
  { among }: Pick<Sql, 'among'>,
): Steps<void> {
  yield* insertAll(
    insertion,
    events.map(({ merchantId, type, key, at, data }) => ({
      merchant_id: merchantId,
      type,
      key,
      at,
      data,
    })),
  )
  if (events.length > 0) {
    yield* run(
      `UPDATE hooks SET next_at = $1
       WHERE next_at IS NULL AND parked IS NULL AND ${among('merchant_id', 2)}`,
      [Math.max(...events.map(({ at }) => at)), [...new Set(events.map((it) => it.merchantId))]],
    )
  }
  if (taken.length > 0) {
    yield* run(`DELETE FROM event_queue WHERE ${among('sequence', 1)}`, [taken])
  }
}
