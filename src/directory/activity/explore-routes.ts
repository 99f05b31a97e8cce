import { Readable } from 'node:stream'
import {
  type ExploreAnswer,
  MOST_EXPORTED,
  type PaymentsAnswer,
  paymentsExportQuery,
  paymentsQuery,
  type Settlement,
} from '@arcus/protocol/answers/activity'
import { httpCodes } from '@arcus/protocol/answers/errors'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { DAY_SECONDS } from '../../async/time.js'
import { shareReads } from '../../http/cached-reply.js'
import { createEventStreams } from '../../http/event-stream.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { blockOf, callerOf, networkOf } from '../../http/rate-limit.js'
import type { ActivityStore, PaymentFilter, SettlementReader } from '../store/activity.js'
import type { ListingReader } from '../store/listings.js'
import { isPublicPayee } from '../store/ownership.js'
import { type CsvCell, csvLine } from './csv.js'
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

const paymentsCsvOperation: Operation = {
  id: 'exportPayments',
  tag,
  summary: 'The same as CSV',
  description: `The newest that fit, ${MOST_EXPORTED} at most. It looks through as many pages as hold that number of payments, so that a rare amount may be missing: ask for fewer days.`,
  answers: { 200: 'RFC 4180.' },
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

  /** Returns what a request asks for; `null` for a seller without a proven address. */
  async function filterOf(
    query: ReturnType<typeof readQuery<typeof paymentsExportQuery>>,
  ): Promise<Omit<PaymentFilter, 'limit'> | null> {
    const { seller, buyer: payer, from, to, ...filter } = query
    const payTo = seller === undefined ? undefined : await payToOf(seller)
    if (payTo === null) return null
    // Money that is given back goes from the seller to the buyer.
    const sides = filter.state === 'refunded' ? { payer: payTo, payTo: payer } : { payer, payTo }
    return { ...filter, ...sides, ...daysOf({ from, to }) }
  }

  app.get('/api/payments', describedAs(paymentsOperation), async (request, reply) => {
    const { limit, cursor: before, ...query } = readQuery(paymentsQuery, request.query)
    const filter = await filterOf(query)
    reply.header('cache-control', 'no-cache')
    if (filter === null) return reply.send({ items: [], next: null } satisfies PaymentsAnswer)
    const page = await store.page({ ...filter, before, limit })
    const items = await toShown(page.items)
    const next = page.next === undefined ? null : `${page.next.at}.${page.next.id}`
    return reply.send({ items, next } satisfies PaymentsAnswer)
  })

  app.get('/api/payments.csv', describedAs(paymentsCsvOperation), async (request, reply) => {
    const filter = await filterOf(readQuery(paymentsExportQuery, request.query))
    return reply
      .header('cache-control', 'no-cache')
      .header('content-disposition', 'attachment; filename="payments.csv"')
      .type('text/csv; charset=utf-8')
      .send(Readable.from(renderPayments(filter, { store, toShown })))
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

/** The columns of the file, with the cell of each. */
const columns = {
  time: ({ at }) => at,
  state: ({ state }) => state,
  seller: ({ merchant }) => merchant?.id,
  pay_to: ({ payTo }) => payTo,
  buyer: ({ payer }) => payer,
  amount: ({ amount }) => formatAtomic(BigInt(amount)),
  returned: ({ refunded }) => refunded && formatAtomic(BigInt(refunded)),
  token: ({ symbol, asset }) => symbol ?? asset,
  network: ({ network }) => network,
  transaction: ({ transaction }) => transaction,
  paid_check: ({ isCheck }) => (isCheck ? 'yes' : 'no'),
  self_payment: ({ isSelf }) => (isSelf ? 'yes' : 'no'),
} satisfies Record<string, (payment: Settlement) => CsvCell>

/** Payments of one slice, few enough for a tick of the event loop. */
const SLICE = 500

/** Renders the payments of a filter as CSV (RFC 4180), newest first, a slice at a time, up to a bound. */
async function* renderPayments(
  filter: Omit<PaymentFilter, 'limit'> | null,
  { store, toShown }: Pick<ExploreRoutesOptions, 'store' | 'toShown'>,
): AsyncGenerator<string> {
  yield csvLine(Object.keys(columns))
  if (filter === null) return
  let before: PaymentFilter['before']
  for (let slice = 0; slice < MOST_EXPORTED / SLICE; slice++) {
    const page = await store.page({ ...filter, before, limit: SLICE })
    const rows = await toShown(page.items)
    yield rows.map((row) => csvLine(Object.values(columns).map((cell) => cell(row)))).join('')
    if (page.next === undefined) return
    before = page.next
    await new Promise((resolve) => setImmediate(resolve))
  }
}
