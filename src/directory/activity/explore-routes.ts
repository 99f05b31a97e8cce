import {
  type ExploreAnswer,
  type PaymentsAnswer,
  paymentsQuery,
} from '@arcus/protocol/answers/activity'
import { httpCodes } from '@arcus/protocol/answers/errors'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { DAY_SECONDS } from '../../async/time.js'
import { shareReads } from '../../http/cached-reply.js'
import { createEventStreams } from '../../http/event-stream.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { blockOf, callerOf, networkOf } from '../../http/rate-limit.js'
import type { ActivityStore, SettlementReader } from '../store/activity.js'
import type { ListingReader } from '../store/listings.js'
import { isPublicPayee } from '../store/ownership.js'
import { daysOf, spanOf } from './period.js'
import type { SettlementFeed } from './settlement-feed.js'
import type { ShowsSettlements } from './shown-settlements.js'
import { type PublicTotalsReader, saleFigures, sales, toSeries } from './summary.js'

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
    const own = sales(sums.filter(({ isSelf }) => isSelf))
    const earlier = { merchantId: undefined, span, since: since - DAYS * DAY_SECONDS, until: since }
    const { revenue, settled, successRate } = saleFigures(await activity.sums(earlier))
    return { month, before: { settled, usd: revenue.usd, successRate }, days, own }
  }

  return shareReads(CACHE_MS, now, read, { keptTimes: KEPT_TIMES })
}

interface ExploreRoutesOptions {
  read(): Promise<Omit<ExploreAnswer, 'settlements'>>
  feed: SettlementFeed
  store: Pick<SettlementReader, 'page'>
  listings: Pick<ListingReader, 'findMerchant'>
  toShown: ShowsSettlements
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

const paymentsOperation: Operation = {
  id: 'listPayments',
  tag,
  summary: 'Settled payments, newest first, by seller, buyer, amount, day and network',
  description:
    'What the chain shows too, with the seller whose listing speaks for the address that was paid; never which call a buyer made. Paid checks and payments of sellers to themselves are marked.',
  answers: { 200: 'A page.' },
  codes: [httpCodes.invalid_request],
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

/** Serves the payments by day, all of them by page, and the payments as they settle. */
export async function exploreRoutes(
  app: FastifyInstance,
  { read, feed, store, listings, toShown }: ExploreRoutesOptions,
): Promise<void> {
  const openStream = createEventStreams(app, crowd)

  app.get('/api/explore', describedAs(exploreOperation), async (_request, reply) => {
    const [figures, settlements] = await Promise.all([read(), feed.latest()])
    const answer: ExploreAnswer = { ...figures, settlements }
    return reply.header('cache-control', 'no-cache').send(answer)
  })

  /** Returns the address that a seller is paid at, who is given by it or by an id; `null` for one without a proven address. */
  async function payToOf(seller: string): Promise<Address | null> {
    if (/^0x[0-9a-fA-F]{40}$/.test(seller)) return seller.toLowerCase() as Address
    const merchant = await listings.findMerchant(seller)
    return merchant !== undefined && isPublicPayee(merchant) ? merchant.payTo : null
  }

  app.get('/api/payments', describedAs(paymentsOperation), async (request, reply) => {
    const query = readQuery(paymentsQuery, request.query)
    const { seller, buyer: payer, cursor: before, from, to, ...filter } = query
    const payTo = seller === undefined ? undefined : await payToOf(seller)
    reply.header('cache-control', 'no-cache')
    if (payTo === null) return reply.send({ items: [], next: null } satisfies PaymentsAnswer)
    // Money that is given back goes from the seller to the buyer.
    const sides = filter.state === 'refunded' ? { payer: payTo, payTo: payer } : { payer, payTo }
    const page = await store.page({ ...filter, ...sides, ...daysOf({ from, to }), before })
    const items = await toShown(page.items)
    const next = page.next === undefined ? null : `${page.next.at}.${page.next.id}`
    return reply.send({ items, next } satisfies PaymentsAnswer)
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
