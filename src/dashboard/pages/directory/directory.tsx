import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import {
  type EndpointFilters,
  endpointsQuery,
  merchantQuery,
  totalsQuery,
} from '../../api/queries.js'
import { Button, ButtonLink } from '../../components/button.js'
import { Card, Empty } from '../../components/card.js'
import { Latency, Stat, Usd } from '../../components/figures.js'
import { Loaded, Skeleton, SkeletonRows } from '../../components/loaded.js'
import { Notice } from '../../components/notice.js'
import { useTitle } from '../../components/page.js'
import { OddParameters } from '../../components/search-state.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { exactCount, percent, shortCount } from '../../format/amounts.js'
import { mayBeMerchantId } from '../../format/search-target.js'
import { EndpointRow } from './endpoint-row.js'
import { FilterBar, isFiltered, useFilters } from './filter-bar.js'

/** Lists all endpoints, to browse and search. The address of the page holds every filter. */
export function Directory() {
  useTitle(undefined)
  const { filters, odd, setFilters } = useFilters()
  const query = useInfiniteQuery(endpointsQuery(filters))
  const filtered = isFiltered(filters)

  return (
    <>
      <Hero />
      <search className="top-14 z-10 sm:sticky -mx-4 bg-paper/90 px-4 py-3 backdrop-blur-md sm:-mx-6 sm:px-6">
        <FilterBar filters={filters} onChange={setFilters} />
      </search>
      <h2 className="sr-only">Endpoints</h2>
      <OddParameters odd={odd} />
      <Loaded
        query={query}
        skeleton={
          <Card className="overflow-hidden">
            <SkeletonRows count={6} label="Loading the directory" />
          </Card>
        }
      >
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          const total = pages[0]?.total ?? null
          const correctedQuery = pages[0]?.correctedQuery
          const more = query.hasNextPage ? 'the best ' : ''
          const counted = total === null ? `${more}${items.length}` : exactCount(total)
          return (
            <>
              <MerchantOfId words={filters.query ?? ''} />
              <p role="status" className="px-1 pb-3 text-xs text-muted">
                {correctedQuery !== undefined && (
                  <>
                    Nothing matches as typed. Showing results for{' '}
                    <strong className="text-ink">
                      <UntrustedText text={correctedQuery} max={200} />
                    </strong>
                    :{' '}
                  </>
                )}
                {items.length === 0
                  ? ''
                  : `${counted} ${items.length === 1 && total === null ? 'endpoint' : 'endpoints'}${filtered ? ' found' : ''}`}
              </p>
              <Card
                className={`overflow-hidden transition-opacity ${query.isPlaceholderData ? 'opacity-60' : ''}`}
              >
                {items.length === 0 ? (
                  <NoResults filters={filters} onClear={() => setFilters({})} />
                ) : (
                  <ul className="divide-y divide-line">
                    {items.map((item) => (
                      <EndpointRow
                        key={item.id}
                        endpoint={item}
                        onTag={(tag) => setFilters({ ...filters, tag })}
                      />
                    ))}
                  </ul>
                )}
              </Card>
              {query.isFetchNextPageError && (
                <div className="mt-4">
                  <Notice tone="bad" title="More could not be loaded">
                    {query.error?.message}
                  </Notice>
                </div>
              )}
              {query.hasNextPage && (
                <div className="mt-6 flex justify-center">
                  <Button
                    isBusy={query.isFetchingNextPage}
                    onClick={() => void query.fetchNextPage()}
                  >
                    Show more
                  </Button>
                </div>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

/** Leads to the merchant whose id was typed, if there is one. */
function MerchantOfId({ words }: { words: string }) {
  const { data } = useQuery({
    ...merchantQuery(words),
    enabled: mayBeMerchantId(words),
    retry: false,
  })
  if (data === undefined || data.id !== words) return null
  return (
    <p className="px-1 pb-2 text-sm">
      <Link
        href={`/merchants/${encodeURIComponent(data.id)}`}
        className="font-medium text-accent underline-offset-4 hover:underline"
      >
        The merchant with the id “{data.id}”: <UntrustedText text={data.name} max={60} />
      </Link>
    </p>
  )
}

function NoResults({ filters, onClear }: { filters: EndpointFilters; onClear: () => void }) {
  if (filters.payTo !== undefined) {
    return (
      <Empty
        title="Nothing listed is paid at this address"
        action={
          <ButtonLink href={`/payments?payer=${encodeURIComponent(filters.payTo)}`}>
            Find a payment from this address
          </ButtonLink>
        }
      >
        Payments to an address that is not listed are found by their transaction.
      </Empty>
    )
  }
  return isFiltered(filters) ? (
    <Empty title="Nothing matches" action={<Button onClick={onClear}>Clear all filters</Button>}>
      Try fewer words or filters. The search covers titles, tags, providers, descriptions and URLs.
    </Empty>
  ) : (
    <Empty
      title="Nothing is listed yet"
      action={
        <ButtonLink href="/console/new" variant="primary">
          List the first API
        </ButtonLink>
      }
    >
      Any HTTP API that answers 402 and takes a stablecoin on Arc can be listed with one signature.
    </Empty>
  )
}

/** Introduces the directory, with the totals of the last 30 days. */
function Hero() {
  return (
    <div className="relative mb-6 sm:mb-8">
      <Arcs />
      <h1 className="relative max-w-3xl text-display font-semibold tracking-[-0.035em]">
        APIs that are paid
        <br className="max-sm:hidden" /> by the call.
      </h1>
      <p className="relative mt-4 max-w-xl text-base text-pretty text-muted sm:text-[1.0625rem]">
        Programs pay for each call, in dollars or euros, straight to the people who sell it. No
        account, no API key.{' '}
        <Link
          href="/how-it-works"
          className="font-medium whitespace-nowrap text-accent underline-offset-4 hover:underline"
        >
          How it works
        </Link>{' '}
        ·{' '}
        <Link
          href="/console/new"
          className="font-medium whitespace-nowrap text-accent underline-offset-4 hover:underline"
        >
          List yours →
        </Link>
      </p>
      <Totals />
    </div>
  )
}

function Totals() {
  const { data, error } = useQuery(totalsQuery)
  if (error !== null && data === undefined) return null
  const month = data?.['30d']
  if (month === undefined) return <Skeleton className="mt-8 h-[4.5rem] w-full max-w-2xl" />
  return (
    <dl className="relative mt-8 grid max-w-3xl grid-cols-2 gap-x-8 gap-y-5 sm:grid-cols-4">
      <Stat
        name="Paid calls, 30 days"
        value={shortCount(month.settled)}
        title={exactCount(month.settled)}
      />
      <Stat
        name="Paid to merchants"
        value={<Usd usd={month.revenue.usd} />}
        note="net of refunds"
      />
      <Latency name="Settle time" p50={month.settleP50Ms} p95={month.settleP95Ms} />
      <Stat name="Success rate" value={percent(month.successRate)} />
    </dl>
  )
}

function Arcs() {
  return (
    <svg
      viewBox="0 0 400 200"
      fill="none"
      className="pointer-events-none absolute -top-12 -right-10 hidden h-60 text-accent lg:block"
      aria-hidden="true"
    >
      {[190, 160, 130, 100, 70, 40].map((radius, index) => (
        <path
          key={radius}
          d={`M${200 - radius} 200a${radius} ${radius} 0 0 1 ${radius * 2} 0`}
          stroke="currentColor"
          strokeWidth={1 + index * 0.7}
          opacity={0.07 + index * 0.055}
          strokeLinecap="round"
        />
      ))}
      <circle cx="200" cy="196" r="5" fill="currentColor" opacity=".6" />
    </svg>
  )
}
