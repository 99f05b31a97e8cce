import type { EventStore, NewEvent, QueuedNews, StoredEvent } from '../events.js'
import { get, type Insertion, insertAll, run, type Sql, type Steps } from './sql.js'

/** The lock under which events are numbered, so that a lower number never becomes readable after a higher one. */
export const EVENTS_LOCK = 'events'

const insertion: Insertion = {
  table: 'events',
  rest: 'ON CONFLICT (key) DO NOTHING',
}

type QueuedRow = Omit<QueuedNews, 'job'> & {
  [Member in keyof NonNullable<QueuedNews['job']>]: NonNullable<QueuedNews['job']>[Member] | null
}

export function createEventStore(sql: Sql): EventStore {
  return {
    async queued(limit) {
      const rows = await sql.all<QueuedRow>(
        `SELECT q.sequence, q.type, q.facts, q.at,
           j.id, j.kind, j.network, j.key, j.state, j.details, j."transaction", j.reason
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
    keep: (events, taken) => sql.transaction(() => keep(events, taken, sql), { lock: EVENTS_LOCK }),
    list: ({ merchantId, types, since, limit }) =>
      sql.all<StoredEvent>(
        `SELECT id, merchant_id AS "merchantId", type, key, at, data FROM events
         WHERE merchant_id = $1 AND id > $2 AND ${sql.among('type', 3)} ORDER BY id LIMIT $4`,
        [merchantId, since, types, limit],
      ),
    latest: (merchantId, types, limit) =>
      sql.all<StoredEvent>(
        `SELECT id, merchant_id AS "merchantId", type, key, at, data FROM events
         WHERE merchant_id = $1 AND ${sql.among('type', 2)} ORDER BY id DESC LIMIT $3`,
        [merchantId, types, limit],
      ),
    forget: (before, limit) =>
      sql.run(
        `DELETE FROM events WHERE id IN (
           SELECT id FROM (SELECT id, at FROM events ORDER BY id LIMIT $1) AS oldest WHERE at < $2)`,
        [limit, before],
      ),
    async trim(merchantId, most) {
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
