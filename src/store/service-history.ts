import { EVERYBODY } from './sql/activity-sums.js'
import { get, run, type Sql, type Steps } from './sql/sql.js'

/** The state of the service in one minute. `degraded`: payments settle, and the operator should look at it. */
export type Standing = 'ready' | 'degraded' | 'down'

export interface ServiceMinute {
  /** Its first Unix second. */
  at: number
  standing: Standing
  /** Why it is not ready, for anybody to read. */
  reason: string
}

/** Minutes of an hour by state. */
export interface ServiceHour extends Record<Standing, number> {
  /** Its first Unix second. */
  hour: number
  /** The first Unix second of the first minute that was noted. */
  firstAt: number
}

export interface ServiceIncident {
  /** Unix seconds. */
  startedAt: number
  /** `null` while it lasts. */
  endedAt: number | null
  /** `silent`: nothing was noted, because the service was stopped or its database was away. */
  kind: Exclude<Standing, 'ready'> | 'silent'
  reason: string
}

/** Settles of one day that took up to so many milliseconds. */
export interface SettleStep {
  upToMs: number
  count: number
}

export const SERVICE_DAYS = 90

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400
/** A shorter gap is a restart, and no incident. */
const SILENCE_SECONDS = 3 * MINUTE_SECONDS
/** A service that is ready every other minute must not fill the disk. */
const INCIDENTS_KEPT = 1_000
const SILENT = 'Nothing was noted: the service was stopped, or it could not write to its database.'

/** Remembers for 90 days whether payments could settle. */
export function createServiceHistory(sql: Sql) {
  const pause = sql.pacing()
  return {
    /** Notes a minute, unless it or a later one was noted: of several processes one counts. */
    note: (minute: ServiceMinute) =>
      sql.transaction(() => note(minute), { isDurable: false, lock: 'service-history' }),
    /** Hours that begin between these Unix seconds, oldest first. */
    hours: (since: number, until: number) =>
      sql.all<ServiceHour>(
        `SELECT hour, ready, degraded, down, first_at AS "firstAt"
         FROM service_hours WHERE hour >= $1 AND hour <= $2 ORDER BY hour`,
        [since, until],
      ),
    /** The newest ones before a Unix second, newest first. */
    incidents: (until: number, limit: number) =>
      sql.all<ServiceIncident>(
        `SELECT started_at AS "startedAt", ended_at AS "endedAt", kind, reason
         FROM service_incidents WHERE started_at <= $1 ORDER BY started_at DESC LIMIT $2`,
        [until, limit],
      ),
    /** Settle times of everybody in the day that begins with this Unix second. */
    async settleSteps(day: number): Promise<SettleStep[]> {
      // The first read of a process is of 90 days.
      await pause()
      return sql.all<SettleStep>(
        `SELECT up_to_ms AS "upToMs", CAST(sum(count) AS BIGINT) AS count FROM activity_latencies
         WHERE span = 'h' AND merchant_id = $1 AND bucket >= $2 AND bucket < $3 AND kind = 'settle'
         GROUP BY up_to_ms ORDER BY up_to_ms`,
        [EVERYBODY, day, day + DAY_SECONDS],
      )
    },
  }
}

export type ServiceHistory = ReturnType<typeof createServiceHistory>

function* note({ at, standing, reason }: ServiceMinute): Steps<void> {
  const hour = at - (at % HOUR_SECONDS)
  // Hours that are far ahead are of a clock that was wrong then: they must not keep out all others.
  const newest = yield* get<{ last_at: number }>(
    'SELECT last_at FROM service_hours WHERE hour <= $1 ORDER BY hour DESC LIMIT 1',
    [hour + HOUR_SECONDS],
  )
  const last = newest?.last_at
  if (last !== undefined && last >= at) return
  const minutes = ['ready', 'degraded', 'down'].map((it) => Number(it === standing))
  yield* run(
    `INSERT INTO service_hours (hour, ready, degraded, down, first_at, last_at) VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (hour) DO UPDATE SET ready = service_hours.ready + excluded.ready,
       degraded = service_hours.degraded + excluded.degraded, down = service_hours.down + excluded.down,
       last_at = excluded.last_at`,
    [hour, ...minutes, at],
  )
  yield* noteIncidents({ at, standing, reason }, last)
  const oldest = hour - SERVICE_DAYS * DAY_SECONDS
  yield* run('DELETE FROM service_hours WHERE hour < $1', [oldest])
  yield* run(
    `DELETE FROM service_incidents WHERE ended_at < $1 OR started_at <= (
       SELECT started_at FROM service_incidents ORDER BY started_at DESC LIMIT 1 OFFSET ${INCIDENTS_KEPT})`,
    [oldest],
  )
}

/** Ends the incident that is over, and begins the one that is new. */
function* noteIncidents(minute: ServiceMinute, last: number | undefined): Steps<void> {
  const { at, standing, reason } = minute
  const silentFrom =
    last !== undefined && at - last > SILENCE_SECONDS ? last + MINUTE_SECONDS : null
  const open = yield* get<{ kind: ServiceIncident['kind'] }>(
    'SELECT kind FROM service_incidents WHERE ended_at IS NULL',
  )
  if (open !== undefined && open.kind === standing && silentFrom === null) return
  if (open !== undefined) {
    yield* run('UPDATE service_incidents SET ended_at = $1 WHERE ended_at IS NULL', [
      silentFrom ?? at,
    ])
  }
  if (silentFrom !== null) yield* insertIncident([silentFrom, at, 'silent', SILENT])
  if (standing !== 'ready') yield* insertIncident([at, null, standing, reason])
}

/** Keeps an incident; one that began in the same minute stays. */
function* insertIncident(values: [number, number | null, string, string]): Steps<void> {
  yield* run(
    `INSERT INTO service_incidents (started_at, ended_at, kind, reason) VALUES ($1, $2, $3, $4)
     ON CONFLICT (started_at) DO NOTHING`,
    values,
  )
}
