import { DAY_MS } from '../../../async/time.js'
import {
  all,
  type Insertion,
  insertAll,
  type Sql,
  type Steps,
  TransactionConflict,
} from '../../../sql/sql.js'
import type { ActivityStore, NewActivity } from '../activity.js'
import { createActivityReader } from './activity-reader.js'
import { addToSums } from './activity-sums.js'

/** Rows of one commit. Their number follows from the time that it may take. */
const MIN_SLICE = 32
const MAX_SLICE = 500
/** Within a day the row itself is still there and shows that a success is repeated. */

const insertion: Insertion = { table: 'activity', rest: 'ON CONFLICT DO NOTHING' }

export function createActivityStore(sql: Sql): ActivityStore {
  const { maxCommitMs } = sql
  let sliceRows = MIN_SLICE

  /** Never waits for the disk: what a payment needs is kept elsewhere. Resolves with its duration, milliseconds. */
  function appendSlice(rows: readonly NewActivity[]): Promise<number> {
    return sql.transaction(
      function* () {
        const startedAt = performance.now()
        const fresh = yield* withoutOldSuccesses(rows, sql)
        yield* insertRows(fresh.filter(({ isSumOnly }) => isSumOnly !== true))
        yield* addToSums(fresh)
        return performance.now() - startedAt
      },
      { isDurable: false },
    )
  }

  return {
    async append(rows) {
      for (let from = 0; from < rows.length; ) {
        const slice = rows.slice(from, from + sliceRows)
        const tookMs = await appendSlice(slice)
        from += slice.length
        // The short rest of a group says nothing about larger ones, unless even that took too long.
        if (slice.length === sliceRows || tookMs > maxCommitMs) {
          sliceRows = nextSliceRows(slice.length, tookMs, maxCommitMs)
        }
      }
    },
    // Rows are numbered as they were answered, so the oldest come first: those that stay are not read.
    forget: (before, limit) =>
      sql.run(
        `DELETE FROM activity WHERE id IN (
           SELECT id FROM (SELECT id, at FROM activity ORDER BY id LIMIT $1) AS oldest WHERE at < $2)`,
        [limit, before],
      ),
    ...createActivityReader(sql),
  }
}

/**
 * Returns the size of the next slice, half or double at most: rows that come together share pages of the disk, so that
 * small commits cost more in all, and one that took long may only have been interrupted.
 */
function nextSliceRows(rows: number, tookMs: number, maxMs: number): number {
  const fitting = Math.floor((rows * maxMs) / Math.max(tookMs, 0.01))
  const near = Math.max(Math.ceil(rows / 2), Math.min(fitting, rows * 2))
  return Math.max(MIN_SLICE, Math.min(MAX_SLICE, near))
}

type Success = NewActivity & { settlementId: string }

/** A success of a payment counts once, as a sale or as a refund, however often it is answered. */
const countsOnce = (row: NewActivity): row is Success =>
  row.settlementId !== null && (row.state === 'settled' || row.state === 'refunded')

/** Leaves out successes that were kept before. Where the row is forgotten already, the journal remembers the delivery. */
function* withoutOldSuccesses(
  rows: readonly NewActivity[],
  { among }: Pick<Sql, 'among'>,
): Steps<readonly NewActivity[]> {
  const ids = rows.filter(countsOnce).map(({ settlementId }) => settlementId)
  if (ids.length === 0) return rows
  const delivered = yield* all<{ id: string; delivered_at: number }>(
    `SELECT id, delivered_at FROM jobs WHERE ${among('id', 1)} AND delivered_at IS NOT NULL`,
    [ids],
  )
  const kept = yield* all<{ settlement_id: string }>(
    `SELECT settlement_id FROM activity
     WHERE ${among('settlement_id', 1)} AND state IN ('settled', 'refunded')`,
    [ids],
  )
  const deliveredAt = new Map(delivered.map((row) => [row.id, row.delivered_at]))
  const known = new Set(kept.map((row) => row.settlement_id))
  return rows.filter((row) => {
    if (!countsOnce(row)) return true
    if ((deliveredAt.get(row.settlementId) ?? row.at) < row.at - DAY_MS) return false
    const isFirst = !known.has(row.settlementId)
    known.add(row.settlementId)
    return isFirst
  })
}

function* insertRows(rows: readonly NewActivity[]): Steps<void> {
  const inserted = yield* insertAll(
    insertion,
    rows.map((row) => ({
      at: row.at,
      kind: row.kind,
      network: row.network,
      merchant_id: row.merchantId,
      endpoint_id: row.endpointId,
      resource: row.resource,
      tool_name: row.toolName,
      pay_to: row.payTo,
      payer: row.payer,
      nonce: row.nonce,
      asset: row.asset,
      amount: row.amount.toString(),
      state: row.state,
      reason: row.reason,
      transaction: row.transaction,
      settlement_id: row.settlementId,
      latency_ms: Math.round(row.latencyMs),
      gas_cost: row.gasCost?.toString() ?? null,
      is_self: Number(row.isSelf),
    })),
  )
  if (inserted < rows.length) throw new TransactionConflict('another process kept the same success')
}
