import type { Address } from 'viem'
import type { SqlReader } from '../../sql/sql.js'

/** What may be bought at this moment. */
export interface CheckBudget {
  /** The token of dollars, in lower case. */
  asset: Address
  /** Of one check, and of a UTC day; atomic units. */
  mostAtomic: bigint
  dailyLimit: bigint
  /** Unix seconds. */
  now: number
}

export const DAY_SECONDS = 86_400
/** No endpoint of others is bought from again within this time unless its owner asks. */
export const PAUSE_SECONDS = 7 * DAY_SECONDS
/** The operator's own endpoints are bought from so often, or as often as half of the day's money allows. */
const OWN_PAUSE_SECONDS = 3_600
/** An attempt that said nothing about the endpoint is made again after this time. */
const RETRY_SECONDS = 3_600

/** Merchants whose payout address stands behind the owner, as `payToProofOf` says, and that the public sees. */
const isProven = `m.hidden_reason IS NULL AND m.deleted_at IS NULL AND (m.owner = m.pay_to
  OR (m.confirmed_owner = m.owner AND m.confirmed_pay_to = m.pay_to)
  OR (m.owner IS NULL AND m.id NOT LIKE 'payto-%') OR m.is_official = 1)`

const ofEndpoint = 'c.url = e.url AND c.method = e.method AND c.tool_name = e.tool_name'

const isForSale = `e.status = 'live' AND e.method <> 'MCP' AND e.asset = $1
  AND CAST(e.price AS BIGINT) <= $2`

/** Says which endpoints are bought from, and in which order. */
export function createCheckQueue(reads: SqlReader) {
  /** Returns the pause after which all our own endpoints together cost half of what a day may cost. */
  async function ownPauseSeconds({ asset, mostAtomic, dailyLimit }: Omit<CheckBudget, 'now'>) {
    const text = `SELECT CAST(sum(CAST(e.price AS BIGINT)) AS BIGINT) AS price FROM endpoints e
      WHERE e.is_hosted = 1 AND ${isForSale}`
    const found = await reads.get<{ price: number | null }>(text, [asset, mostAtomic])
    const seconds = Math.ceil((2 * DAY_SECONDS * (found?.price ?? 0)) / Number(dailyLimit))
    return Math.max(OWN_PAUSE_SECONDS, seconds)
  }

  return {
    ownPauseSeconds,
    /**
     * Returns the ids of endpoints that a check may buy from, the next first: our own endpoints after their pause, those
     * asked for, never checked (our own before others), then the oldest check. Of those alike, sellers come first who sold
     * less to checks within a day.
     */
    async candidates({ asset, mostAtomic, dailyLimit, now }: CheckBudget, limit: number) {
      const text = `SELECT id FROM (
          SELECT e.id, e.is_hosted, e.created_at, COALESCE(sales.bought, 0) AS bought,
            (SELECT min(r.asked_at) FROM check_requests r WHERE r.endpoint_id = e.id AND r.is_open = 1) AS asked,
            (SELECT max(c.started_at) FROM paid_checks c WHERE ${ofEndpoint} AND c.state <> 'skipped') AS checked,
            (SELECT max(c.started_at) FROM paid_checks c WHERE ${ofEndpoint} AND c.state = 'skipped') AS tried
          FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
          LEFT JOIN (SELECT pay_to, count(*) AS bought FROM paid_checks WHERE started_at > $6
            GROUP BY pay_to) AS sales ON sales.pay_to = m.pay_to
          WHERE ${isForSale} AND ${isProven}) AS found
        WHERE asked IS NOT NULL OR (COALESCE(tried, 0) <= $4
          AND (COALESCE(checked, 0) <= $3 OR (is_hosted = 1 AND checked <= $7)))
        ORDER BY CASE WHEN is_hosted = 1 AND checked <= $7 AND COALESCE(tried, 0) <= $4 THEN 0 ELSE 1 END,
          CASE WHEN asked IS NULL THEN 1 ELSE 0 END, asked,
          CASE WHEN checked IS NULL THEN 0 ELSE 1 END, is_hosted DESC, bought,
          COALESCE(checked, 0), created_at DESC, id LIMIT $5`
      const times = [now - PAUSE_SECONDS, now - RETRY_SECONDS]
      const ownPause = await ownPauseSeconds({ asset, mostAtomic, dailyLimit })
      const values = [asset, mostAtomic, ...times, limit, now - DAY_SECONDS, now - ownPause]
      return (await reads.all<{ id: number }>(text, values)).map(({ id }) => id)
    },
  }
}
