import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { RequestFault } from '../../http/errors.js'
import { describedAs } from '../../http/operation.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
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
/** Open pages in all, and of what a few callers have: so that nobody uses them up. */
const MAX_STREAMS = 500
const bounds = [
  { member: 'merchant', most: 8, words: 'of one merchant' },
  { member: 'owner', most: 16, words: 'of one owner' },
  { member: 'caller', most: 32, words: 'from one address' },
  { member: 'block', most: 64, words: 'from neighbouring addresses' },
] as const

/** Whose page it is, and from where. */
type Follower = Record<(typeof bounds)[number]['member'], string>

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
      refuseCrowd([...open.values()], follower)
      reply.hijack()
      const response = reply.raw
      open.set(response, follower)
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

function refuseCrowd(open: readonly Follower[], newcomer: Follower): void {
  const full = bounds.find(
    ({ member, most }) => open.filter((one) => one[member] === newcomer[member]).length >= most,
  )
  if (full === undefined && open.length < MAX_STREAMS) return
  const what = full === undefined ? `${MAX_STREAMS} pages` : `${full.most} pages ${full.words}`
  throw new RequestFault({
    statusCode: 503,
    code: 'busy',
    message: `At most ${what} may follow activity at once.`,
    headers: { 'retry-after': '5' },
  })
}
