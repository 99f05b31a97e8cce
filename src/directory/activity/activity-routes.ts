import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import { RequestFault } from '../../http/request-fault.js'
import type { Activity, ActivityStore } from '../../store/activity.js'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { formatNative } from '../../x402/amounts.js'
import { requireSession } from '../session/session-routes.js'
import type { Sessions } from '../session/sessions.js'
import { renderCsv } from './csv.js'
import { exportQuery, readQuery, summaryQuery, tableQuery } from './query.js'
import { type ActivityRange, spanOf } from './ranges.js'
import { money, readSeries, summarize } from './summary.js'

export interface ActivityRoutesOptions {
  store: ActivityStore
  listings: Pick<ListingReader, 'findMerchant'>
  sessions: Sessions
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

type WithId = { Params: { id: string } }

/** What happened at a merchant's endpoints: all of it for the owner, totals for everybody. */
export async function activityRoutes(
  app: FastifyInstance,
  options: ActivityRoutesOptions,
): Promise<void> {
  const { store, checksum, now } = options

  app.get<WithId>('/api/merchants/:id/activity', async (request, reply) => {
    const merchant = await requireOwner(request, options)
    const { range, endpoint } = readQuery(summaryQuery, request.query)
    const { stepSeconds, ...span } = spanOf(range, now())
    const scope = { merchantId: merchant.id, endpointId: endpoint, ...span }
    const [summary, series] = await Promise.all([summarize(store, scope), readSeries(store, scope)])
    const { since } = span
    return reply
      .header('cache-control', 'no-store')
      .send({ merchant: merchant.id, range, since, stepSeconds, summary, series })
  })

  app.get<WithId>('/api/merchants/:id/activity/table', async (request, reply) => {
    const merchant = await requireOwner(request, options)
    const { limit, before, ...filters } = readQuery(tableQuery, request.query)
    const filter = toFilter(merchant, filters, now())
    const rows = await store.list({ ...filter, before, limit: limit + 1 })
    const page = rows.slice(0, limit)
    const next = rows.length > limit ? (page.at(-1)?.id ?? null) : null
    return reply
      .header('cache-control', 'no-store')
      .send({ items: page.map((row) => tell(row, checksum)), next })
  })

  app.get<WithId>('/api/merchants/:id/activity.csv', async (request, reply) => {
    const merchant = await requireOwner(request, options)
    const filter = toFilter(merchant, readQuery(exportQuery, request.query), now())
    return reply
      .header('cache-control', 'no-store')
      .header('content-disposition', `attachment; filename="${merchant.id}-activity.csv"`)
      .type('text/csv; charset=utf-8')
      .send(Readable.from(renderCsv(store, filter, checksum)))
  })

  app.get<WithId>('/api/merchants/:id/stats', async (request, reply) => {
    const merchant = await findPublicMerchant(request.params.id, options.listings)
    return reply.header('cache-control', 'public, max-age=60').send(await readTotals(merchant.id))
  })

  app.get('/api/stats', async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').send(await readTotals(undefined)),
  )

  /** Public totals leave out who pays himself. */
  async function readTotals(merchantId: string | undefined) {
    const totals = async (range: ActivityRange) => {
      const { span, since } = spanOf(range, now())
      const { settle, revenue, payers } = await summarize(store, { merchantId, span, since })
      const { settled, successRate, p50Ms, p95Ms } = settle
      return { settled, successRate, settleP50Ms: p50Ms, settleP95Ms: p95Ms, revenue, payers }
    }
    const ranges = ['24h', '7d', '30d', 'all'] as const
    const read = await Promise.all(ranges.map(async (range) => [range, await totals(range)]))
    return {
      ...(merchantId === undefined ? {} : { merchant: merchantId }),
      ...Object.fromEntries(read),
    }
  }
}

async function requireOwner(
  request: FastifyRequest<WithId>,
  { listings, sessions }: ActivityRoutesOptions,
): Promise<Merchant> {
  const session = requireSession(request, sessions)
  const merchant = await listings.findMerchant(request.params.id)
  if (merchant === undefined) throw unknownMerchant()
  if (merchant.owner === session.address) return merchant
  throw new RequestFault({
    statusCode: 403,
    code: 'not_owner',
    message: 'Only the owner of this listing may read its activity.',
  })
}

async function findPublicMerchant(
  id: string,
  listings: Pick<ListingReader, 'findMerchant'>,
): Promise<Merchant> {
  const merchant = await listings.findMerchant(id)
  const isPublic = merchant?.deletedAt === null && merchant.hiddenReason === null
  if (merchant === undefined || !isPublic) throw unknownMerchant()
  return merchant
}

function unknownMerchant(): RequestFault {
  return new RequestFault({
    statusCode: 404,
    code: 'not_found',
    message: 'There is no merchant of this id.',
  })
}

function toFilter(
  merchant: Merchant,
  filters: ReturnType<typeof readQuery<typeof exportQuery>>,
  now: number,
) {
  const { range, endpoint, kind, state } = filters
  const since = range === 'all' ? undefined : spanOf(range, now).since * 1000
  return { merchantId: merchant.id, endpointId: endpoint, kind, state, since }
}

function tell(row: Activity, checksum: (address: Address) => Address) {
  return {
    id: row.id,
    at: new Date(row.at).toISOString(),
    kind: row.kind,
    state: row.state,
    endpointId: row.endpointId,
    resource: row.resource,
    payer: checksum(row.payer),
    payTo: checksum(row.payTo),
    ...money(row.amount),
    reason: row.reason,
    transaction: row.transaction,
    latencyMs: row.latencyMs,
    gasUsd: row.gasCost === null ? null : formatNative(row.gasCost),
    isSelf: row.isSelf,
  }
}
