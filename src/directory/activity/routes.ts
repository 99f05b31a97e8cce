import { Readable } from 'node:stream'
import {
  type ActivityAnswer,
  type ActivityBreakdown,
  type ActivityRow,
  exportQuery,
  summaryQuery,
  tableQuery,
} from '@arcus/protocol/answers/activity'
import { httpCodes } from '@arcus/protocol/answers/errors'
import { formatAtomic, formatNative } from '@arcus/protocol/x402/amounts'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { unprovenMessage } from '../listings/merchant-view.js'
import type { SharedPorts } from '../ports.js'
import { type OfMerchant, presentInPublic, refusals } from '../refusals.js'
import { requireOwner } from '../session/session-routes.js'
import type { Sessions } from '../session/sign-in.js'
import type { Activity, ActivityFilter, ActivityStore } from '../store/activity.js'
import type { ListingReader, Merchant } from '../store/listings.js'
import { payToProofOf, speaksForPayTo } from '../store/ownership.js'
import { type CsvCell, csvLine } from './csv.js'
import { periodOf } from './period.js'
import { findRefunded } from './refunded.js'
import { type NamedToken, type PublicTotalsReader, readActivity, readBreakdown } from './summary.js'

const tag = 'Activity'

export const ownerCodes = [
  httpCodes.not_signed_in,
  ...refusals('not_owner', 'pay_to_unproven', 'merchant_not_found', 'merchant_deleted'),
]

/** Describes a read that only the owner may make. */
export function ofOwner(id: string, summary: string, answers: Operation['answers']): Operation {
  return {
    id,
    tag,
    summary,
    needsSession: true,
    answers,
    codes: ownerCodes,
  }
}

const activityOperation = ofOwner('getActivity', 'Sums of a range, and the same by hour or day', {
  200: 'The sums.',
})

const breakdownOperation = ofOwner(
  'getActivityBreakdown',
  'The same range by endpoint, and who paid most',
  { 200: 'The figures.' },
)

const activityTableOperation = ofOwner('listActivity', 'Each verify and settle, newest first', {
  200: 'A page.',
})

const activityCsvOperation = ofOwner('exportActivity', 'The same as CSV, all of it', {
  200: 'RFC 4180.',
})

const merchantStatsOperation: Operation = {
  id: 'getMerchantStats',
  tag,
  summary: 'Public totals of a merchant, net of refunds',
  answers: { 200: 'By range.' },
  codes: refusals('merchant_not_found', 'merchant_deleted', 'merchant_hidden'),
}

const statsOperation: Operation = {
  id: 'getStats',
  tag,
  summary: 'Public totals of all together, net of refunds',
  answers: { 200: 'By range.' },
}

interface ActivityRoutesOptions extends Pick<SharedPorts, 'findRefunds' | 'checksum' | 'now'> {
  tokens: readonly NamedToken[]
  store: ActivityStore
  readTotals: PublicTotalsReader
  listings: Pick<ListingReader, 'findMerchant' | 'endpointsOf'>
  sessions: Sessions
  /** Finds the last payments to an address, in lower case, that listed nothing. */
  findUnlisted: (payTo: Address) => Promise<ActivityAnswer['unlisted']>
  /** The wallets in lower case that buy from listed APIs to check them. */
  checkers: ReadonlySet<Address>
  /** Days for which payments are kept. */
  retentionDays: number
}

/** Serves the activity of a merchant's endpoints: every row for the owner, totals for everybody. */
export async function activityRoutes(
  app: FastifyInstance,
  options: ActivityRoutesOptions,
): Promise<void> {
  const { store, tokens, readTotals, checksum, findRefunds, retentionDays, now } = options
  const { checkers } = options
  const render: Rendering = { tokens, checksum, findRefunds, checkers }
  app.get<OfMerchant>(
    '/api/merchants/:id/activity',
    describedAs(activityOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const { endpoint: endpointId, ...query } = readQuery(summaryQuery, request.query)
      const period = periodOf(query, now(), retentionDays)
      const of = { merchantId: merchant.id, endpointId }
      const figures = await readActivity(store, { ...of, ...period })
      const { since, until, stepSeconds } = period
      const { range } = query
      const about = { merchant: merchant.id, range, since, until, stepSeconds }
      const unlisted = await options.findUnlisted(merchant.payTo)
      const answer = { ...about, ...figures, unlisted }
      return reply.header('cache-control', 'no-store').send(answer satisfies ActivityAnswer)
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/activity/breakdown',
    describedAs(breakdownOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const { endpoint: endpointId, ...query } = readQuery(summaryQuery, request.query)
      const period = periodOf(query, now(), retentionDays)
      const scope = { merchantId: merchant.id, endpointId, ...period }
      const { since, until } = period
      const about = { merchant: merchant.id, range: query.range, since, until }
      const answer = { ...about, ...(await readBreakdown(store, scope, checksum)) }
      return reply.header('cache-control', 'no-store').send(answer satisfies ActivityBreakdown)
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/activity/table',
    describedAs(activityTableOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const { limit, before, ...filters } = readQuery(tableQuery, request.query)
      const filter = toFilter(merchant, filters, options)
      const rows = await store.list({ ...filter, before, limit: limit + 1 })
      const page = rows.slice(0, limit)
      const next = rows.length > limit ? (page.at(-1)?.id ?? null) : null
      const items = await toRows(page, render)
      return reply.header('cache-control', 'no-store').send({ items, next })
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/activity.csv',
    describedAs(activityCsvOperation),
    async (request, reply) => {
      const merchant = await requireOwner(request, options)
      const filter = toFilter(merchant, readQuery(exportQuery, request.query), options)
      const endpoints = await options.listings.endpointsOf(merchant.id)
      const names = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
      return reply
        .header('cache-control', 'no-store')
        .header('content-disposition', `attachment; filename="${merchant.id}-activity.csv"`)
        .type('text/csv; charset=utf-8')
        .send(Readable.from(renderCsv(store, filter, { ...render, names })))
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/stats',
    describedAs(merchantStatsOperation),
    async (request, reply) => {
      const merchant = presentInPublic(await options.listings.findMerchant(request.params.id))
      const proof = { payToProof: payToProofOf(merchant), note: noteOf(merchant) }
      return reply
        .header('cache-control', 'public, max-age=60')
        .send({ merchant: merchant.id, ...proof, ...(await readTotals(merchant.id)) })
    },
  )

  app.get('/api/stats', describedAs(statsOperation), async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').send(await readTotals(undefined)),
  )
}

/** Explains why no payments are counted; `null` where they are. */
function noteOf(merchant: Merchant): string | null {
  return speaksForPayTo(merchant) ? null : unprovenMessage(merchant)
}

function toFilter(
  merchant: Merchant,
  filters: ReturnType<typeof readQuery<typeof exportQuery>>,
  { now, retentionDays }: Pick<ActivityRoutesOptions, 'now' | 'retentionDays'>,
) {
  const { endpoint, kind, state, buyer: payer, minAmount, maxAmount, ...query } = filters
  const period = periodOf(query, now(), retentionDays)
  const since = query.range === 'all' ? undefined : period.since * 1000
  const until = query.range === 'custom' ? period.until * 1000 : undefined
  const wanted = { kind, state, payer, minAmount, maxAmount, since, until }
  return { merchantId: merchant.id, endpointId: endpoint, ...wanted }
}

interface Rendering
  extends Pick<ActivityRoutesOptions, 'tokens' | 'checksum' | 'findRefunds' | 'checkers'> {}

async function toRows(rows: readonly Activity[], render: Rendering): Promise<ActivityRow[]> {
  const settled = rows.filter(({ state }) => state === 'settled')
  const refunded = await findRefunded(render.findRefunds, settled)
  return rows.map((row) => toRow(row, refunded.get(row.id) ?? null, render))
}

function toRow(
  row: Activity,
  refunded: string | null,
  { tokens, checksum, checkers }: Rendering,
): ActivityRow {
  const token = tokens.find(({ address }) => address === row.asset)
  return {
    id: row.id,
    at: new Date(row.at).toISOString(),
    kind: row.kind,
    state: row.state,
    endpointId: row.endpointId,
    resource: row.resource,
    toolName: row.toolName,
    network: row.network,
    payer: checksum(row.payer),
    nonce: row.nonce,
    payTo: checksum(row.payTo),
    amount: row.amount.toString(),
    refunded,
    usd: token?.currency === 'USD' ? formatAtomic(row.amount) : null,
    asset: checksum(row.asset),
    symbol: token?.symbol ?? null,
    currency: token?.currency ?? null,
    reason: row.reason,
    transaction: row.transaction,
    latencyMs: row.latencyMs,
    gasUsd: row.gasCost === null ? null : formatNative(row.gasCost),
    isSelf: row.isSelf,
    isCheck: checkers.has(row.payer),
  }
}

/** An endpoint that is listed now; a row of a former one has its number alone. */
type RowEndpoint = { title: string; method: string } | undefined

/** The columns of the file, with the cell of each. */
const columns = {
  time: ({ at }) => at,
  kind: ({ kind }) => kind,
  state: ({ state }) => state,
  endpoint: ({ endpointId }) => endpointId,
  resource: ({ resource }) => resource,
  payer: ({ payer }) => payer,
  pay_to: ({ payTo }) => payTo,
  amount_atomic: ({ amount }) => amount,
  amount_usdc: ({ usd }) => usd,
  asset: ({ asset }) => asset,
  reason: ({ reason }) => reason,
  transaction: ({ transaction }) => transaction,
  latency_ms: ({ latencyMs }) => latencyMs,
  gas_usdc: ({ gasUsd }) => gasUsd,
  self_payment: ({ isSelf }) => (isSelf ? 'yes' : 'no'),
  tool: ({ toolName }) => toolName,
  endpoint_title: (_, endpoint) => endpoint?.title,
  endpoint_method: (_, endpoint) => endpoint?.method,
  refunded_atomic: ({ refunded }) => refunded,
} satisfies Record<string, (row: ActivityRow, endpoint: RowEndpoint) => CsvCell>

/** Rows of one slice, few enough for a tick of the event loop. */
const SLICE = 200

/** Renders every row of the filter as CSV (RFC 4180), newest first, a slice at a time. */
async function* renderCsv(
  store: Pick<ActivityStore, 'list'>,
  filter: Omit<ActivityFilter, 'limit' | 'before'>,
  render: Rendering & { names: ReadonlyMap<number, RowEndpoint> },
): AsyncGenerator<string> {
  yield csvLine(Object.keys(columns))
  const renderRow = (shown: ActivityRow) => {
    const { endpointId } = shown
    const endpoint = endpointId === null ? undefined : render.names.get(endpointId)
    return csvLine(Object.values(columns).map((cell) => cell(shown, endpoint)))
  }
  let before: number | undefined
  for (;;) {
    const rows = await store.list({ ...filter, before, limit: SLICE })
    if (rows.length > 0) yield (await toRows(rows, render)).map(renderRow).join('')
    if (rows.length < SLICE) return
    before = rows.at(-1)?.id
    await new Promise((resolve) => setImmediate(resolve))
  }
}
