import { ArcusError, withQuery } from '@arcus/client/calls'
import type { ExploreAnswer, PublicTotals } from '@arcus/protocol/answers/activity'
import type { BrowseAnswer } from '@arcus/protocol/answers/discovery'
import type { HooksAnswer } from '@arcus/protocol/answers/events'
import type { HealthAnswer, PricesAnswer } from '@arcus/protocol/answers/history'
import type { HistoryAnswer, MerchantView, OwnedAnswer } from '@arcus/protocol/answers/listings'
import type { ConsoleSettings, ServiceStatus } from '@arcus/protocol/answers/service'
import type { SessionAnswer } from '@arcus/protocol/answers/session'
import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryKey,
  queryOptions,
  type UseQueryOptions,
} from '@tanstack/react-query'
import { requestJson } from './http.js'

const PAGE_SIZE = 30

export const FOREVER = Number.POSITIVE_INFINITY
/** Listings and what is known about them change by the minute. */
const listings = { staleTime: 15_000 }
/** Figures of payments. A page that is open reads them again, because payments change them all the time. */
const figures = { staleTime: 10_000, refetchInterval: 30_000 }

/** Reads one answer of the service. */
export function read<Answer>(
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

export const ofMerchant = (id: string, part = '') =>
  `/api/merchants/${encodeURIComponent(id)}${part}`

export const settingsQuery = read<ConsoleSettings>(['settings'], '/api/console', {
  staleTime: FOREVER,
})

/** Returns the network of the listings; `undefined` until the settings are there. */
export function listedNetwork(settings: ConsoleSettings | undefined) {
  return settings?.networks.find(({ listed }) => listed)
}

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
  <Answer>(part: 'health' | 'prices') =>
  (merchantId: string, id: number) =>
    read<Answer>(
      [part, merchantId, id],
      ofMerchant(merchantId, `/endpoints/${id}/${part}`),
      listings,
    )

export const healthQuery = ofEndpoint<HealthAnswer>('health')
export const pricesQuery = ofEndpoint<PricesAnswer>('prices')

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
export const standingQuery = { ...statusQuery, refetchInterval: 7_000 }

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

/** The webhooks of a merchant, for a session of its owner. */
export const hooksQuery = (id: string) => read<HooksAnswer>(['hooks', id], ofMerchant(id, '/hooks'))
