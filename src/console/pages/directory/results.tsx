import type { BrowseAnswer, EndpointCard } from '@arcus/protocol/answers/discovery'
import { type UseInfiniteQueryResult, useQuery } from '@tanstack/react-query'
import { type EndpointFilters, merchantQuery } from '../../api/queries.js'
import { Button, ButtonLink, TextLink } from '../../components/button.js'
import { Card, Empty, Failure } from '../../components/card.js'
import { type SearchSchema, useSearchState } from '../../components/search-state.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { mayBeMerchantId } from '../../format/search-target.js'
import { EndpointRow, endpointColumns } from './endpoint-row.js'
import { isFiltered, type SortChoice, sortOf } from './filter-bar.js'

/** Lists what was found so far, with a button for more. */
export function Results({
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
  return (
    <>
      <MerchantOfId id={filters.query ?? ''} />
      <Card
        className={`overflow-hidden transition-opacity ${query.isPlaceholderData ? 'opacity-60' : ''}`}
      >
        {items.length === 0 ? (
          <NoResults filters={filters} onClear={() => setFilters({})} />
        ) : (
          <EndpointTable
            items={items}
            sort={sortOf(filters)}
            onSort={(sort) => setFilters({ ...filters, sort })}
          />
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

const openSchema: SearchSchema<'open'> = { open: (id) => /^\d{1,15}$/.test(id) }

/** Shows APIs as rows, one of which may be open. The head of a column orders the list. */
function EndpointTable({
  items,
  sort,
  onSort,
}: {
  items: readonly EndpointCard[]
  sort: string | undefined
  onSort: (sort: SortChoice) => void
}) {
  const { values, set } = useSearchState(openSchema)
  const open = Number(values.open)
  const toggle = (id: number) => set({ open: id === open ? undefined : String(id) })
  return (
    <table className="w-full table-fixed" aria-labelledby="directory">
      <colgroup>
        <col />
        {endpointColumns.map(({ sort, place }) => (
          <col key={sort} className={place} />
        ))}
      </colgroup>
      <thead className="text-xs text-muted max-md:hidden">
        <tr className="h-9">
          <SortHead name="API" about="By title" sort="title" now={sort} onSort={onSort} />
          {endpointColumns.map((column) => (
            <SortHead key={column.sort} {...column} now={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <EndpointRow
            key={item.id}
            endpoint={item}
            isOpen={item.id === open}
            onToggle={() => toggle(item.id)}
          />
        ))}
      </tbody>
    </table>
  )
}

/** Orders that begin with the least; the others begin with the most. */
const rising: readonly SortChoice[] = ['title', 'price']

function SortHead({
  name,
  about,
  sort,
  place = '',
  now,
  onSort,
}: {
  name: string
  about: string
  sort: SortChoice
  place?: string
  now: string | undefined
  onSort: (sort: SortChoice) => void
}) {
  const isNow = now === sort
  const direction = rising.includes(sort) ? 'ascending' : 'descending'
  const isFirst = place === ''
  return (
    <th
      scope="col"
      aria-sort={isNow ? direction : undefined}
      className={`px-2 font-medium ${isFirst ? 'text-left sm:pl-5' : 'text-right last:pr-5'} ${place}`}
    >
      <button
        type="button"
        title={about}
        onClick={() => onSort(sort)}
        className={`h-7 hover:text-ink ${isNow ? 'text-ink' : ''}`}
      >
        {name}
        {isNow && <span aria-hidden="true"> {direction === 'ascending' ? '↑' : '↓'}</span>}
      </button>
    </th>
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
        <TextLink href={`/buyers/${filters.payTo}`}>See what this address paid</TextLink>, or search
        for a payment by its transaction, or by its payer and nonce.
      </Empty>
    )
  }
  return isFiltered(filters) ? (
    <Empty title="Nothing matches" action={<Button onClick={onClear}>Clear all filters</Button>}>
      Try fewer words. The search covers titles, tags, sellers, descriptions and URLs.
    </Empty>
  ) : (
    <NothingListed />
  )
}

/** Offers what can be done where nobody has listed anything yet. */
function NothingListed() {
  return (
    <Empty
      title="Nothing is listed yet"
      action={
        <span className="flex flex-wrap justify-center gap-3">
          <ButtonLink href="/console/new">Sell the first API</ButtonLink>
          <ButtonLink href="/quickstart?part=sell" variant="quiet">
            Make an API that charges
          </ButtonLink>
          <ButtonLink href="/quickstart?part=buy" variant="quiet">
            Pay any x402 API
          </ButtonLink>
        </span>
      }
    >
      Any HTTP API that asks for payment with x402 and takes a stablecoin on Arc can be listed with
      one signature. Payments for it settle here before it is listed, too.
    </Empty>
  )
}
