import type { FastifyInstance } from 'fastify'
import { httpCodes } from '../../api/errors.js'
import { createEventStreams } from '../../http/event-stream.js'
import type { Operation } from '../../http/operation.js'
import { describedAs } from '../../http/operation.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import { type OwnerCheckOptions, requireOwner, type WithId } from '../session/session-routes.js'
import type { ActivityFeed } from './feed.js'
import { ofOwner, ownerCodes } from './routes.js'

interface ActivityStreamOptions extends OwnerCheckOptions {
  feed: ActivityFeed
  /** For tests; 15 s otherwise. */
  heartbeatMs?: number
}

const activityStreamOperation: Operation = {
  ...ofOwner(
    'followActivity',
    'Server-sent events: `activity` when there is something new, `beat` every 15 s',
    { 200: 'A stream that ends with the session.' },
  ),
  codes: [...ownerCodes, httpCodes.busy],
}

/** News of one merchant are joined for this long: each makes the page read its table again. */
const NEWS_MS = 1_000
/** Bounds on open pages, so that nobody uses them all. */
const crowd = {
  inAll: 500,
  bounds: [
    { member: 'merchant', most: 8, label: 'of one merchant' },
    { member: 'owner', most: 16, label: 'of one owner' },
    { member: 'caller', most: 32, label: 'from one address' },
    { member: 'block', most: 64, label: 'from neighbouring addresses' },
  ],
  verb: 'follow activity',
} as const

/**
 * Serves server-sent events for the page of an owner. The event `activity` only says that there is new activity to read.
 * Each message checks the right to listen again, so that it ends with the session or the ownership.
 */
export async function activityStreamRoutes(
  app: FastifyInstance,
  options: ActivityStreamOptions,
): Promise<void> {
  const { feed, heartbeatMs } = options
  const openStream = createEventStreams(app, { ...crowd, heartbeatMs })

  app.get<WithId>(
    '/api/merchants/:id/activity/stream',
    { exposeHeadRoute: false, ...describedAs(activityStreamOperation) },
    async (request, reply) => {
      // Read before the wait: the address is gone with the connection.
      const from = { caller: callerOf(request.ip), block: blockOf(request.ip) }
      const { id, owner } = await requireOwner(request, options)
      openStream(reply, {
        from: { merchant: id, owner: owner ?? '', ...from },
        check: () => requireOwner(request, options),
        follow(send) {
          let news: NodeJS.Timeout | undefined
          const unsubscribe = feed.subscribe(id, () => {
            news ??= setTimeout(() => {
              news = undefined
              send('activity', {})
            }, NEWS_MS)
          })
          return () => {
            clearTimeout(news)
            unsubscribe()
          }
        },
      })
    },
  )
}
