import type { z } from 'zod'
import { activityAnswer, activityTable, statsAnswer } from '../../api/activity.js'
import { httpCodes } from '../../api/errors.js'
import type { Operation } from '../../http/operation.js'
import { exportQuery, summaryQuery, tableQuery } from '../activity/query.js'
import { writeCodes } from '../write-codes.js'
import { unknownMerchant } from './examples.js'
import { ofMerchant } from './read-operations.js'

const tag = 'Activity'

const { merchantNotFound, merchantDeleted, merchantHidden, notOwner, payToUnproven } = writeCodes
const ownerCodes = [
  httpCodes.notSignedIn,
  notOwner,
  payToUnproven,
  merchantNotFound,
  merchantDeleted,
]

const signedOut = {
  summary: 'Without a session',
  params: { id: 'penny-quotes' },
  status: 401,
  answer: {
    error: 'not_signed_in',
    message: 'Sign in with the wallet that owns the listing.',
  },
}

/** A read for the owner alone. */
function ofOwner(
  id: string,
  summary: string,
  answers: Operation['answers'],
  query?: z.ZodObject,
): Operation {
  return {
    id,
    tag,
    summary,
    params: ofMerchant,
    ...(query === undefined ? {} : { query }),
    needsSession: true,
    answers,
    codes: ownerCodes,
    examples: { signedOut },
  }
}

export const activityOperation = ofOwner(
  'getActivity',
  'Sums of a range, and the same by hour or day',
  { 200: { description: 'The sums.', schema: activityAnswer } },
  summaryQuery,
)

export const activityTableOperation = ofOwner(
  'listActivity',
  'Each verify and settle, newest first',
  { 200: { description: 'A page.', schema: activityTable } },
  tableQuery,
)

export const activityCsvOperation = ofOwner(
  'exportActivity',
  'The same as CSV, all of it',
  { 200: { description: 'RFC 4180.', type: 'text/csv' } },
  exportQuery,
)

export const activityStreamOperation: Operation = {
  ...ofOwner('followActivity', 'Server-sent events: `activity` when there is something new', {
    200: { description: 'A stream that ends with the session.', type: 'text/event-stream' },
  }),
  codes: [...ownerCodes, httpCodes.busy],
}

export const merchantStatsOperation: Operation = {
  id: 'getMerchantStats',
  tag,
  summary: 'Public totals of a merchant, net of refunds',
  params: ofMerchant,
  answers: { 200: { description: 'By range.', schema: statsAnswer } },
  codes: [merchantNotFound, merchantDeleted, merchantHidden],
  examples: { unknown: unknownMerchant },
}

export const statsOperation: Operation = {
  id: 'getStats',
  tag,
  summary: 'Public totals of all together, net of refunds',
  answers: { 200: { description: 'By range.', schema: statsAnswer } },
  examples: { all: { summary: 'All of it', status: 200 } },
}
