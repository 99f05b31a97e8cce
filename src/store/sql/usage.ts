import type { PaidEndpoint, Usage, UsageStore } from '../usage.js'
import { get, run, type Sql } from './sql.js'

/** Rows of activity that one step looks through, few enough for a turn of the event loop. */
const ROWS_AT_ONCE = 1_000

export function createUsageStore(sql: Sql): UsageStore {
  const lazily = { isDurable: false }
  return {
    async begin(nowSeconds) {
      const state = await sql.get<{ seen: number; seen_before: number }>(
        'SELECT seen, seen_before FROM usage_refresh WHERE id = 1',
      )
      // Elsewhere a row may become visible after one with a higher number, so the rows of the last refresh are read again.
      const after = (sql.runsHere ? state?.seen : state?.seen_before) ?? 0
      const news = await sql.get(
        `SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM activity WHERE id > $1)
           OR EXISTS (SELECT 1 FROM endpoint_usage WHERE due_at <= $2)`,
        [after, nowSeconds],
      )
      return news === undefined ? undefined : after
    },
    async paidAfter(row) {
      const end = await sql.get<{ last: number | null }>(
        `SELECT max(id) AS last FROM (SELECT id FROM activity WHERE id > $1 ORDER BY id LIMIT ${ROWS_AT_ONCE}) AS page`,
        [row],
      )
      const last = end?.last ?? null
      if (last === null) return undefined
      const paid = await sql.all<PaidEndpoint>(
        `SELECT endpoint_id AS "endpointId", merchant_id AS "merchantId",
           min(CASE state WHEN 'settled' THEN at END) / 1000 AS "first",
           max(CASE state WHEN 'settled' THEN at END) / 1000 AS "last"
         FROM activity WHERE id > $1 AND id <= $2 AND state IN ('settled', 'refunded') AND is_self = 0
           AND merchant_id IS NOT NULL AND endpoint_id IS NOT NULL
         GROUP BY endpoint_id, merchant_id`,
        [row, last],
      )
      return { last, paid }
    },
    due: (nowSeconds, limit) =>
      sql.all<PaidEndpoint>(
        `SELECT u.endpoint_id AS "endpointId", e.merchant_id AS "merchantId", NULL AS "first", NULL AS "last"
         FROM endpoint_usage u JOIN endpoints e ON e.id = u.endpoint_id
         WHERE u.due_at <= $1 ORDER BY u.due_at LIMIT $2`,
        [nowSeconds, limit],
      ),
    async find(endpointIds) {
      const rows = await sql.all<{ id: number; figures: string }>(
        `SELECT endpoint_id AS id, figures FROM endpoint_usage WHERE ${sql.among('endpoint_id', 1)}`,
        [endpointIds],
      )
      return new Map(rows.map(({ id, figures }) => [id, JSON.parse(figures) as Usage]))
    },
    async save(rows) {
      await sql.transaction(function* () {
        // Numbers are taken from the row of the refresh, so that those of removed endpoints do not come again.
        const counted = yield* get<{ version: number }>(
          `INSERT INTO usage_refresh (id, seen, seen_before, version) VALUES (1, 0, 0, $1)
           ON CONFLICT (id) DO UPDATE SET version = usage_refresh.version + excluded.version RETURNING version`,
          [rows.length],
        )
        let version = (counted?.version ?? 0) - rows.length
        for (const { endpointId, usage, dueAt } of rows) {
          yield* run(
            `INSERT INTO endpoint_usage (endpoint_id, version, figures, due_at)
             SELECT id, CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS BIGINT) FROM endpoints WHERE id = $1
             ON CONFLICT (endpoint_id) DO UPDATE SET figures = excluded.figures, due_at = excluded.due_at,
               version = CASE WHEN endpoint_usage.figures = excluded.figures THEN endpoint_usage.version
                 ELSE excluded.version END`,
            [endpointId, ++version, JSON.stringify(usage), dueAt],
          )
        }
      }, lazily)
    },
    async finish(seen) {
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
