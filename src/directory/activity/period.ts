import { DAY_SECONDS } from '../../async/time.js'
import { parameterFault } from '../../http/query.js'

/** The ranges of the figures, each read from sums by hour or by day. */
export const activityRanges = ['24h', '7d', '30d', 'all'] as const
export type ActivityRange = (typeof activityRanges)[number]

const HOUR_SECONDS = 3_600

interface Span {
  span: 'h' | 'd'
  /** Unix seconds of the first bucket: the current hour or day is the last one. */
  since: number
  stepSeconds: number
}

/** Returns the buckets of a range at this moment (Unix milliseconds). */
export function spanOf(range: ActivityRange, now: number): Span {
  const seconds = Math.floor(now / 1000)
  if (range === '24h') {
    return {
      span: 'h',
      since: floorTo(seconds, HOUR_SECONDS) - 23 * HOUR_SECONDS,
      stepSeconds: HOUR_SECONDS,
    }
  }
  const today = floorTo(seconds, DAY_SECONDS)
  const days = { '7d': 6, '30d': 29, all: today / DAY_SECONDS }[range]
  return { span: 'd', since: today - days * DAY_SECONDS, stepSeconds: DAY_SECONDS }
}

function floorTo(seconds: number, step: number): number {
  return seconds - (seconds % step)
}

/** The range that an owner asks for: back from now, or from one day to another. */
interface PeriodQuery {
  range: ActivityRange | 'custom'
  /** Days of UTC, `YYYY-MM-DD`, both within the range. */
  from?: string | undefined
  to?: string | undefined
}

/** A span with the Unix second at which its last bucket ends. */
interface Period extends Span {
  until: number
}

/**
 * Returns the buckets that an owner asks for. Throws a 400 for days that are out of order, to come, or older than the
 * payments that are kept.
 */
export function periodOf(
  { range, from, to }: PeriodQuery,
  now: number,
  retentionDays: number,
): Period {
  const seconds = Math.floor(now / 1000)
  if (range !== 'custom') {
    if (from !== undefined || to !== undefined) {
      throw parameterFault('from and to need range=custom.')
    }
    const span = spanOf(range, now)
    return { ...span, until: floorTo(seconds, span.stepSeconds) + span.stepSeconds }
  }
  if (from === undefined || to === undefined) {
    throw parameterFault('range=custom needs from and to, both as YYYY-MM-DD.')
  }
  const today = floorTo(seconds, DAY_SECONDS)
  const oldest = today - retentionDays * DAY_SECONDS
  const [since, last] = [Date.parse(from) / 1000, Date.parse(to) / 1000]
  if (last < since) throw parameterFault('to must not be before from.')
  if (last > today) throw parameterFault(`to must be ${dayOf(today)} or before: days are of UTC.`)
  if (since < oldest) {
    throw parameterFault(
      `from must be ${dayOf(oldest)} or later: payments are kept for ${retentionDays} days.`,
    )
  }
  const stepSeconds = last === since ? HOUR_SECONDS : DAY_SECONDS
  const span = last === since ? 'h' : 'd'
  return { span, since, until: last + DAY_SECONDS, stepSeconds }
}

/** Returns the bounds of days (UTC, both within) in Unix milliseconds. Throws a 400 for days that are out of order. */
export function daysOf({ from, to }: Pick<PeriodQuery, 'from' | 'to'>): {
  since: number | undefined
  until: number | undefined
} {
  if (from !== undefined && to !== undefined && to < from) {
    throw parameterFault('to must not be before from.')
  }
  const until = to === undefined ? undefined : Date.parse(to) + DAY_SECONDS * 1_000
  return { since: from === undefined ? undefined : Date.parse(from), until }
}

const dayOf = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10)
