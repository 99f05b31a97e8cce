import type { BrowseAnswer } from '@arcus/protocol/answers/discovery'
import { type UseInfiniteQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type EndpointFilters, endpointsQuery, merchantQuery } from '../../api/queries.js'
import { Button, ButtonLink, TextLink } from '../../components/button.js'
import { Card, Empty, Failure } from '../../components/card.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { counted, exactCount } from '../../format/amounts.js'
import { mayBeMerchantId } from '../../format/search-target.js'
import { EndpointRow } from './endpoint-row.js'
import { FilterBar, isFiltered, useFilters, usualSort } from './filter-bar.js'

/** Lists all APIs, to browse and search. The address of the page holds every filter. */
export function Directory() {
  const { filters, setFilters } = useFilters()
  const sort = filters.sort ?? usualSort(filters)
  const query = useInfiniteQuery(
    endpointsQuery(sort === undefined ? filters : { ...filters, sort }),
  )
  return (
    <section aria-labelledby="directory">
      <h2 id="directory" className="text-xl font-semibold tracking-tight">
        Directory
      </h2>
      <p className="mt-1 text-sm text-muted">
        Paid APIs, listed by their sellers. Nobody reviews them.
      </p>
      <search className="top-14 z-10 -mx-4 block bg-paper/90 px-4 py-3 backdrop-blur-md sm:-mx-6 sm:px-6 lg:sticky">
        <FilterBar filters={filters} onChange={setFilters} />
      </search>
      <Loaded
        query={query}
        skeleton={
          <Card className="mt-7 overflow-hidden">
            <SkeletonRows count={6} label="Loading the directory" />
          </Card>
        }
      >
        {({ pages }) => (
          <Results pages={pages} query={query} filters={filters} setFilters={setFilters} />
        )}
      </Loaded>
    </section>
  )
}

/** Lists what was found so far, with a button for more. */
function Results({
  pages,
  query,
  filters,
  setFilters,
}: {
  pages: readonly BrowseAnswer[]
  query: Omit<UseInfiniteQueryResult, 'data'>
  filters: EndpointFilters
  setFilters: (filters: EndpointFilters) => void
}) {
  const items = pages.flatMap((page) => page.items)
  const total = pages[0]?.total ?? null
  const isPart = total === null && query.hasNextPage
  const count = counted(total ?? items.length, { one: '# API', other: '# APIs' }, exactCount)
  return (
    <>
      <MerchantOfId id={filters.query ?? ''} />
      <p role="status" className="min-h-7 px-1 pb-3 text-xs text-muted">
        {items.length > 0 &&
          `${isPart ? 'the best ' : ''}${count}${isFiltered(filters) ? ' found' : ''}`}
      </p>
      <Card
        className={`overflow-hidden transition-opacity ${query.isPlaceholderData ? 'opacity-60' : ''}`}
      >
        {items.length === 0 ? (
          <NoResults filters={filters} onClear={() => setFilters({})} />
        ) : (
          <ul className="divide-y divide-line">
            {items.map((item) => (
              <EndpointRow key={item.id} endpoint={item} />
            ))}
          </ul>
        )}
      </Card>
      {query.isFetchNextPageError && (
        <div className="mt-4">
          <Failure title="More could not be loaded" of={query.error} />
        </div>
      )}
      {query.hasNextPage && (
        <div className="mt-6 flex justify-center">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  )
}

/** Leads to the seller whose id was typed, if there is one. */
function MerchantOfId({ id }: { id: string }) {
  const { data } = useQuery({ ...merchantQuery(id), enabled: mayBeMerchantId(id), retry: false })
  if (data === undefined || data.id !== id) return null
  return (
    <p className="px-1 pb-2 text-sm">
      <TextLink href={`/merchants/${encodeURIComponent(data.id)}`}>
        The seller with the id “{data.id}”: <UntrustedText text={data.name} max={60} />
      </TextLink>
    </p>
  )
}

function NoResults({ filters, onClear }: { filters: EndpointFilters; onClear: () => void }) {
  if (filters.payTo !== undefined) {
    return (
      <Empty
        title="No API here is paid at this address"
        action={<Button onClick={onClear}>Show all APIs</Button>}
      >
        To find a payment, search for its transaction, or for its payer and nonce.
      </Empty>
    )
  }
  return isFiltered(filters) ? (
    <Empty title="Nothing matches" action={<Button onClick={onClear}>Clear all filters</Button>}>
      Try fewer words. The search covers titles, tags, sellers, descriptions and URLs.
    </Empty>
  ) : (
    <Empty
      title="Nothing is listed yet"
      action={
        <ButtonLink href="/console/new" variant="primary">
          Sell the first API
        </ButtonLink>
      }
    >
      Any HTTP API that asks for payment with x402 and takes a stablecoin on Arc can be listed with
      one signature.
    </Empty>
  )
}
