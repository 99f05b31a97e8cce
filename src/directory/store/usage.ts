import type { Usage } from '@arcus/protocol/answers/fields'
import { get, run, type Sql } from '../../sql/sql.js'

export const usageWindows = ['24h', '7d', '30d'] as const

/** An endpoint whose figures may have changed, or a merchant as a whole. */
export interface PaidPlace {
  merchantId: string
  /** `null` for the merchant. */
  endpointId: number | null
  /** Unix seconds of the first and the last payment that were found; `null` where none was. */
  first: number | null
  last: number | null
}

interface RefreshedUsage {
  place: PaidPlace
  usage: Usage
  /** Unix seconds. */
  dueAt: number | null
}

/** Rows of activity that one step looks through; the first refresh looks through every row that is kept. */
const ROWS_AT_ONCE = 5_000

/** Keeps the figures, which one process refreshes for all of them. */
export function createUsageStore(sql: Sql) {
  const lazily = { isDurable: false }
  return {
    /** Returns the row of activity to go on from; `undefined` where nothing has changed. */
    async begin(nowSeconds: number): Promise<number | undefined> {
      const state = await sql.get<{ seen_before: number }>(
        'SELECT seen_before FROM usage_refresh WHERE id = 1',
      )
      // Where several processes write, a row may become visible after one with a higher number, so the rows of the last
      // refresh are read again.
      const after = state?.seen_before ?? 0
      const news = await sql.get(
        `SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM activity WHERE id > $1)
           OR EXISTS (SELECT 1 FROM endpoint_usage WHERE due_at <= $2)
           OR EXISTS (SELECT 1 FROM merchant_usage WHERE due_at <= $2)`,
        [after, nowSeconds],
      )
      return news === undefined ? undefined : after
    },
    /** Places that the next rows of activity name; `undefined` after the last one. */
    async paidAfter(row: number): Promise<{ last: number; paid: PaidPlace[] } | undefined> {
      const end = await sql.get<{ last: number | null }>(
        `SELECT max(id) AS last FROM (SELECT id FROM activity WHERE id > $1 ORDER BY id LIMIT ${ROWS_AT_ONCE}) AS page`,
        [row],
      )
      const last = end?.last ?? null
      if (last === null) return undefined
      const paid = await sql.all<PaidPlace>(
        `SELECT endpoint_id AS "endpointId", merchant_id AS "merchantId",
           min(CASE state WHEN 'settled' THEN at END) / 1000 AS "first",
           max(CASE state WHEN 'settled' THEN at END) / 1000 AS "last"
         FROM activity WHERE id > $1 AND id <= $2 AND state IN ('settled', 'refunded') AND is_self = 0
           AND merchant_id IS NOT NULL
         GROUP BY endpoint_id, merchant_id`,
        [row, last],
      )
      return { last, paid }
    },
    /** Places whose figures change because time passes, longest due first. */
    due: (nowSeconds: number, limit: number) =>
      sql.all<PaidPlace>(
        `SELECT * FROM (
           SELECT u.endpoint_id AS "endpointId", e.merchant_id AS "merchantId", NULL AS "first", NULL AS "last", u.due_at
           FROM endpoint_usage u JOIN endpoints e ON e.id = u.endpoint_id WHERE u.due_at <= $1
           UNION ALL
           SELECT NULL, merchant_id, NULL, NULL, due_at FROM merchant_usage WHERE due_at <= $1
         ) AS places ORDER BY due_at LIMIT $2`,
        [nowSeconds, limit],
      ),
    async find(place: PaidPlace): Promise<Usage | undefined> {
      const { table, key, id } = rowOf(place)
      const text = `SELECT figures FROM ${table} WHERE ${key} = $1`
      const row = await sql.get<{ figures: string }>(text, [id])
      return row && (JSON.parse(row.figures) as Usage)
    },
    /** Leaves out endpoints and merchants that are gone. */
    async save(rows: readonly RefreshedUsage[]): Promise<void> {
      await sql.transaction(function* () {
        // Numbers are taken from the row of the refresh, so that those of removed endpoints do not come again.
        const counted = yield* get<{ version: number }>(
          `INSERT INTO usage_refresh (id, seen, seen_before, version) VALUES (1, 0, 0, $1)
           ON CONFLICT (id) DO UPDATE SET version = usage_refresh.version + excluded.version RETURNING version`,
          [rows.length],
        )
        let version = (counted?.version ?? 0) - rows.length
        for (const { place, usage, dueAt } of rows) {
          const { table, key, id, owner } = rowOf(place)
          yield* run(
            `INSERT INTO ${table} (${key}, version, figures, due_at)
             SELECT id, CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS BIGINT)
             FROM ${owner} WHERE id = $1
             ON CONFLICT (${key}) DO UPDATE SET figures = excluded.figures, due_at = excluded.due_at,
               version = CASE WHEN ${table}.figures = excluded.figures THEN ${table}.version
                 ELSE excluded.version END`,
            [id, ++version, JSON.stringify(usage), dueAt],
          )
        }
      }, lazily)
    },
    /** Ends a refresh that looked at all rows up to this one. */
    async finish(seen: number): Promise<void> {
      await sql.transaction(
        () =>
          run(
            `INSERT INTO usage_refresh (id, seen, seen_before, version) VALUES (1, $1, 0, 0)
             ON CONFLICT (id) DO UPDATE SET seen_before = usage_refresh.seen, seen = excluded.seen`,
            [seen],
          ),
        lazily,
      )
    },
  }
}

export type UsageStore = ReturnType<typeof createUsageStore>

/** Names the row of an endpoint or merchant, and the table without whose row it does not exist. */
function rowOf({ endpointId, merchantId }: PaidPlace) {
  return endpointId === null
    ? { table: 'merchant_usage', key: 'merchant_id', id: merchantId, owner: 'merchants' }
    : { table: 'endpoint_usage', key: 'endpoint_id', id: endpointId, owner: 'endpoints' }
}
