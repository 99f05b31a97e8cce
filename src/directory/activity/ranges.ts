/** The ranges people look at, each read from sums by hour or by day. */
export const activityRanges = ['24h', '7d', '30d', 'all'] as const
export type ActivityRange = (typeof activityRanges)[number]

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

export interface Span {
  span: 'h' | 'd'
  /** Unix seconds of the first bucket: the current hour or day is the last one. */
  since: number
  stepSeconds: number
}

/** Which buckets a range is made of at this moment (Unix milliseconds). */
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
