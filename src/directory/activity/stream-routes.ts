import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { httpCodes } from '../../api/errors.js'
import { openEventStream, refuseCrowd } from '../../http/event-stream.js'
import type { Operation } from '../../http/operation.js'
import { describedAs } from '../../http/operation.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import { answerWithDetails } from '../listings/faults.js'
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
    {
      200: { description: 'A stream that ends with the session.', type: 'text/event-stream' },
    },
  ),
  codes: [...ownerCodes, httpCodes.busy],
}

/** A page that hears nothing for 20 s says so, and load balancers close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000
/** News of one merchant are joined for this long: each makes the page read its table again. */
const NEWS_MS = 1_000
/** Bounds on open pages, in all and by caller, so that nobody uses them all. */
const MAX_STREAMS = 500
const bounds = [
  { member: 'merchant', most: 8, label: 'of one merchant' },
  { member: 'owner', most: 16, label: 'of one owner' },
  { member: 'caller', most: 32, label: 'from one address' },
  { member: 'block', most: 64, label: 'from neighbouring addresses' },
] as const
const crowd = { inAll: MAX_STREAMS, bounds, verb: 'follow activity' }

/** An open page: its merchant, its owner and its origin. */
type Follower = Record<(typeof bounds)[number]['member'], string>

/**
 * Serves server-sent events for the page of an owner. The event `activity` only says that there is new activity to read.
 * Each message checks the right to listen again, so that it ends with the session or the ownership.
 */
export async function activityStreamRoutes(
  app: FastifyInstance,
  options: ActivityStreamOptions,
): Promise<void> {
  answerWithDetails(app)
  const open = new Map<ServerResponse, Follower>()
  let isClosing = false
  // A stream never ends by itself: closing the server would wait for it.
  app.addHook('preClose', async () => {
    isClosing = true
    for (const response of open.keys()) response.end()
  })

  app.get<WithId>(
    '/api/merchants/:id/activity/stream',
    { exposeHeadRoute: false, ...describedAs(activityStreamOperation) },
    async (request, reply) => {
      const { id, owner } = await requireOwner(request, options)
      const from = { caller: callerOf(request.ip), block: blockOf(request.ip) }
      const follower = { merchant: id, owner: owner ?? '', ...from }
      refuseCrowd([...open.values()], follower, crowd)
      const response = openEventStream(reply)
      open.set(response, follower)
      if (isClosing) response.end()

      const send = (text: string) => {
        requireOwner(request, options).then(
          () => response.writableEnded || response.write(text),
          () => response.end(),
        )
      }
      let news: NodeJS.Timeout | undefined
      const unsubscribe = options.feed.subscribe(id, () => {
        news ??= setTimeout(() => {
          news = undefined
          send('event: activity\ndata: {}\n\n')
        }, NEWS_MS)
      })
      const heartbeat = setInterval(
        () => send('event: beat\ndata: {}\n\n'),
        options.heartbeatMs ?? HEARTBEAT_MS,
      )
      response.once('close', () => {
        clearInterval(heartbeat)
        clearTimeout(news)
        unsubscribe()
        open.delete(response)
      })
    },
  )
}
