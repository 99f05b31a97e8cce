import type { ActivityStore, NewActivity } from '../activity.js'
import { activityValues } from '../rows/activity-rows.js'
import type { CountedActivity } from '../rows/activity-tally.js'
import { judgeRefunds, noteBuyers } from './activity-buyers.js'
import { createFolding } from './activity-folding.js'
import { addSums } from './activity-sums.js'
import { createTable } from './activity-table.js'
import { createTotals } from './activity-totals.js'
import type { Database, Queries } from './database.js'

/** Within a day the row itself is still there and tells a repeated success. */
const DAY_MS = 86_400_000

export function createActivityStore(database: Database): ActivityStore {
  return {
    async append(rows) {
      if (rows.length === 0) return
      // Not tried twice: an answer that was lost would be counted twice.
      await database.once.inTransaction(async (sql) => {
        const fresh = await withoutToldSuccesses(sql, await withoutOldSuccesses(sql, rows))
        const summed = fresh.filter(({ isSumOnly }) => isSumOnly === true)
        const whole = fresh.filter(({ isSumOnly }) => isSumOnly !== true)
        const kept = await insert(sql, await judgeRefunds(sql, whole))
        await addSums(sql, [...kept, ...summed])
        await noteBuyers(sql, kept)
      })
    },
    async latestOf(merchantIds) {
      const rows = await database.rows<{ merchant_id: string; id: number }>(
        `SELECT merchant_id, id FROM unnest($1::text[]) AS asked (merchant) CROSS JOIN LATERAL (
           SELECT merchant_id, id FROM activity WHERE merchant_id = asked.merchant
           ORDER BY id DESC LIMIT 1) AS newest`,
        [merchantIds],
      )
      return new Map(rows.map((row) => [row.merchant_id, row.id]))
    },
    ...createTable(database),
    ...createTotals(database),
    forget: (before, limit) =>
      database.run(
        `DELETE FROM activity WHERE id IN (
           SELECT id FROM (SELECT id, at FROM activity ORDER BY id LIMIT $1) AS oldest WHERE at < $2)`,
        [limit, before],
      ),
    ...createFolding(database),
  }
}

/** A success told once more after its row was forgotten; the journal remembers the first time. */
async function withoutOldSuccesses(
  sql: Queries,
  rows: readonly NewActivity[],
): Promise<readonly NewActivity[]> {
  const settled = rows.filter(
    ({ state, settlementId }) => state === 'settled' && settlementId !== null,
  )
  if (settled.length === 0) return rows
  const found = await sql.rows<{ id: string; delivered_at: number }>(
    'SELECT id, delivered_at FROM jobs WHERE id = ANY($1) AND delivered_at IS NOT NULL',
    [settled.map(({ settlementId }) => settlementId)],
  )
  const deliveredAt = new Map(found.map((row) => [row.id, row.delivered_at]))
  return rows.filter(({ state, settlementId, at }) => {
    if (state !== 'settled' || settlementId === null) return true
    return (deliveredAt.get(settlementId) ?? Number.POSITIVE_INFINITY) >= at - DAY_MS
  })
}

/** A success that is told again counts neither as a sale nor as a refund. */
async function withoutToldSuccesses(
  sql: Queries,
  rows: readonly NewActivity[],
): Promise<readonly NewActivity[]> {
  const ids = rows.flatMap(({ state, settlementId }) =>
    state === 'settled' && settlementId !== null ? [settlementId] : [],
  )
  if (ids.length === 0) return rows
  const found = await sql.rows<{ settlement_id: string }>(
    `SELECT settlement_id FROM activity
     WHERE settlement_id = ANY($1) AND state IN ('settled', 'refunded')`,
    [ids],
  )
  const told = new Set(found.map((row) => row.settlement_id))
  return rows.filter(({ state, settlementId }) => {
    if (state !== 'settled' || settlementId === null) return true
    const isFirst = !told.has(settlementId)
    told.add(settlementId)
    return isFirst
  })
}

const countsOnce = ({ state }: { state: string }) => state === 'settled' || state === 'refunded'

/** Resolves with those that were kept: another process may have kept the same success at this moment. */
async function insert(sql: Queries, rows: readonly CountedActivity[]): Promise<CountedActivity[]> {
  if (rows.length === 0) return []
  const columns = rows.map(activityValues)
  const inserted = await sql.rows<{ settlement_id: string | null; state: string }>(
    `INSERT INTO activity (at, kind, network, merchant_id, endpoint_id, resource, pay_to, payer, amount, state,
       reason, "transaction", settlement_id, latency_ms, gas_cost, is_self)
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[],
       $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::text[],
       $16::bigint[])
     ON CONFLICT DO NOTHING RETURNING settlement_id, state`,
    Array.from({ length: 16 }, (_, i) => columns.map((column) => column[i])),
  )
  const kept = new Set(inserted.filter(countsOnce).map((row) => row.settlement_id))
  return rows.filter(
    (row) => !countsOnce(row) || row.settlementId === null || kept.has(row.settlementId),
  )
}
