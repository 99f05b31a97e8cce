import type { ActivityScope, ActivityStore } from '../activity.js'
import { type SumRow, toActivitySum } from '../rows/activity-rows.js'
import { DAY_SECONDS, MAX_SUM } from '../rows/activity-tally.js'
import type { Database } from './database.js'

/**
 * The rows of a scope, parameters 1 to 5: a merchant as a whole is all its endpoints, and what is of none of them; a day
 * is its own rows and those of its hours that are not in them yet.
 */
const scoped =
  'span = ANY($1) AND merchant_id = $2 AND endpoint_id BETWEEN $3 AND $4 AND bucket >= $5'
const bucketOf = (span: ActivityScope['span']) =>
  span === 'h' ? 'bucket' : `bucket - bucket % ${DAY_SECONDS}`

const valuesOf = ({ span, merchantId = '', endpointId, since }: ActivityScope) => [
  span === 'h' ? ['h'] : ['d', 'h'],
  merchantId,
  endpointId ?? 0,
  endpointId ?? Number.MAX_SAFE_INTEGER,
  since,
]

type Text<Row> = { [Key in keyof Row]: Row[Key] extends bigint ? string : Row[Key] }

/** The server adds up; sums are read as text, for they go past what a double holds. */
export function createTotals(
  database: Database,
): Pick<ActivityStore, 'sums' | 'payers' | 'latencies'> {
  return {
    async sums(scope) {
      const rows = await database.rows<Text<SumRow>>(
        `SELECT at::text AS bucket, kind, state, reason, is_self::text, sum(count)::text AS count,
           least(${MAX_SUM}, sum(amount))::text AS amount, least(${MAX_SUM}, sum(gas))::text AS gas
         FROM (SELECT *, ${bucketOf(scope.span)} AS at FROM activity_sums WHERE ${scoped}) AS s
         GROUP BY at, kind, state, reason, s.is_self ORDER BY at, kind, state, reason, s.is_self`,
        valuesOf(scope),
      )
      return rows.map(({ kind, state, reason, ...sums }) =>
        toActivitySum({
          kind,
          state,
          reason,
          bucket: BigInt(sums.bucket),
          is_self: BigInt(sums.is_self),
          count: BigInt(sums.count),
          amount: BigInt(sums.amount),
          gas: BigInt(sums.gas),
        }),
      )
    },
    async latencies(scope, kind) {
      const rows = await database.rows<{ up_to_ms: number; count: string }>(
        `SELECT up_to_ms, sum(count) AS count FROM activity_latencies WHERE ${scoped} AND kind = $6
         GROUP BY up_to_ms ORDER BY up_to_ms`,
        [...valuesOf(scope), kind],
      )
      return rows.map((row) => ({ upToMs: row.up_to_ms, count: Number(row.count) }))
    },
    async payers(scope) {
      const [row] = await database.rows<{
        payers: number
        repeat: number
        top: string
        amount: string
      }>(
        `SELECT count(*) FILTER (WHERE times >= 1) AS payers, count(*) FILTER (WHERE times >= 2) AS repeat,
           coalesce(max(paid), 0)::text AS top, coalesce(sum(paid), 0)::text AS amount
         FROM (SELECT sum(count) AS times, greatest(0, sum(amount)) AS paid FROM activity_payers WHERE ${scoped}
           GROUP BY payer) AS each`,
        valuesOf(scope),
      )
      return {
        unique: row?.payers ?? 0,
        repeat: row?.repeat ?? 0,
        topAmount: BigInt(row?.top ?? 0),
        amount: BigInt(row?.amount ?? 0),
      }
    },
  }
}
