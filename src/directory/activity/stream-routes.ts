import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { RequestFault } from '../../http/request-fault.js'
import { describedAs } from '../../http/route-config.js'
import { answerWithDetails } from '../fault-details.js'
import { activityStreamOperation } from '../openapi/activity-operations.js'
import type { ActivityFeed } from './activity-feed.js'
import { type OwnerCheckOptions, requireOwner, type WithId } from './require-owner.js'

export interface ActivityStreamOptions extends OwnerCheckOptions {
  feed: ActivityFeed
  /** For tests; 25 s otherwise. */
  heartbeatMs?: number
}

/** Below what load balancers and the server itself allow a silent connection. */
const HEARTBEAT_MS = 25_000
/** News of one merchant come together: who hears them reads the table anew. */
const NEWS_MS = 1_000
/** Open pages of one merchant, and of all. */
const MAX_STREAMS_EACH = 8
const MAX_STREAMS = 500
/** What a browser waits before it comes back. */
const RETRY_MS = 5_000

/**
 * Server-sent events for the page of an owner: `activity` says that there is something new to read, and nothing else.
 * The right to listen is looked at again before each word, so it ends with the session or the ownership.
 */
export async function activityStreamRoutes(
  app: FastifyInstance,
  options: ActivityStreamOptions,
): Promise<void> {
  answerWithDetails(app)
  const open = new Map<ServerResponse, string>()
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
      const { id } = await requireOwner(request, options)
      refuseCrowd(open, id)
      reply.hijack()
      const response = reply.raw
      open.set(response, id)
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) response.setHeader(name, value)
      }
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        // What an ended stream leaves behind would keep the server from closing.
        connection: 'close',
      })
      response.write(`retry: ${RETRY_MS}\n\n`)
      if (isClosing) response.end()

      const say = (words: string) => {
        requireOwner(request, options).then(
          () => response.writable && response.write(words),
          () => response.end(),
        )
      }
      let news: NodeJS.Timeout | undefined
      const unsubscribe = options.feed.subscribe(id, () => {
        news ??= setTimeout(() => {
          news = undefined
          say('event: activity\ndata: {}\n\n')
        }, NEWS_MS)
      })
      const heartbeat = setInterval(() => say(':\n\n'), options.heartbeatMs ?? HEARTBEAT_MS)
      response.once('close', () => {
        clearInterval(heartbeat)
        clearTimeout(news)
        unsubscribe()
        open.delete(response)
      })
    },
  )
}

function refuseCrowd(open: ReadonlyMap<ServerResponse, string>, id: string): void {
  const ofMerchant = [...open.values()].filter((other) => other === id).length
  if (ofMerchant < MAX_STREAMS_EACH && open.size < MAX_STREAMS) return
  throw new RequestFault({
    statusCode: 503,
    code: 'busy',
    message: `At most ${MAX_STREAMS_EACH} pages may follow the activity of one merchant, ${MAX_STREAMS} of all.`,
    headers: { 'retry-after': '5' },
  })
}
