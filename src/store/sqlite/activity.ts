import type {
  ActivityFilter,
  ActivityKind,
  ActivityScope,
  ActivityState,
  ActivityStore,
  NewActivity,
} from '../activity.js'
import { type ActivityRow, toActivity } from './activity-rows.js'
import { createSumWriter } from './activity-sums.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

interface SumRow {
  bucket: bigint
  kind: ActivityKind
  state: ActivityState
  reason: string
  is_self: bigint
  count: bigint
  amount: bigint
  gas: bigint
}

interface PayerRow {
  payers: bigint
  repeat: bigint | null
  top: bigint | null
  amount: bigint | null
}

export function createActivityStore(database: Database, commit: GroupCommit): ActivityStore {
  const insert = database.prepare(
    `INSERT INTO activity (at, kind, network, merchant_id, endpoint_id, resource, pay_to, payer, amount,
       state, reason, "transaction", settlement_id, latency_ms, gas_cost, is_self)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const addSums = createSumWriter(database)
  const place = 'span = ? AND merchant_id = ? AND bucket >= ? AND endpoint_id = ?'
  const sums = database
    .prepare(
      `SELECT bucket, kind, state, reason, is_self, count, amount, gas FROM activity_sums
       WHERE ${place} ORDER BY bucket`,
    )
    .safeIntegers()
  const payers = database
    .prepare(
      `SELECT COUNT(*) AS payers, SUM(n > 1) AS repeat, MAX(a) AS top, SUM(a) AS amount FROM (
         SELECT SUM(count) AS n, SUM(amount) AS a FROM activity_payers WHERE ${place} GROUP BY payer)`,
    )
    .safeIntegers()
  const latencies = database.prepare(
    `SELECT up_to_ms, SUM(count) AS count FROM activity_latencies
     WHERE ${place} AND kind = ? GROUP BY up_to_ms ORDER BY up_to_ms`,
  )
  const forget = database.prepare(
    'DELETE FROM activity WHERE id IN (SELECT id FROM activity WHERE at < ? ORDER BY id LIMIT ?)',
  )
  const forgetHours = database.prepare(
    `DELETE FROM activity_payers WHERE span = 'h' AND bucket < ?`,
  )
  const placeOf = ({ span, merchantId = '', since, endpointId = 0 }: ActivityScope) =>
    [span, merchantId, since, endpointId] as const

  function keep(row: NewActivity): boolean {
    const { changes } = insert.run(
      row.at,
      row.kind,
      row.network,
      row.merchantId,
      row.endpointId,
      row.resource,
      row.payTo,
      row.payer,
      row.amount.toString(),
      row.state,
      row.reason,
      row.transaction,
      row.settlementId,
      Math.round(row.latencyMs),
      row.gasCost?.toString() ?? null,
      Number(row.isSelf),
    )
    return changes === 1
  }

  return {
    append: (rows) => commit.write(() => addSums(rows.filter(keep))),
    async sums(scope) {
      return (sums.all(...placeOf(scope)) as SumRow[]).map((row) => ({
        bucket: Number(row.bucket),
        kind: row.kind,
        state: row.state,
        reason: row.reason === '' ? null : row.reason,
        isSelf: row.is_self === 1n,
        count: Number(row.count),
        amount: row.amount,
        gas: row.gas,
      }))
    },
    async payers(scope) {
      const row = payers.get(...placeOf(scope)) as PayerRow
      return {
        unique: Number(row.payers),
        repeat: Number(row.repeat ?? 0n),
        topAmount: row.top ?? 0n,
        amount: row.amount ?? 0n,
      }
    },
    async latencies(scope, kind) {
      const rows = latencies.all(...placeOf(scope), kind) as { up_to_ms: number; count: number }[]
      return rows.map(({ up_to_ms, count }) => ({ upToMs: up_to_ms, count }))
    },
    async list(filter) {
      const { sql, values } = listQuery(filter)
      return (database.prepare(sql).all(...values) as ActivityRow[]).map(toActivity)
    },
    forget: (before, limit) => commit.write(() => forget.run(before, limit).changes),
    forgetHours: (bucket) =>
      commit.write(() => {
        forgetHours.run(bucket)
      }),
  }
}

/** Newest first by number: a page starts where the last one ended, whatever was added since. */
function listQuery(filter: ActivityFilter): { sql: string; values: unknown[] } {
  const conditions = [
    ['merchant_id = ?', filter.merchantId],
    ['endpoint_id = ?', filter.endpointId],
    ['kind = ?', filter.kind],
    ['state = ?', filter.state],
    ['at >= ?', filter.since],
    ['id < ?', filter.before],
  ].filter(([, value]) => value !== undefined)
  const where = conditions.map(([condition]) => condition).join(' AND ')
  return {
    sql: `SELECT * FROM activity WHERE ${where} ORDER BY id DESC LIMIT ?`,
    values: [...conditions.map(([, value]) => value), filter.limit],
  }
}
