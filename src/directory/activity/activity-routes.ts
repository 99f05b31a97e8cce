import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { readQuery } from '../../http/query.js'
import { describedAs } from '../../http/route-config.js'
import type { Activity, ActivityStore } from '../../store/activity.js'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { payToProofOf, speaksForPayTo } from '../../store/ownership.js'
import { formatNative } from '../../x402/amounts.js'
import { answerWithDetails } from '../fault-details.js'
import { presentInPublic } from '../merchant-fault.js'
import {
  activityCsvOperation,
  activityOperation,
  activityTableOperation,
  merchantStatsOperation,
  statsOperation,
} from '../openapi/activity-operations.js'
import { tellUnproven } from '../pay-to-unproven.js'
import type { Sessions } from '../session/sessions.js'
import { renderCsv } from './csv.js'
import { createPublicTotals } from './public-totals.js'
import { exportQuery, summaryQuery, tableQuery } from './query.js'
import { spanOf } from './ranges.js'
import { requireOwner, type WithId } from './require-owner.js'
import { money, readActivity } from './summary.js'

export interface ActivityRoutesOptions {
  store: ActivityStore
  listings: Pick<ListingReader, 'findMerchant'>
  sessions: Sessions
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

/** What happened at a merchant's endpoints: all of it for the owner, totals for everybody. */
export async function activityRoutes(
  app: FastifyInstance,
  options: ActivityRoutesOptions,
): Promise<void> {
  const { store, checksum, now } = options
  const readTotals = createPublicTotals({ store, now })
  answerWithDetails(app)

  app.get<WithId>(
    '/api/merchants/:id/activity',
    describedAs(activityOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const { range, endpoint } = readQuery(summaryQuery, request.query)
      const { stepSeconds, ...span } = spanOf(range, now())
      const scope = { merchantId: merchant.id, endpointId: endpoint, ...span }
      const { summary, series } = await readActivity(store, scope)
      const { since } = span
      return reply
        .header('cache-control', 'no-store')
        .send({ merchant: merchant.id, range, since, stepSeconds, summary, series })
    },
  )

  app.get<WithId>(
    '/api/merchants/:id/activity/table',
    describedAs(activityTableOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const { limit, before, ...filters } = readQuery(tableQuery, request.query)
      const filter = toFilter(merchant, filters, now())
      const rows = await store.list({ ...filter, before, limit: limit + 1 })
      const page = rows.slice(0, limit)
      const next = rows.length > limit ? (page.at(-1)?.id ?? null) : null
      return reply
        .header('cache-control', 'no-store')
        .send({ items: page.map((row) => tell(row, checksum)), next })
    },
  )

  app.get<WithId>(
    '/api/merchants/:id/activity.csv',
    describedAs(activityCsvOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const filter = toFilter(merchant, readQuery(exportQuery, request.query), now())
      return reply
        .header('cache-control', 'no-store')
        .header('content-disposition', `attachment; filename="${merchant.id}-activity.csv"`)
        .type('text/csv; charset=utf-8')
        .send(Readable.from(renderCsv(store, filter, checksum)))
    },
  )

  app.get<WithId>(
    '/api/merchants/:id/stats',
    describedAs(merchantStatsOperation),
    async (request, reply) => {
      const merchant = presentInPublic(await options.listings.findMerchant(request.params.id))
      const { merchant: id, ...totals } = await readTotals(merchant.id)
      const proof = { payToProof: payToProofOf(merchant), note: noteOf(merchant) }
      return reply
        .header('cache-control', 'public, max-age=60')
        .send({ merchant: id, ...proof, ...totals })
    },
  )

  app.get('/api/stats', describedAs(statsOperation), async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').send(await readTotals(undefined)),
  )
}

/** Why the totals are those of nobody; `null` where they are the merchant's. */
function noteOf(merchant: Merchant): string | null {
  return speaksForPayTo(merchant) ? null : tellUnproven(merchant)
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
