import { z } from 'zod'
import { type AnswerOf, anyObject, time } from './fields.js'

const event = z
  .object({
    cursor: z.int().describe('`since` for what comes after it.'),
    id: z.string().describe('The same wherever the event is told: ignore one you know.'),
    type: z.enum([
      'payment.settled',
      'payment.failed',
      'endpoint.failing',
      'endpoint.recovered',
      'price.drift',
    ]),
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
