import type { RequestCountStore } from '../request-counts.js'
import type { Database } from './database.js'

/** The most callers that one query returns. */
const MAX_BUSIEST = 10_000

interface Row {
  caller: string
  count: number
  ends_at: number
}

const toTotal = ({ caller, count, ends_at }: Row) => ({ caller, count, endsAt: ends_at })

export function createRequestCountStore(database: Database): RequestCountStore {
  return {
    async add(counts, now, windowMs) {
      if (counts.length === 0) return []
      // Not tried twice: requests would be counted twice.
      const rows = await database.once.rows<Row>(
        `INSERT INTO request_counts AS c (caller, count, ends_at)
         SELECT caller, count, $4 FROM unnest($1::text[], $2::bigint[]) AS t (caller, count) ORDER BY caller
         ON CONFLICT (caller) DO UPDATE SET
           count = CASE WHEN c.ends_at <= $3 THEN greatest(0, excluded.count) ELSE c.count + excluded.count END,
           ends_at = CASE WHEN c.ends_at <= $3 THEN excluded.ends_at ELSE c.ends_at END
         RETURNING caller, count, ends_at`,
        [counts.map(({ caller }) => caller), counts.map(({ count }) => count), now, now + windowMs],
      )
      return rows.map(toTotal)
    },
    async busiest(atLeast, now) {
      const rows = await database.rows<Row>(
        `SELECT caller, count, ends_at FROM request_counts WHERE count >= $1 AND ends_at > $2
         ORDER BY count DESC LIMIT ${MAX_BUSIEST}`,
        [atLeast, now],
      )
      return rows.map(toTotal)
    },
    async forget(now) {
      await database.run('DELETE FROM request_counts WHERE ends_at <= $1', [now])
    },
  }
}
