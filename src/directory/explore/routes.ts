import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { httpCodes } from '../../api/errors.js'
import { type ExploreAnswer, exploreAnswer } from '../../api/explore.js'
import { openEventStream, refuseCrowd } from '../../http/event-stream.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import type { SettlementFeed } from './settlement-feed.js'

interface ExploreRoutesOptions {
  read(): Promise<Omit<ExploreAnswer, 'settlements'>>
  feed: SettlementFeed
  /** For tests; 15 s otherwise. */
  heartbeatMs?: number
}

const tag = 'Activity'

const exploreOperation: Operation = {
  id: 'explore',
  tag,
  summary:
    'Payments by day, the merchants with the most payers, categories and the latest payments',
  description: 'Nothing that is not on the chain or in the directory. Up to half a minute old.',
  answers: { 200: { description: 'For everybody.', schema: exploreAnswer } },
  codes: [httpCodes.unavailable],
  examples: { now: { summary: 'Now', status: 200 } },
}

const streamOperation: Operation = {
  id: 'followSettlements',
  tag,
  summary: 'Server-sent events: `settlements` with each new payment, `beat` every 15 s',
  answers: {
    200: {
      description: 'The data of `settlements` is a list as in `GET /api/explore`, oldest first.',
      type: 'text/event-stream',
    },
  },
  codes: [httpCodes.busy],
}

const HEARTBEAT_MS = 15_000
const crowd = {
  inAll: 500,
  bounds: [
    { member: 'caller', most: 8, label: 'from one address' },
    { member: 'block', most: 32, label: 'from neighbouring addresses' },
  ],
  verb: 'follow settlements',
} as const

/** Serves the figures of the home page, and the payments as they settle. */
export async function exploreRoutes(
  app: FastifyInstance,
  { read, feed, heartbeatMs = HEARTBEAT_MS }: ExploreRoutesOptions,
): Promise<void> {
  const open = new Map<ServerResponse, Record<'caller' | 'block', string>>()
  let isClosing = false
  // A stream never ends by itself: closing the server would wait for it.
  app.addHook('preClose', async () => {
    isClosing = true
    for (const response of open.keys()) response.end()
  })

  app.get('/api/explore', describedAs(exploreOperation), async (_request, reply) => {
    const [figures, settlements] = await Promise.all([read(), feed.latest()])
    const answer: ExploreAnswer = { ...figures, settlements }
    return reply.header('cache-control', 'no-cache').send(answer)
  })

  app.get(
    '/api/settlements/stream',
    { exposeHeadRoute: false, ...describedAs(streamOperation) },
    async (request, reply) => {
      const follower = { caller: callerOf(request.ip), block: blockOf(request.ip) }
      refuseCrowd([...open.values()], follower, crowd)
      const response = openEventStream(reply)
      open.set(response, follower)
      if (isClosing) response.end()
      const send = (event: string, data: unknown) => {
        // A reader who is slower than the payments is cut off and connects again, so that nothing piles up.
        if (response.writableNeedDrain) response.destroy()
        else if (!response.writableEnded)
          response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      }
      const unsubscribe = feed.subscribe((news) => send('settlements', news))
      const heartbeat = setInterval(() => send('beat', {}), heartbeatMs)
      response.once('close', () => {
        clearInterval(heartbeat)
        unsubscribe()
        open.delete(response)
      })
    },
  )
}
