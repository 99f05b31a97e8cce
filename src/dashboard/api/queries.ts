import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { ArcusError, withQuery } from 'arcus-client/calls'
import type {
  ActivityAnswer,
  ActivityBreakdown,
  ActivityRow,
  ActivityTable,
  PublicTotals,
  Range,
} from '../../api/activity.js'
import type { BrowseAnswer } from '../../api/discovery.js'
import type { HooksAnswer } from '../../api/events.js'
import type { ExploreAnswer } from '../../api/explore.js'
import type { HealthAnswer, PricesAnswer } from '../../api/history.js'
import type { MerchantView, OwnedAnswer } from '../../api/listings.js'
import type { ToolsAnswer } from '../../api/merchants.js'
import type { PaymentStatus, ReceiptAnswer } from '../../api/payments.js'
import type { EndpointRatingsAnswer } from '../../api/ratings.js'
import type { ConsoleSettings, ServiceStatus, StatusHistory } from '../../api/service.js'
import type { SessionAnswer } from '../../api/session.js'
import type { Attestation } from '../../x402/attestation.js'
import { requestJson } from './http.js'

const PAGE_SIZE = 24
const TABLE_ROWS = 25

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => requestJson<ConsoleSettings>('/api/console', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

/** Enough for the home page. */
export const newestQuery = queryOptions({
  queryKey: ['newest'],
  queryFn: ({ signal }) => requestJson<BrowseAnswer>('/api/endpoints?sort=new&limit=5', { signal }),
  staleTime: 15_000,
})

/** The filters of the directory, each as the address of the page holds it. */
export interface EndpointFilters {
  query?: string
  method?: string
  pricing?: string
  maxPrice?: string
  currency?: string
  verified?: string
  official?: string
  hasSchema?: string
  tag?: string
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
    staleTime: 15_000,
  })

const ofEndpoint = (merchantId: string, id: number, what: string) =>
  `/api/merchants/${encodeURIComponent(merchantId)}/endpoints/${id}/${what}`

export const healthQuery = (merchantId: string, id: number) =>
  queryOptions({
    queryKey: ['health', merchantId, id],
    queryFn: ({ signal }) =>
      requestJson<HealthAnswer>(ofEndpoint(merchantId, id, 'health'), { signal }),
    staleTime: 60_000,
  })

export const pricesQuery = (merchantId: string, id: number) =>
  queryOptions({
    queryKey: ['prices', merchantId, id],
    queryFn: ({ signal }) =>
      requestJson<PricesAnswer>(ofEndpoint(merchantId, id, 'prices'), { signal }),
    staleTime: 60_000,
  })

export const ratingsQuery = (merchantId: string, id: number) =>
  queryOptions({
    queryKey: ['ratings', merchantId, id],
    queryFn: ({ signal }) =>
      requestJson<EndpointRatingsAnswer>(ofEndpoint(merchantId, id, 'ratings'), { signal }),
    staleTime: 60_000,
  })

export const merchantQuery = (id: string) =>
  queryOptions({
    queryKey: ['merchant', id],
    queryFn: ({ signal }) =>
      requestJson<MerchantView>(`/api/merchants/${encodeURIComponent(id)}`, { signal }),
    staleTime: 10_000,
    // The service checks an agent after it is linked, so the page asks until the checks are there.
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.agentId !== null && data.identity?.agentId !== data.agentId
        ? 2_000
        : false,
  })

export const merchantTotalsQuery = (id: string) =>
  queryOptions({
    queryKey: ['totals', id],
    queryFn: ({ signal }) =>
      requestJson<PublicTotals>(`/api/merchants/${encodeURIComponent(id)}/stats`, { signal }),
    staleTime: 30_000,
  })

export const totalsQuery = queryOptions({
  queryKey: ['totals'],
  queryFn: ({ signal }) => requestJson<PublicTotals>('/api/stats', { signal }),
  staleTime: 30_000,
})

export const exploreQuery = queryOptions({
  queryKey: ['explore'],
  queryFn: ({ signal }) => requestJson<ExploreAnswer>('/api/explore', { signal }),
  staleTime: 15_000,
  refetchInterval: 60_000,
})

export const toolsQuery = (id: string) =>
  queryOptions({
    queryKey: ['tools', id],
    queryFn: ({ signal }) =>
      requestJson<ToolsAnswer>(`/api/merchants/${encodeURIComponent(id)}/tools.json`, { signal }),
    staleTime: 60_000,
  })

export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => requestJson<ServiceStatus>('/api/status', { signal }),
  refetchInterval: 5_000,
})

/** The service notes once a minute. */
export const statusHistoryQuery = queryOptions({
  queryKey: ['status', 'history'],
  queryFn: ({ signal }) => requestJson<StatusHistory>('/api/status/history', { signal }),
  staleTime: 60_000,
  refetchInterval: 60_000,
})

/**
 * Returns the address of a payment, or of a part such as `/receipt`. The token is named, because a payer may use a nonce in
 * several.
 */
export function paymentPath(
  { network, payer, nonce, asset }: Pick<PaymentStatus, 'network' | 'payer' | 'nonce' | 'asset'>,
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
    staleTime: Number.POSITIVE_INFINITY,
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
    staleTime: Number.POSITIVE_INFINITY,
  })

export const ownedQuery = (address: string) =>
  queryOptions({
    queryKey: ['owned', address],
    queryFn: ({ signal }) =>
      requestJson<OwnedAnswer>(`/api/owners/${address}/merchants`, { signal }),
  })

let endings = 0

/** Marks the session as ended, so that an answer about it that is still on its way is ignored. */
export function countEnding(): void {
  endings++
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  async queryFn({ signal }) {
    const before = endings
    const path = '/api/session'
    try {
      const session = await requestJson<SessionAnswer>(path, { signal })
      return endings === before ? session : null
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

export const activityQuery = (id: string, filter: ActivityFilter) =>
  queryOptions({
    queryKey: ['activity', id, 'summary', filter],
    queryFn: ({ signal }) =>
      requestJson<ActivityAnswer>(
        withQuery(`/api/merchants/${encodeURIComponent(id)}/activity`, { ...filter }),
        { signal },
      ),
    placeholderData: keepPreviousData,
  })

export const breakdownQuery = (id: string, filter: ActivityFilter) =>
  queryOptions({
    queryKey: ['activity', id, 'breakdown', filter],
    queryFn: ({ signal }) =>
      requestJson<ActivityBreakdown>(
        withQuery(`/api/merchants/${encodeURIComponent(id)}/activity/breakdown`, { ...filter }),
        { signal },
      ),
    placeholderData: keepPreviousData,
  })

export const activityTableQuery = (id: string, filter: TableFilter, before: number | null) =>
  queryOptions({
    queryKey: ['activity', id, 'table', filter, before],
    queryFn: ({ signal }) =>
      requestJson<ActivityTable>(
        withQuery(`/api/merchants/${encodeURIComponent(id)}/activity/table`, {
          ...filter,
          limit: TABLE_ROWS,
          before,
        }),
        { signal },
      ),
    placeholderData: keepPreviousData,
  })

/** The webhooks of a merchant, for a session of its owner. */
export const hooksQuery = (id: string) =>
  queryOptions({
    queryKey: ['hooks', id],
    queryFn: ({ signal }) =>
      requestJson<HooksAnswer>(`/api/merchants/${encodeURIComponent(id)}/hooks`, { signal }),
  })
