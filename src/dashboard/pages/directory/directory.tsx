import { type UseInfiniteQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { BrowseAnswer } from '../../../api/discovery.js'
import { type EndpointFilters, endpointsQuery, merchantQuery } from '../../api/queries.js'
import { Button, ButtonLink, TextLink } from '../../components/button.js'
import { Card, Empty, Failure } from '../../components/card.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { PageTitle } from '../../components/page.js'
import { OddParameters } from '../../components/search-state.js'
import { Sentence } from '../../components/sentence.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { mayBeMerchantId } from '../../format/search-target.js'
import { EndpointRow } from './endpoint-row.js'
import { FilterBar, isFiltered, useFilters, usualSort } from './filter-bar.js'
import { words } from './words.js'

/** Lists all endpoints, to browse and search. The address of the page holds every filter. */
export function DirectoryPage() {
  const { filters, odd, setFilters } = useFilters()
  const sort = filters.sort ?? usualSort(filters)
  const query = useInfiniteQuery(
    endpointsQuery(sort === undefined ? filters : { ...filters, sort }),
  )

  return (
    <>
      <PageTitle title={words.title}>{words.lead}</PageTitle>
      <search className="top-14 z-10 sm:sticky -mx-4 bg-paper/90 px-4 py-3 backdrop-blur-md sm:-mx-6 sm:px-6">
        <FilterBar filters={filters} onChange={setFilters} />
      </search>
      <h2 className="sr-only">{words.endpoints}</h2>
      <OddParameters odd={odd} />
      <Loaded
        query={query}
        skeleton={
          <Card className="overflow-hidden">
            <SkeletonRows count={6} label={words.loading} />
          </Card>
        }
      >
        {({ pages }) => <Results {...{ pages, query, filters, setFilters }} />}
      </Loaded>
    </>
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
  const counted = total ?? items.length
  return (
    <>
      <MerchantOfId id={filters.query ?? ''} />
      <p role="status" className="px-1 pb-3 text-xs text-muted">
        {items.length > 0 &&
          (total === null && query.hasNextPage
            ? words.best(counted)
            : words[isFiltered(filters) ? 'found' : 'all'](counted))}
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
          <Failure title={words.moreFailed} of={query.error} />
        </div>
      )}
      {query.hasNextPage && (
        <div className="mt-6 flex justify-center">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {words.more}
          </Button>
        </div>
      )}
    </>
  )
}

/** Leads to the merchant whose id was typed, if there is one. */
function MerchantOfId({ id }: { id: string }) {
  const { data } = useQuery({
    ...merchantQuery(id),
    enabled: mayBeMerchantId(id),
    retry: false,
  })
  if (data === undefined || data.id !== id) return null
  return (
    <p className="px-1 pb-2 text-sm">
      <TextLink href={`/merchants/${encodeURIComponent(data.id)}`}>
        <Sentence
          text={words.merchantOfId}
          parts={{ id: data.id, name: <UntrustedText text={data.name} max={60} /> }}
        />
      </TextLink>
    </p>
  )
}

function NoResults({ filters, onClear }: { filters: EndpointFilters; onClear: () => void }) {
  if (filters.payTo !== undefined) {
    return (
      <Empty
        title={words.nothingPaid}
        action={
          <ButtonLink href={`/payments?payer=${encodeURIComponent(filters.payTo)}`}>
            {words.findPayment}
          </ButtonLink>
        }
      >
        {words.nothingPaidText}
      </Empty>
    )
  }
  return isFiltered(filters) ? (
    <Empty title={words.nothingFound} action={<Button onClick={onClear}>{words.clear}</Button>}>
      {words.nothingFoundText}
    </Empty>
  ) : (
    <Empty
      title={words.nothingListed}
      action={
        <ButtonLink href="/console/new" variant="primary">
          {words.listFirst}
        </ButtonLink>
      }
    >
      {words.nothingListedText}
    </Empty>
  )
}
