import type { ActivityAnswer, ActivityPoint } from '../api/activity-types.js'

/** More bars than this are no bars any more. */
const MAX_BUCKETS = 366

/** Every hour or day of the range in order, with zeros where nothing happened; the service leaves those out. */
export function fillBuckets({ range, since, stepSeconds, series }: ActivityAnswer, now: number) {
  const last = Math.floor(now / 1000 / stepSeconds) * stepSeconds
  const first = range === 'all' ? (series[0]?.at ?? last) : since
  const from = Math.max(first, last - (MAX_BUCKETS - 1) * stepSeconds)
  const known = new Map(series.map((point) => [point.at, point]))
  const count = Math.floor((last - from) / stepSeconds) + 1
  return Array.from({ length: count }, (_, index) => {
    const at = from + index * stepSeconds
    return known.get(at) ?? empty(at)
  })
}

function empty(at: number): ActivityPoint {
  return { at, verifies: 0, settled: 0, failed: 0, amount: '0', usd: '0' }
}

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** What a bucket is called: an hour in the reader's time, a day as the service counts them, in UTC. */
export function bucketName(at: number, stepSeconds: number): string {
  return (stepSeconds < 86_400 ? hour : day).format(at * 1000)
}
