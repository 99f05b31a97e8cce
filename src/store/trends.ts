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
