import type { PostgresDatabase } from './database.js'

/** Requests of a caller that a process counted since its last report; below 0 where it took counts back. */
interface CallerCount {
  caller: string
  count: number
}

/** The requests of a caller in all processes together. */
interface CallerTotal extends CallerCount {
  /** Unix milliseconds at which the caller's window ends. */
  endsAt: number
}

/** The most callers that one query returns. */
const MAX_BUSIEST = 10_000

/** Adds up the counts of all processes. */
export function createRequestCountStore(database: PostgresDatabase) {
  return {
    /** Adds to the window of each caller and begins a new one where it has ended; resolves with the totals. */
    async add(
      counts: readonly CallerCount[],
      now: number,
      windowMs: number,
    ): Promise<CallerTotal[]> {
      if (counts.length === 0) return []
      // Not tried twice: requests would be counted twice.
      return database.once.rows<CallerTotal>(
        `INSERT INTO request_counts AS c (caller, count, ends_at)
         SELECT caller, count, $4 FROM unnest($1::text[], $2::bigint[]) AS t (caller, count) ORDER BY caller
         ON CONFLICT (caller) DO UPDATE SET
           count = CASE WHEN c.ends_at <= $3 THEN greatest(0, excluded.count) ELSE c.count + excluded.count END,
           ends_at = CASE WHEN c.ends_at <= $3 THEN excluded.ends_at ELSE c.ends_at END
         RETURNING caller, count, ends_at AS "endsAt"`,
        [counts.map(({ caller }) => caller), counts.map(({ count }) => count), now, now + windowMs],
      )
    },
    /** Returns the callers with at least this number of requests in a window that has not ended, busiest first. */
    async busiest(atLeast: number, now: number): Promise<CallerTotal[]> {
      return database.rows<CallerTotal>(
        `SELECT caller, count, ends_at AS "endsAt" FROM request_counts WHERE count >= $1 AND ends_at > $2
         ORDER BY count DESC LIMIT ${MAX_BUSIEST}`,
        [atLeast, now],
      )
    },
    /** Drops windows that ended before. */
    async forget(now: number): Promise<void> {
      await database.run('DELETE FROM request_counts WHERE ends_at <= $1', [now])
    },
  }
}

export type RequestCountStore = ReturnType<typeof createRequestCountStore>
