import { httpCodes } from '@arcus/protocol/answers/errors'
import type { ExploreAnswer } from '@arcus/protocol/answers/explore'
import type { FastifyInstance } from 'fastify'
import { createEventStreams } from '../../http/event-stream.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { blockOf, callerOf, networkOf } from '../../http/rate-limit.js'
import type { SettlementFeed } from './settlement-feed.js'

interface ExploreRoutesOptions {
  read(): Promise<Omit<ExploreAnswer, 'settlements'>>
  feed: SettlementFeed
}

const tag = 'Activity'

const exploreOperation: Operation = {
  id: 'explore',
  tag,
  summary: 'Payments of 30 days, by day, and the latest payments',
  description: 'Nothing that is not on the chain or in the directory. Up to half a minute old.',
  answers: { 200: 'For everybody.' },
  codes: [httpCodes.unavailable],
  examples: { now: { summary: 'Now', status: 200 } },
}

const streamOperation: Operation = {
  id: 'followSettlements',
  tag,
  summary: 'Server-sent events: `settlements` with each new payment, `beat` every 15 s',
  answers: {
    200: 'The data of `settlements` is a list as in `GET /api/explore`, oldest first.',
  },
  codes: [httpCodes.busy],
}

const crowd = {
  inAll: 500,
  bounds: [
    { member: 'caller', most: 8, label: 'from one address' },
    { member: 'block', most: 32, label: 'from neighbouring addresses' },
  ],
  crowdedBy: ['network', 'block', 'caller'],
  verb: 'follow settlements',
} as const

/** Serves the payments by day, and the payments as they settle. */
export async function exploreRoutes(
  app: FastifyInstance,
  { read, feed }: ExploreRoutesOptions,
): Promise<void> {
  const openStream = createEventStreams(app, crowd)

  app.get('/api/explore', describedAs(exploreOperation), async (_request, reply) => {
    const [figures, settlements] = await Promise.all([read(), feed.latest()])
    const answer: ExploreAnswer = { ...figures, settlements }
    return reply.header('cache-control', 'no-cache').send(answer)
  })

  app.get(
    '/api/settlements/stream',
    { exposeHeadRoute: false, ...describedAs(streamOperation) },
    async ({ ip }, reply) =>
      openStream(reply, {
        from: { caller: callerOf(ip), block: blockOf(ip), network: networkOf(ip) },
        follow: (send) => feed.subscribe((news) => send('settlements', news)),
      }),
  )
}
