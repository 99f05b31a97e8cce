import type { BrowseAnswer } from '@arcus/protocol/answers/discovery'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Suspense, useEffect } from 'react'
import { type EndpointFilters, endpointsQuery } from '../../api/queries.js'
import { Card } from '../../components/card.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { lazyPage } from '../../components/page.js'
import { counted, exactCount } from '../../format/amounts.js'
import { FilterBar, isFiltered, sortOf, useFilters } from './filter-bar.js'

/** Its code comes together with the first answer, so that the pages that have no directory do not load it. */
const loadResults = () => import('./results.js')
const Results = lazyPage(loadResults, 'Results')

/** Lists all APIs, to browse and search. The address of the page holds every filter, and the row that is open. */
export function Directory({ isPage }: { isPage: boolean }) {
  const { filters, setFilters } = useFilters()
  useEffect(() => void loadResults().catch(() => {}), [])
  const sort = sortOf(filters)
  const query = useInfiniteQuery(
    endpointsQuery(sort === undefined ? filters : { ...filters, sort }),
  )
  const Heading = isPage ? 'h1' : 'h2'
  return (
    <section aria-labelledby="directory" className="min-w-0">
      {/* On a phone the door needs its lines. */}
      <div
        className={`flex flex-wrap items-baseline justify-between gap-x-4 ${isPage ? '' : 'max-sm:sr-only'}`}
      >
        <Heading id="directory" className="text-xl font-semibold tracking-tight">
          Directory
        </Heading>
        <p className="text-xs text-muted max-sm:w-full">
          <span role="status">{found(query.data?.pages, filters)}</span>Nobody reviews them.
        </p>
      </div>
      <search className="top-14 z-10 -mx-4 block bg-paper/90 px-4 py-3 backdrop-blur-md sm:-mx-6 sm:px-6 lg:sticky">
        <FilterBar filters={filters} onChange={setFilters} />
      </search>
      <Loaded query={query} skeleton={<Waiting />}>
        {({ pages }) => (
          <Suspense fallback={<Waiting />}>
            <Results pages={pages} query={query} filters={filters} setFilters={setFilters} />
          </Suspense>
        )}
      </Loaded>
    </section>
  )
}

function Waiting() {
  return (
    <Card className="overflow-hidden pt-9">
      <SkeletonRows count={12} label="Loading the directory" isDense />
    </Card>
  )
}

/** Says how many APIs there are, or were found. */
function found(pages: readonly BrowseAnswer[] | undefined, filters: EndpointFilters) {
  const [first] = pages ?? []
  if (pages === undefined || first === undefined || first.items.length === 0) return null
  const shown = pages.reduce((sum, { items }) => sum + items.length, 0)
  const isPart = first.total === null && pages.at(-1)?.next !== null
  const count = counted(first.total ?? shown, { one: '# API', other: '# APIs' }, exactCount)
  return `${isPart ? 'The best ' : ''}${count}${isFiltered(filters) ? ' found' : ''}. `
}
