import type { FastifyInstance } from 'fastify'
import { type StatusHistory, statusHistoryAnswer } from '../api/service.js'
import { percentiles } from '../directory/activity/summary.js'
import { shareReads } from '../http/cached-reply.js'
import { describedAs, type Operation } from '../http/operation.js'
import { SERVICE_DAYS, type ServiceHistory, type ServiceHour } from '../store/service-history.js'

export type ReadStatusHistory = () => Promise<StatusHistory>

const DAY_SECONDS = 86_400
const MINUTE_SECONDS = 60
const INCIDENTS = 100
/** Anybody may ask, and a minute is the finest that is noted. */
const CACHE_MS = 30_000

type SettleTimes = Pick<StatusHistory['days'][number], 'p50Ms' | 'p95Ms'>

/** Creates the read of 90 days: minutes by state, settle times, incidents. Times of days that are over are read once. */
export function createStatusHistory({
  history,
  now,
}: {
  history: Omit<ServiceHistory, 'note'>
  /** Unix milliseconds. */
  now: () => number
}): ReadStatusHistory {
  const known = new Map<number, SettleTimes>()

  async function settleTimes(day: number, today: number): Promise<SettleTimes> {
    const kept = known.get(day)
    if (kept !== undefined) return kept
    const times = percentiles(await history.settleSteps(day))
    // Yesterday's last payments may still be written.
    if (day < today - DAY_SECONDS) known.set(day, times)
    return times
  }

  async function read(): Promise<StatusHistory> {
    const seconds = Math.floor(now() / 1_000)
    const today = seconds - (seconds % DAY_SECONDS)
    const first = today - (SERVICE_DAYS - 1) * DAY_SECONDS
    const [hours, incidents] = await Promise.all([
      history.hours(first, seconds),
      history.incidents(seconds, INCIDENTS),
    ])
    const recordedSince = hours[0]?.firstAt ?? null
    const days: StatusHistory['days'][number][] = []
    for (let at = first; at <= today; at += DAY_SECONDS) {
      const times = await settleTimes(at, today)
      days.push({ at, ...minutesOf(at, hours, recordedSince ?? seconds, seconds), ...times })
    }
    for (const day of known.keys()) if (day < first) known.delete(day)
    return { recordedSince, uptime: uptimeOf(days), days, incidents }
  }

  return shareReads(CACHE_MS, now, read)
}

/** Sums the hours of a day. A minute of it that is over, and that nobody noted since recording began, is unknown. */
function minutesOf(day: number, hours: readonly ServiceHour[], since: number, now: number) {
  const sum = { ready: 0, degraded: 0, down: 0 }
  for (const { hour, ready, degraded, down } of hours) {
    if (hour < day || hour >= day + DAY_SECONDS) continue
    sum.ready += ready
    sum.degraded += degraded
    sum.down += down
  }
  const end = Math.min(day + DAY_SECONDS, now - (now % MINUTE_SECONDS))
  const expected = Math.max(0, end - Math.max(day, since)) / MINUTE_SECONDS
  const unknown = Math.max(0, Math.floor(expected) - sum.ready - sum.degraded - sum.down)
  return { ...sum, unknown }
}

function uptimeOf(days: StatusHistory['days']): number | null {
  let up = 0
  let all = 0
  for (const { ready, degraded, down, unknown } of days) {
    up += ready + degraded
    all += ready + degraded + down + unknown
  }
  // Rounded down, so that only a service that was always up is at 1.
  return all === 0 ? null : Math.floor((up / all) * 100_000) / 100_000
}

const statusHistoryOperation: Operation = {
  id: 'getStatusHistory',
  tag: 'Service',
  summary: 'Whether payments could settle, and how fast they did, by day for 90 days',
  answers: { 200: { description: 'Oldest day first.', schema: statusHistoryAnswer } },
  examples: { now: { summary: 'Now', status: 200 } },
}

/** Adds `GET /api/status/history`. */
export function statusHistoryRoutes(app: FastifyInstance, readHistory: ReadStatusHistory): void {
  app.get('/api/status/history', describedAs(statusHistoryOperation), async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=30').send(await readHistory()),
  )
}
