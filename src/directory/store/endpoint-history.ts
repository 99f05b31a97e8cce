import type { ProbeRecord } from '@arcus/protocol/answers/listings'
import { DAY_SECONDS } from '../../async/time.js'
import { get, run, type SqlReader, type Steps } from '../../sql/sql.js'
import type { EndpointRow } from './sql/listing-rows.js'

/** Probes of one hour that found the same. */
export interface ProbeHour {
  /** Its first Unix second. */
  hour: number
  /** `live`, or what was wrong. */
  verdict: string
  count: number
  /** The time that they took together, milliseconds. */
  ms: number
}

/** A price since it was first seen. */
export interface NotedPrice {
  /** `listed` by the owner, `asked` by the endpoint's own 402. */
  source: 'listed' | 'asked'
  /** Unix seconds. */
  at: number
  /** Atomic units. */
  amount: string
  symbol: string
}

export const HISTORY_SECONDS = 90 * DAY_SECONDS

const HOUR_SECONDS = 3_600
/** Prices of one kind that are kept of an endpoint, so that one that changes all the time does not fill the disk. */
const PRICES_KEPT = 100

/** The history of an endpoint, for anybody. */
export function createEndpointHistory(sql: SqlReader) {
  return {
    /** Oldest first, from an hour on. */
    probeHours: (endpointId: number, since: number) =>
      sql.all<ProbeHour>(
        `SELECT hour, verdict, count, ms FROM probe_hours
         WHERE endpoint_id = $1 AND hour >= $2 ORDER BY hour, verdict`,
        [endpointId, since],
      ),
    /** Oldest first. */
    notedPrices: (endpointId: number) =>
      sql.all<NotedPrice>(
        `SELECT source, at, amount, symbol FROM endpoint_prices
         WHERE endpoint_id = $1 ORDER BY at, source DESC`,
        [endpointId],
      ),
  }
}

export type EndpointHistory = ReturnType<typeof createEndpointHistory>

/** Adds a probe to its hour, and drops the hours that are too old. */
export function* keepSample(
  endpointId: number,
  { verdict, checkedAt, ms }: ProbeRecord,
): Steps<void> {
  // Nobody called it, which tells nothing about it.
  if (verdict === 'not_called') return
  yield* run(
    `INSERT INTO probe_hours (endpoint_id, hour, verdict, count, ms) VALUES ($1, $2, $3, 1, $4)
     ON CONFLICT (endpoint_id, hour, verdict) DO UPDATE SET count = probe_hours.count + 1,
       ms = probe_hours.ms + excluded.ms`,
    [endpointId, checkedAt - (checkedAt % HOUR_SECONDS), verdict, ms ?? 0],
  )
  yield* run('DELETE FROM probe_hours WHERE endpoint_id = $1 AND hour < $2', [
    endpointId,
    checkedAt - HISTORY_SECONDS,
  ])
}

/** Notes the listed price and the price of a live 402 where they are not those that were noted last. */
export function* keepPrices(
  endpointId: number,
  { price, symbol }: Pick<EndpointRow, 'price' | 'symbol'>,
  probe: ProbeRecord | null,
  now: number,
): Steps<void> {
  yield* keepPrice(endpointId, { source: 'listed', at: now, amount: price, symbol })
  const amount = probe?.seen.amount
  if (probe?.verdict !== 'live' || typeof amount !== 'string') return
  yield* keepPrice(endpointId, { source: 'asked', at: probe.checkedAt, amount, symbol })
}

function* keepPrice(id: number, { source, at, amount, symbol }: NotedPrice): Steps<void> {
  const last = yield* get<NotedPrice>(
    `SELECT at, amount, symbol FROM endpoint_prices WHERE endpoint_id = $1 AND source = $2
     ORDER BY at DESC LIMIT 1`,
    [id, source],
  )
  if (last?.amount === amount && last.symbol === symbol) return
  // Two prices within a second, or with a clock that was set back, keep their order: the later one is put a second ahead.
  const noted = Math.max(at, (last?.at ?? 0) + 1)
  yield* run(
    'INSERT INTO endpoint_prices (endpoint_id, source, at, amount, symbol) VALUES ($1, $2, $3, $4, $5)',
    [id, source, noted, amount, symbol],
  )
  yield* run(
    `DELETE FROM endpoint_prices WHERE endpoint_id = $1 AND source = $2 AND at <= (
       SELECT at FROM endpoint_prices WHERE endpoint_id = $1 AND source = $2
       ORDER BY at DESC LIMIT 1 OFFSET ${PRICES_KEPT})`,
    [id, source],
  )
}
