import { useInfiniteQuery } from '@tanstack/react-query'
import { endpointsQuery } from '../api/queries.js'
import { Button, ButtonLink } from '../components/button.js'
import { Card, Empty } from '../components/card.js'
import { Loaded } from '../components/loaded.js'
import { Notice } from '../components/notice.js'
import { useTitle } from '../components/page-title.js'
import { SkeletonRows } from '../components/skeleton.js'
import { StrangerText } from '../components/stranger-text.js'
import { EndpointRow } from '../directory/endpoint-row.js'
import { FilterBar } from '../directory/filter-bar.js'
import { isFiltered, useFilters } from '../directory/filters.js'
import { Hero } from '../directory/hero.js'
import { exactCount } from '../format/amounts.js'

/** Everything that is listed, to browse and search. The address holds every filter. */
export function Directory() {
  useTitle(undefined)
  const [filters, setFilters] = useFilters()
  const query = useInfiniteQuery(endpointsQuery(filters))
  const filtered = isFiltered(filters)

  return (
    <>
      <Hero />
      <search className="sticky top-14 z-10 -mx-4 bg-paper/90 px-4 py-3 backdrop-blur-md sm:-mx-6 sm:px-6">
        <FilterBar filters={filters} onChange={setFilters} />
      </search>
      <h2 className="sr-only">Endpoints</h2>
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
              <p role="status" className="px-1 pb-3 text-xs text-muted">
                {correctedQuery !== undefined && (
                  <>
                    Nothing matches as typed. Showing results for{' '}
                    <strong className="text-ink">
                      <StrangerText text={correctedQuery} max={200} />
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
                  <Nothing filtered={filtered} onClear={() => setFilters({})} />
                ) : (
                  <ul className="divide-y divide-line">
                    {items.map((item) => (
                      <EndpointRow
                        key={item.id}
                        endpoint={item}
                        onTag={(tag) => setFilters({ tag })}
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

function Nothing({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  return filtered ? (
    <Empty title="Nothing matches" action={<Button onClick={onClear}>Clear all filters</Button>}>
      Try fewer words or filters. Search looks at titles, tags, providers, descriptions and URLs.
    </Empty>
  ) : (
    <Empty
      title="Nothing is listed yet"
      action={
        <ButtonLink href="/console/new" look="primary">
          List the first API
        </ButtonLink>
      }
    >
      Any HTTP API that answers 402 and takes USDC on Arc can be listed, with one signature.
    </Empty>
  )
}
