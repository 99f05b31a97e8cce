import { z } from 'zod'
import { type AnswerOf, anyObject, time } from './fields.js'
import { integerParameter, limitParameter } from './parameters.js'

const event = z
  .object({
    cursor: z.int().describe('`since` for what comes after it.'),
    id: z.string().describe('The same in every copy of the event: ignore an id you know.'),
    type: z.string().describe('Such as `payment.settled`.'),
    timestamp: time,
    data: anyObject.describe('By type; docs/webhooks.md describes each.'),
  })
  .meta({ id: 'Event' })

export const eventsAnswer = z.object({
  merchant: z.string(),
  scope: z
    .enum(['owner', 'public'])
    .describe('`owner`: all events, for a session of the owner. `public`: without payments.'),
  events: z.array(event).describe('Oldest first.'),
  next: z.int().describe('`since` for the next page, now or later.'),
  hasMore: z.boolean(),
})

export type EventsAnswer = AnswerOf<typeof eventsAnswer>

const hookCall = z.object({
  at: time.describe('When it ended.'),
  event: z
    .string()
    .describe('Id of the event, of the challenge or of the test, as in `webhook-id`.'),
  type: z.string().describe('Type of the event, `challenge` or `test`.'),
  status: z.int().nullable().describe('HTTP status; `null` without an answer.'),
  error: z.string().nullable().describe('One sentence; `null` if the receiver took it.'),
  attempt: z.int().describe('1 for the first try.'),
})

export type HookCallView = AnswerOf<typeof hookCall>

const hook = z.object({
  id: z.string(),
  url: z.string(),
  types: z.array(z.string()),
  state: z
    .enum(['unconfirmed', 'active', 'retrying', 'parked'])
    .describe(
      '`unconfirmed` until the receiver answers the challenge; nothing else is sent before. `parked` after three days of failures, or when the receiver answered 410.',
    ),
  cursor: z.int().describe('The last event that was delivered or passed over.'),
  failures: z.int().describe('Failed deliveries or challenges in a row.'),
  lastError: z.string().nullable().describe('Why the last call failed.'),
  nextAt: time
    .nullable()
    .describe('When a failed delivery, or an unanswered challenge, is tried again.'),
  deliveredAt: time.nullable().describe('The last delivery that was taken.'),
  isLossy: z.boolean().describe('Events were dropped before they were delivered.'),
  createdAt: time,
  calls: z.array(hookCall).describe('The last 20 calls of the receiver, newest first.'),
})

export const hooksAnswer = z.object({ hooks: z.array(hook) })

export const hookSaved = z.object({
  id: z.string(),
  secret: z
    .string()
    .nullable()
    .describe('`whsec_` and base64, for a new webhook. It is not shown again.'),
})

export const hookRemoved = z.object({ id: z.string() })

export const hookTarget = z.object({ url: z.string().describe('As it would be called.') })

export const hookTested = z.object({ call: hookCall })

export type HookView = AnswerOf<typeof hook>
export type HooksAnswer = AnswerOf<typeof hooksAnswer>

const MAX_EVENTS = 200

/** Parameters of the feed of a merchant. */
export const eventsQuery = z.strictObject({
  since: integerParameter()
    .prefault('0')
    .describe('`next` of the page before; 0 is the oldest event that is kept.'),
  limit: limitParameter(MAX_EVENTS)
    .prefault('100')
    .describe(`Events of a page; above ${MAX_EVENTS} it counts as ${MAX_EVENTS}.`),
})

/** Events that everybody may read, because the catalog shows the same. Payments are for the owner alone. */
export const publicEventTypes = [
  'endpoint.failing',
  'endpoint.recovered',
  'endpoint.not_delivered',
  'price.drift',
] as const

/** The events of a merchant. The operator alone has `gas.low`. */
export const merchantEventTypes = [
  'payment.settled',
  'payment.failed',
  ...publicEventTypes,
] as const
