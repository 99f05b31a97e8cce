import { z } from 'zod'
import { choiceParameter, integerParameter } from '../../http/query.js'
import { activityStates } from '../../store/activity.js'
import { activityRanges } from './ranges.js'

/** Rows of a page of the table. */
export const MAX_TABLE_ROWS = 200

const anyId = () => integerParameter({ min: 0, max: Number.MAX_SAFE_INTEGER })

const filters = {
  range: choiceParameter(activityRanges).prefault('24h').describe('How far back, from now.'),
  endpoint: anyId().optional().describe('One endpoint only, by the id in its `state`.'),
}

const tableFilters = {
  ...filters,
  kind: choiceParameter(['verify', 'settle']).optional(),
  state: choiceParameter(activityStates).optional(),
}

/** Parameters of the three reads of activity; others are refused, as a filter that does nothing misleads. */
export const summaryQuery = z.strictObject(filters)
export const exportQuery = z.strictObject(tableFilters)
export const tableQuery = z.strictObject({
  ...tableFilters,
  limit: integerParameter({ min: 1, max: MAX_TABLE_ROWS })
    .prefault('50')
    .describe('Rows of a page.'),
  before: anyId().optional().describe('`next` of the page before.'),
})
