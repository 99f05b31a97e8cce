import type { SqlReader } from './sql/sql.js'

/** An endpoint by day for 30 days, today last. */
export interface Trend {
  /** Paid calls; `null` where nobody paid. */
  calls: number[] | null
  /** Share of live probes, 0 to 1; `null` on a day without a probe. */
  uptime: (number | null)[]
}

/** Calls by day as they are kept, from the day that begins with this Unix second. */
export interface CallsByDay {
  since: number
  calls: readonly number[]
}

export const TREND_DAYS = 30
const DAY_SECONDS = 86_400

/** Returns thirty days from `since`, also of calls that were kept on another day; `null` without a call. */
export function fitTrend(kept: CallsByDay, since: number): number[] | null {
  const ahead = Math.round((since - kept.since) / DAY_SECONDS)
  const calls = Array.from({ length: TREND_DAYS }, (_, day) => kept.calls[day + ahead] ?? 0)
  return calls.some((count) => count > 0) ? calls : null
}

/** An endpoint has hundreds of hours, and a hundred endpoints would hold the event loop for 50 ms. */
const PROBED_AT_ONCE = 10

interface ProbedDay {
  id: number
  day: number
  live: number
  probes: number
}

/** Reads calls and uptime of endpoints by day, today last. `now` is in Unix seconds. */
export async function readTrends(
  sql: SqlReader,
  endpointIds: readonly number[],
  now: number,
): Promise<Map<number, Trend>> {
  const today = now - (now % DAY_SECONDS)
  const since = today - (TREND_DAYS - 1) * DAY_SECONDS
  const used = await sql.all<{ id: number; trend: string }>(
    `SELECT endpoint_id AS id, trend FROM endpoint_usage WHERE ${sql.among('endpoint_id', 1)}`,
    [endpointIds],
  )
  const probed: ProbedDay[] = []
  for (let at = 0; at < endpointIds.length; at += PROBED_AT_ONCE) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve))
    const rows = await sql.all<ProbedDay>(
      `SELECT endpoint_id AS id, hour - hour % ${DAY_SECONDS} AS day, CAST(sum(count) AS BIGINT) AS probes,
         CAST(sum(CASE verdict WHEN 'live' THEN count ELSE 0 END) AS BIGINT) AS live
       FROM probe_hours WHERE ${sql.among('endpoint_id', 1)} AND hour >= $2 GROUP BY 1, 2`,
      [endpointIds.slice(at, at + PROBED_AT_ONCE), since],
    )
    probed.push(...rows)
  }
  const trends = new Map<number, Trend>(
    endpointIds.map((id) => [id, { calls: null, uptime: Array(TREND_DAYS).fill(null) }]),
  )
  for (const { id, trend } of used) {
    const known = trends.get(id)
    if (known !== undefined) known.calls = fitTrend(JSON.parse(trend), since)
  }
  for (const { id, day, live, probes } of probed) {
    const known = trends.get(id)
    const place = (day - since) / DAY_SECONDS
    if (known !== undefined && place < TREND_DAYS) known.uptime[place] = live / probes
  }
  return trends
}
