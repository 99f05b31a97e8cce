import type { ActivityStore, NewActivity } from '../activity.js'
import { activityValues } from '../rows/activity-rows.js'
import type { CountedActivity } from '../rows/activity-tally.js'
import { createBuyerBook } from './activity-buyers.js'
import { createFolding } from './activity-folding.js'
import { createForgetting } from './activity-forgetting.js'
import { createSumWriter } from './activity-sums.js'
import { createTable } from './activity-table.js'
import { createTotals } from './activity-totals.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'
import { createReadTurns } from './read-turns.js'

/** What a commit of rows may take of the event loop; how many rows that is depends on how alike they are. */
const SLICE_MS = 4
const MIN_SLICE = 32
const MAX_SLICE = 500
/** Within a day the row itself is still there and tells a repeated success. */
const DAY_MS = 86_400_000

export function createActivityStore(database: Database, commit: GroupCommit): ActivityStore {
  const insert = database.prepare(
    `INSERT INTO activity (at, kind, network, merchant_id, endpoint_id, resource, pay_to, payer, amount,
       state, reason, "transaction", settlement_id, latency_ms, gas_cost, is_self)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const wasDelivered = database
    .prepare('SELECT 1 FROM jobs WHERE id = ? AND delivered_at < ?')
    .pluck()
  const latest = database
    .prepare('SELECT id FROM activity WHERE merchant_id = ? ORDER BY id DESC LIMIT 1')
    .pluck()
  const addSums = createSumWriter(database)
  const buyers = createBuyerBook(database)
  const turns = createReadTurns()
  const folding = createFolding(database, commit, turns)
  let sliceRows = MIN_SLICE

  /** The row as it counts; none where it counted before. */
  function keep(row: NewActivity): CountedActivity[] {
    if (isOldSuccess(row)) return []
    if (row.isSumOnly === true) return [row]
    const counted = buyers.judge(row)
    if (insert.run(...activityValues(counted)).changes !== 1) return []
    buyers.note(counted)
    return [counted]
  }

  /** A success told once more after its row was forgotten; the journal remembers the first time. */
  function isOldSuccess({ state, settlementId, at }: NewActivity): boolean {
    if (state !== 'settled' || settlementId === null) return false
    return wasDelivered.get(settlementId, at - DAY_MS) !== undefined
  }

  /** Resolves with how long the event loop was held, milliseconds. Never waits for the disk: payments are kept elsewhere. */
  function appendSlice(rows: readonly NewActivity[]): Promise<number> {
    return commit.writeUnsynced(() => {
      const startedAt = performance.now()
      addSums(rows.flatMap(keep))
      return performance.now() - startedAt
    })
  }

  return {
    async append(rows) {
      for (let from = 0; from < rows.length; ) {
        const slice = rows.slice(from, from + sliceRows)
        const tookMs = await appendSlice(slice)
        from += slice.length
        // The short rest of a group says nothing about larger ones, unless even that took too long.
        if (slice.length === sliceRows || tookMs > SLICE_MS) {
          sliceRows = nextSliceRows(slice.length, tookMs)
        }
      }
    },
    async latestOf(merchantIds) {
      const found = merchantIds.map((id) => [id, latest.get(id) as number | undefined] as const)
      return new Map(found.filter((entry): entry is [string, number] => entry[1] !== undefined))
    },
    ...createTable(database, turns),
    ...createTotals(database, turns, folding),
    foldHours: folding.foldHours,
    ...createForgetting(database, commit),
  }
}

/**
 * By half or double at most: rows that come together share pages of the disk, so that small commits cost more in all,
 * and one that took long may only have been interrupted.
 */
function nextSliceRows(rows: number, tookMs: number): number {
  const fitting = Math.floor((rows * SLICE_MS) / Math.max(tookMs, 0.01))
  const near = Math.max(Math.ceil(rows / 2), Math.min(fitting, rows * 2))
  return Math.max(MIN_SLICE, Math.min(MAX_SLICE, near))
}
