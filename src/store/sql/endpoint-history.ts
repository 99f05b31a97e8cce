import { type EndpointHistory, HISTORY_SECONDS, type NotedPrice } from '../endpoint-history.js'
import type { ProbeRecord } from '../listings.js'
import type { EndpointRow } from './listing-rows.js'
import { get, run, type SqlReader, type Steps } from './sql.js'

const HOUR_SECONDS = 3_600
/** Prices of one kind that are kept of an endpoint, so that one that changes all the time does not fill the disk. */
const PRICES_KEPT = 100

export function createEndpointHistory(sql: SqlReader): EndpointHistory {
  return {
    probeHours: (endpointId, since) =>
      sql.all(
        `SELECT hour, verdict, count, ms FROM probe_hours
         WHERE endpoint_id = $1 AND hour >= $2 ORDER BY hour, verdict`,
        [endpointId, since],
      ),
    notedPrices: (endpointId) =>
      sql.all(
        `SELECT source, at, amount, symbol FROM endpoint_prices
         WHERE endpoint_id = $1 ORDER BY at, source DESC`,
        [endpointId],
      ),
  }
}

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
