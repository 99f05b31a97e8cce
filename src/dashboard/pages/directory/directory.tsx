import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type EndpointFilters, endpointsQuery, merchantQuery } from '../../api/queries.js'
import { Button, ButtonLink, TextLink } from '../../components/button.js'
import { Card, Empty } from '../../components/card.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { Notice } from '../../components/notice.js'
import { PageTitle } from '../../components/page.js'
import { OddParameters } from '../../components/search-state.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { exactCount } from '../../format/amounts.js'
import { mayBeMerchantId } from '../../format/search-target.js'
import { EndpointRow } from './endpoint-row.js'
import { FilterBar, isFiltered, useFilters } from './filter-bar.js'

/** Lists all endpoints, to browse and search. The address of the page holds every filter. */
export function Directory() {
  const { filters, odd, setFilters } = useFilters()
  const query = useInfiniteQuery(endpointsQuery(filters))
  const filtered = isFiltered(filters)

  return (
    <>
      <PageTitle title="Directory">
        Paid APIs by price, use and uptime. Their owners list them, and nobody reviews them.
      </PageTitle>
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
      <TextLink href={`/merchants/${encodeURIComponent(data.id)}`}>
        The merchant with the id “{data.id}”: <UntrustedText text={data.name} max={60} />
      </TextLink>
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
