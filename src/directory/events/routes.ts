import {
  type EventsAnswer,
  eventsQuery,
  merchantEventTypes,
  publicEventTypes,
} from '@arcus/protocol/answers/events'
import type { FastifyInstance } from 'fastify'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { ownerCodes } from '../activity/routes.js'
import { presentInPublic, refusals, unknownMerchant } from '../listings/refusals.js'
import { type OwnerCheckOptions, requireOwner, type WithId } from '../session/session-routes.js'
import type { EventStore } from '../store/events.js'
import { toEventJson } from './event-json.js'

const eventsOperation: Operation = {
  id: 'listEvents',
  tag: 'Activity',
  summary: 'The feed of a merchant, oldest first: what its webhooks receive',
  description:
    'With the session of the owner every event, payments included. Without a session only what the catalog shows to everybody: endpoints that fail or recover, and prices that drift. Events are kept for 30 days, and 10,000 of a merchant.',
  answers: { 200: 'A page.' },
  codes: [...ownerCodes, ...refusals('merchant_hidden')],
  examples: { unknown: unknownMerchant },
}

interface EventRoutesOptions extends OwnerCheckOptions {
  store: Pick<EventStore, 'list'>
}

/** Serves the feed of a merchant by pull. */
export async function eventRoutes(
  app: FastifyInstance,
  options: EventRoutesOptions,
): Promise<void> {
  app.get<WithId>(
    '/api/merchants/:id/events',
    describedAs(eventsOperation),
    async (request, reply): Promise<EventsAnswer> => {
      const { since, limit } = readQuery(eventsQuery, request.query)
      reply.header('cache-control', 'no-store')
      const isOwner = request.cookies[options.sessions.cookies.session] !== undefined
      const { id } = isOwner
        ? await requireOwner(request, options)
        : presentInPublic(await options.listings.findMerchant(request.params.id))
      const types = isOwner ? merchantEventTypes : publicEventTypes
      const found = await options.store.list({ merchantId: id, types, since, limit: limit + 1 })
      const page = found.slice(0, limit)
      return {
        merchant: id,
        scope: isOwner ? 'owner' : 'public',
        events: page.map(toEventJson),
        next: page.at(-1)?.id ?? since,
        hasMore: found.length > limit,
      }
    },
  )
}
