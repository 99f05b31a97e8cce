import type { ActivityFilter, ActivityStore } from '../activity.js'
import { type ActivityRow, toActivity } from '../rows/activity-rows.js'
import type { Database } from './database.js'
import type { ReadTurns } from './read-turns.js'

/** Rows of a merchant that one step looks through: most may be passed over by the filter. */
const STEP_ROWS = 1_000
/** Rows are numbered as they were answered; a clock that was set back puts them out of order by less than this. */
const CLOCK_SLACK_MS = 3_600_000

/**
 * Reads the table newest first by number: a page starts where the last one ended, whatever was added since. A filter
 * that few rows pass is followed in steps, and no further back than its range.
 */
export function createTable(database: Database, turns: ReadTurns): Pick<ActivityStore, 'list'> {
  const stepEnd = database.prepare(
    `SELECT id, at FROM activity WHERE merchant_id = ? AND id < ?
     ORDER BY id DESC LIMIT 1 OFFSET ${STEP_ROWS - 1}`,
  )
  return {
    async list(filter) {
      const { where, values } = conditionsOf(filter)
      const step = database.prepare(
        `SELECT * FROM activity WHERE id < ? AND id >= ? AND ${where} ORDER BY id DESC LIMIT ?`,
      )
      const oldest = (filter.since ?? 0) - CLOCK_SLACK_MS
      const found: ActivityRow[] = []
      let before = filter.before ?? Number.MAX_SAFE_INTEGER
      let endsAt = await turns.next()
      for (;;) {
        const end = stepEnd.get(filter.merchantId, before) as { id: number; at: number } | undefined
        const rows = step.all(before, end?.id ?? 0, ...values, filter.limit - found.length)
        found.push(...(rows as ActivityRow[]))
        const isDone = found.length >= filter.limit || end === undefined || end.at < oldest
        if (isDone) return found.map(toActivity)
        before = end.id
        if (performance.now() >= endsAt) endsAt = await turns.next()
      }
    },
  }
}

function conditionsOf(filter: ActivityFilter): { where: string; values: unknown[] } {
  const conditions = [
    ['merchant_id = ?', filter.merchantId],
    ['endpoint_id = ?', filter.endpointId],
    ['kind = ?', filter.kind],
    ['state = ?', filter.state],
    ['at >= ?', filter.since],
  ].filter(([, value]) => value !== undefined)
  return {
    where: conditions.map(([condition]) => condition).join(' AND '),
    values: conditions.map(([, value]) => value),
  }
}
