import type { ExploreAnswer } from '@arcus/protocol/answers/activity'
import { httpCodes } from '@arcus/protocol/answers/errors'
import type { FastifyInstance } from 'fastify'
import { DAY_SECONDS } from '../../async/time.js'
import { shareReads } from '../../http/cached-reply.js'
import { createEventStreams } from '../../http/event-stream.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { blockOf, callerOf, networkOf } from '../../http/rate-limit.js'
import type { ActivityStore } from '../store/activity.js'
import { spanOf } from './period.js'
import type { SettlementFeed } from './settlement-feed.js'
import { type PublicTotalsReader, toSeries } from './summary.js'

type Figures = Omit<ExploreAnswer, 'settlements'>

interface FiguresOptions {
  activity: Pick<ActivityStore, 'sums'>
  readTotals: PublicTotalsReader
  /** Unix milliseconds. */
  now: () => number
}

const DAYS = 30
/** Anybody may ask: a read that took long is kept for this number of times as long. */
const CACHE_MS = 30_000
const KEPT_TIMES = 20

/** Creates the read of what was paid in 30 days. It reads at most once in half a minute, however many ask. */
export function createExploreFigures({
  activity,
  readTotals,
  now,
}: FiguresOptions): () => Promise<Figures> {
  async function read(): Promise<Figures> {
    const { span, since } = spanOf('30d', now())
    const sums = await activity.sums({ merchantId: undefined, span, since })
    const known = new Map(
      toSeries(sums.filter(({ isSelf }) => !isSelf)).map((point) => [point.at, point]),
    )
    const days = Array.from({ length: DAYS }, (_, i) => {
      const at = since + i * DAY_SECONDS
      const { settled = 0, usd = '0' } = known.get(at) ?? {}
      return { at, settled, usd }
    })
    const { '30d': month } = await readTotals(undefined)
    return { month, days }
  }

  return shareReads(CACHE_MS, now, read, { keptTimes: KEPT_TIMES })
}

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
