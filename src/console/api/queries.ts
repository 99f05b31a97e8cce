import { ArcusError, withQuery } from '@arcus/client/calls'
import type {
  ActivityAnswer,
  ActivityBreakdown,
  ActivityRow,
  ActivityTable,
  PublicTotals,
  Range,
} from '@arcus/protocol/answers/activity'
import type { BrowseAnswer } from '@arcus/protocol/answers/discovery'
import type { HooksAnswer } from '@arcus/protocol/answers/events'
import type { ExploreAnswer } from '@arcus/protocol/answers/explore'
import type { HealthAnswer, PricesAnswer } from '@arcus/protocol/answers/history'
import type { HistoryAnswer, MerchantView, OwnedAnswer } from '@arcus/protocol/answers/listings'
import type { PaymentStatus, ReceiptAnswer } from '@arcus/protocol/answers/payments'
import type { EndpointRatingsAnswer } from '@arcus/protocol/answers/ratings'
import type { ConsoleSettings, ServiceStatus } from '@arcus/protocol/answers/service'
import type { SessionAnswer } from '@arcus/protocol/answers/session'
import type { Attestation } from '@arcus/protocol/x402/attestation'
import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryKey,
  queryOptions,
  type UseQueryOptions,
} from '@tanstack/react-query'
import { requestJson } from './http.js'

const PAGE_SIZE = 24
const TABLE_ROWS = 25

const FOREVER = Number.POSITIVE_INFINITY
/** Listings and what is known about them change by the minute. */
const listings = { staleTime: 15_000 }
/** Figures of payments. A page that is open reads them again, because payments change them all the time. */
const figures = { staleTime: 10_000, refetchInterval: 30_000 }

/** Reads one answer of the service. */
function read<Answer>(
  queryKey: QueryKey,
  path: string,
  options: Omit<UseQueryOptions<Answer>, 'queryKey' | 'queryFn'> = {},
) {
  return queryOptions<Answer>({
    ...options,
    queryKey,
    queryFn: ({ signal }) => requestJson<Answer>(path, { signal }),
  })
}

const ofMerchant = (id: string, part = '') => `/api/merchants/${encodeURIComponent(id)}${part}`

export const settingsQuery = read<ConsoleSettings>(['settings'], '/api/console', {
  staleTime: FOREVER,
})

/** The filters of the directory, each as the address of the page holds it. */
export interface EndpointFilters {
  query?: string
  maxPrice?: string
  verified?: string
  payTo?: string
  sort?: string
}

export const endpointsQuery = (filters: EndpointFilters) =>
  infiniteQueryOptions({
    queryKey: ['endpoints', filters],
    queryFn: ({ pageParam, signal }) =>
      requestJson<BrowseAnswer>(
        withQuery('/api/endpoints', { ...filters, limit: PAGE_SIZE, cursor: pageParam }),
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    ...listings,
  })

/** Reads a part of what is known about one endpoint. */
const ofEndpoint =
  <Answer>(part: 'health' | 'prices' | 'ratings') =>
  (merchantId: string, id: number) =>
    read<Answer>(
      [part, merchantId, id],
      ofMerchant(merchantId, `/endpoints/${id}/${part}`),
      listings,
    )

export const healthQuery = ofEndpoint<HealthAnswer>('health')
export const pricesQuery = ofEndpoint<PricesAnswer>('prices')
export const ratingsQuery = ofEndpoint<EndpointRatingsAnswer>('ratings')

export const merchantQuery = (id: string) =>
  read<MerchantView>(['merchant', id], ofMerchant(id), {
    ...listings,
    // The service checks an agent after it is linked, so the page asks until the checks are there.
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.agentId !== null && data.identity?.agentId !== data.agentId
        ? 2_000
        : false,
  })

const HISTORY_ENTRIES = 10

/** The last signed changes of a listing of this revision, oldest first. */
export const historyQuery = (id: string, revision: number) =>
  read<HistoryAnswer>(
    ['merchant', id, 'history', revision],
    withQuery(ofMerchant(id, '/history'), {
      after: Math.max(0, revision - HISTORY_ENTRIES),
      limit: HISTORY_ENTRIES,
    }),
    { staleTime: FOREVER },
  )

export const merchantTotalsQuery = (id: string) =>
  read<PublicTotals>(['totals', id], ofMerchant(id, '/stats'), figures)

export const exploreQuery = read<ExploreAnswer>(['explore'], '/api/explore', figures)

export const statusQuery = read<ServiceStatus>(['status'], '/api/status', {
  refetchInterval: 5_000,
})

/** The same for pages other than the status, which ask less often. */
export const standingQuery = { ...statusQuery, refetchInterval: 20_000 }

/**
 * Returns the address of a payment, or of a part such as `/receipt`. The token is named, because a payer may use a nonce in
 * several.
 */
export function paymentPath(
  { network, payer, nonce, asset }: Record<'network' | 'payer' | 'nonce' | 'asset', string>,
  part = '',
): string {
  return `/payments/${network}/${payer}/${nonce}${part}?asset=${asset}`
}

/** Reads the payments at an address: those of a transaction, or the one of a payer and nonce. */
export async function readPayments(path: string, signal: AbortSignal): Promise<PaymentStatus[]> {
  const answer = await requestJson<PaymentStatus | { payments: PaymentStatus[] }>(path, { signal })
  return 'payments' in answer ? answer.payments : [answer]
}

export const paymentsQuery = (path: string) =>
  queryOptions({
    queryKey: ['payments', path],
    queryFn: ({ signal }) => readPayments(path, signal),
    refetchInterval: ({ state }) =>
      state.data?.some(({ state }) => state === 'queued' || state === 'submitted') ? 1_500 : false,
  })

/** Reads the receipt of a confirmed payment; `path` is its whole address. */
export const receiptQuery = (path: string) =>
  queryOptions({
    queryKey: ['receipt', path],
    queryFn: ({ signal }) =>
      requestJson<ReceiptAnswer>(path, { signal, headers: { accept: 'application/json' } }),
    staleTime: FOREVER,
  })

/** Reads the attestation of a confirmed payment; `null` if none was signed. */
export const attestationQuery = (path: string) =>
  queryOptions({
    queryKey: ['attestation', path],
    async queryFn({ signal }) {
      try {
        return await requestJson<Attestation>(path, { signal })
      } catch (error) {
        if (error instanceof ArcusError && error.status === 404) return null
        throw error
      }
    },
    staleTime: FOREVER,
  })

export const ownedQuery = (address: string) =>
  read<OwnedAnswer>(['owned', address], `/api/owners/${address}/merchants`)

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  async queryFn({ signal }) {
    try {
      return await requestJson<SessionAnswer>('/api/session', { signal })
    } catch (error) {
      if (error instanceof ArcusError && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** The filter that all parts of the activity page share. */
export interface ActivityFilter {
  range: Range | 'custom'
  /** Days of `custom`, `YYYY-MM-DD`. */
  from?: string | undefined
  to?: string | undefined
  endpoint?: number | undefined
}

/** An empty string means any. */
export interface TableFilter extends ActivityFilter {
  kind: ActivityRow['kind'] | ''
  state: ActivityRow['state'] | ''
}

/** New payments show within this time. */
const NEWEST_MS = 5_000
const NEWEST_ROWS = 50
/** The figures are read again this often, because an hour may begin without a new payment. */
const ACTIVITY_MS = 60_000

/** Reads a part of the activity. What is shown stays while another filter is read. */
const ofActivity = <Answer>(key: QueryKey, path: string, filter: object) =>
  read<Answer>(['activity', ...key], withQuery(path, { ...filter }), {
    placeholderData: keepPreviousData,
    refetchInterval: ACTIVITY_MS,
  })

export const activityQuery = (id: string, filter: ActivityFilter) =>
  ofActivity<ActivityAnswer>([id, 'sums', filter], ofMerchant(id, '/activity'), filter)

export const breakdownQuery = (id: string, filter: ActivityFilter) =>
  ofActivity<ActivityBreakdown>(
    [id, 'sums', 'breakdown', filter],
    ofMerchant(id, '/activity/breakdown'),
    filter,
  )

export const activityTableQuery = (id: string, filter: TableFilter, before: number | null) =>
  ofActivity<ActivityTable>([id, 'table', filter, before], ofMerchant(id, '/activity/table'), {
    ...filter,
    limit: TABLE_ROWS,
    before,
  })

/** The newest rows, which are read again and again, also while the tab is hidden: its title counts payments. */
export const newestActivityQuery = (id: string) =>
  read<ActivityTable>(
    ['activity', id, 'newest'],
    withQuery(ofMerchant(id, '/activity/table'), { range: '24h', limit: NEWEST_ROWS }),
    { refetchInterval: NEWEST_MS, refetchIntervalInBackground: true },
  )

/**
 * Adds rows to the first page of a table with this filter. Rows that it has, or that do not fit, are left out; `rows` are
 * the newest of all.
 */
export function withNewRows(
  table: ActivityTable,
  filter: TableFilter,
  rows: readonly ActivityRow[],
): ActivityTable {
  const last = table.items[0]?.id ?? 0
  const day = ({ at }: ActivityRow) => at.slice(0, 10)
  const isWanted = (row: ActivityRow) =>
    row.id > last &&
    (filter.kind === '' || row.kind === filter.kind) &&
    (filter.state === '' || row.state === filter.state) &&
    (filter.endpoint === undefined || row.endpointId === filter.endpoint) &&
    day(row) >= (filter.from ?? '') &&
    day(row) <= (filter.to ?? '9')
  const fresh = rows.filter(isWanted)
  if (fresh.length === 0) return table
  const items = [...fresh, ...table.items]
  const shown = items.slice(0, TABLE_ROWS)
  return { items: shown, next: items.length > TABLE_ROWS ? (shown.at(-1)?.id ?? null) : table.next }
}

/** The webhooks of a merchant, for a session of its owner. */
export const hooksQuery = (id: string) => read<HooksAnswer>(['hooks', id], ofMerchant(id, '/hooks'))
