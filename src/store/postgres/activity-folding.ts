import type { ActivityStore } from '../activity.js'
import { DAY_SECONDS, MAX_SUM } from '../rows/activity-tally.js'
import type { Database } from './database.js'

/** Rows of one commit. */
const SLICE = 5_000

const folds = [
  fold('activity_sums', 'kind, state, reason, is_self', ['amount', 'gas']),
  fold('activity_latencies', 'kind, up_to_ms', []),
  fold('activity_payers', 'payer', ['amount']),
]

/** Makes days of hours; each statement leaves every sum where it is read once. Replicas that do so at the same time take different rows. */
export function createFolding(database: Database): Pick<ActivityStore, 'foldHours'> {
  return {
    async foldHours(bucket) {
      for (const statement of folds) {
        let moved: number
        do {
          // Not tried twice: hours that were moved by an answer that was lost are found no more, so nothing is lost either.
          const [row] = await database.once.rows<{ moved: number }>(statement, [bucket])
          moved = row?.moved ?? 0
        } while (moved === SLICE)
      }
    },
  }
}

function fold(table: string, rest: string, money: readonly ('amount' | 'gas')[]): string {
  const key = `span, merchant_id, bucket, endpoint_id, ${rest}`
  // Beyond 64 bits before it is stopped.
  const added = money.map((name) => `, least(${MAX_SUM}, sum(${name}))::bigint`).join('')
  const capped = money
    .map((name) => `, ${name} = least(${MAX_SUM}, s.${name}::numeric + excluded.${name})::bigint`)
    .join('')
  return `WITH old AS (
      DELETE FROM ${table} WHERE ctid IN (
        SELECT ctid FROM ${table} WHERE span = 'h' AND bucket < $1 LIMIT ${SLICE} FOR UPDATE SKIP LOCKED)
      RETURNING *),
    days AS (SELECT *, bucket - bucket % ${DAY_SECONDS} AS day FROM old),
    added AS (
      INSERT INTO ${table} AS s (${[key, 'count', ...money].join(', ')})
      SELECT 'd', merchant_id, day, endpoint_id, ${rest}, sum(count)::bigint${added}
      FROM days GROUP BY merchant_id, day, endpoint_id, ${rest}
      ORDER BY merchant_id, day, endpoint_id, ${rest}
      ON CONFLICT (${key}) DO UPDATE SET count = s.count + excluded.count${capped})
    SELECT count(*) AS moved FROM old`
}
