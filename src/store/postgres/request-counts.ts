import type { RequestCountStore } from '../request-counts.js'
import type { Database } from './database.js'

export function createRequestCountStore(database: Database): RequestCountStore {
  return {
    async add(counts, now, windowMs) {
      if (counts.length === 0) return []
      // Not tried twice: requests would count double.
      const rows = await database.once.rows<{ caller: string; count: number; ends_at: number }>(
        `INSERT INTO request_counts AS c (caller, count, ends_at)
         SELECT caller, count, $4 FROM unnest($1::text[], $2::bigint[]) AS t (caller, count) ORDER BY caller
         ON CONFLICT (caller) DO UPDATE SET
           count = CASE WHEN c.ends_at <= $3 THEN excluded.count ELSE c.count + excluded.count END,
           ends_at = CASE WHEN c.ends_at <= $3 THEN excluded.ends_at ELSE c.ends_at END
         RETURNING caller, count, ends_at`,
        [counts.map(({ caller }) => caller), counts.map(({ count }) => count), now, now + windowMs],
      )
      return rows.map(({ caller, count, ends_at }) => ({ caller, count, endsAt: ends_at }))
    },
    async forget(now) {
      await database.run('DELETE FROM request_counts WHERE ends_at <= $1', [now])
    },
  }
}
