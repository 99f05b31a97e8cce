import type { ActivityFilter, ActivityStore } from '../activity.js'
import { type ActivityRow, toActivity } from '../rows/activity-rows.js'
import type { Database } from './database.js'

/** Rows are numbered as they were answered; a clock that was set back puts them out of order by less than this. */
const CLOCK_SLACK_MS = 3_600_000
/** Rows of a merchant that one statement looks through: most may be passed over by the filter. */
const STEP_ROWS = 20_000

/** Reads the table newest first by number, a filter that few rows pass in steps, and no further back than its range. */
export function createTable(database: Database): Pick<ActivityStore, 'list'> {
  return {
    async list(filter) {
      const oldest = (filter.since ?? 0) - CLOCK_SLACK_MS
      const found: ActivityRow[] = []
      let before = filter.before ?? Number.MAX_SAFE_INTEGER
      for (;;) {
        const { text, values } = stepOf(filter, before, filter.limit - found.length)
        found.push(...(await database.rows<ActivityRow>(text, values)))
        const [end] = await database.rows<{ id: number; at: number }>(
          `SELECT id, at FROM activity WHERE merchant_id = $1 AND id < $2
           ORDER BY id DESC LIMIT 1 OFFSET ${STEP_ROWS - 1}`,
          [filter.merchantId, before],
        )
        const isDone = found.length >= filter.limit || end === undefined || end.at < oldest
        if (isDone) return found.map(toActivity)
        before = end.id
      }
    },
  }
}

function stepOf(filter: ActivityFilter, before: number, limit: number) {
  const values: unknown[] = [filter.merchantId, before]
  const conditions = [
    ['endpoint_id =', filter.endpointId],
    ['kind =', filter.kind],
    ['state =', filter.state],
    ['at >=', filter.since],
  ].flatMap(([condition, value]) => {
    if (value === undefined) return []
    values.push(value)
    return [`AND ${condition} $${values.length}`]
  })
  values.push(limit)
  const text = `SELECT * FROM (
      SELECT * FROM activity WHERE merchant_id = $1 AND id < $2 ORDER BY id DESC LIMIT ${STEP_ROWS}) AS step
    WHERE true ${conditions.join(' ')} ORDER BY id DESC LIMIT $${values.length}`
  return { text, values }
}
