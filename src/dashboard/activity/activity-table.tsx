import { useQuery } from '@tanstack/react-query'
import { useTable } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import type { ActivityFilter, ActivityRow, TableFilter } from '../api/activity-types.js'
import { withQuery } from '../api/http.js'
import { activityTableQuery } from '../api/queries.js'
import { Button } from '../components/button.js'
import { Card, Empty } from '../components/card.js'
import { Icon } from '../components/icons.js'
import { Loaded } from '../components/loaded.js'
import { SkeletonRows } from '../components/skeleton.js'
import { activityColumns, type EndpointName, features } from './activity-columns.js'

interface TableProps {
  merchantId: string
  endpoints: readonly EndpointName[]
  filter: ActivityFilter
}

const noRows: ActivityRow[] = []
const kinds = ['settle', 'verify'] as const
const states = ['settled', 'refunded', 'failed', 'refused', 'pending', 'valid', 'invalid'] as const
const selectLook = 'h-8 rounded-lg border border-line-strong bg-raised px-2.5 pr-7 text-xs'

/** Every answer about the merchant's payments, newest first, a page at a time, and all of them as CSV. */
export function ActivityTable({ merchantId, endpoints, filter }: TableProps) {
  const [kind, setKind] = useState<TableFilter['kind']>()
  const [state, setState] = useState<TableFilter['state']>()
  const wanted: TableFilter = { ...filter, kind, state }
  // Pages hang together only under one filter.
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-3">
        <select
          aria-label="Kind"
          value={kind ?? ''}
          onChange={({ target }) => setKind((target.value || undefined) as TableFilter['kind'])}
          className={selectLook}
        >
          <option value="">Verifies and settles</option>
          {kinds.map((key) => (
            <option key={key} value={key}>
              {key}s only
            </option>
          ))}
        </select>
        <select
          aria-label="State"
          value={state ?? ''}
          onChange={({ target }) => setState((target.value || undefined) as TableFilter['state'])}
          className={selectLook}
        >
          <option value="">Any state</option>
          {states.map((key) => (
            <option key={key}>{key}</option>
          ))}
        </select>
        <a
          href={withQuery(`/api/merchants/${encodeURIComponent(merchantId)}/activity.csv`, {
            ...wanted,
          })}
          download
          className="ml-auto inline-flex h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium hover:bg-sunken"
        >
          <Icon name="down" size={12} />
          CSV
        </a>
      </div>
      <Pages key={JSON.stringify(wanted)} {...{ merchantId, endpoints }} filter={wanted} />
    </Card>
  )
}

function Pages({ merchantId, endpoints, filter }: TableProps & { filter: TableFilter }) {
  /** Where each page that was turned began; the first has no beginning. */
  const [turned, setTurned] = useState<number[]>([])
  const query = useQuery(activityTableQuery(merchantId, filter, turned.at(-1) ?? null))
  return (
    <Loaded query={query} skeleton={<SkeletonRows count={5} label="Loading the table" />}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Empty title="Nothing here yet">
            Verifies and settles for these endpoints appear here as they happen.
          </Empty>
        ) : (
          <>
            <Rows items={items} endpoints={endpoints} />
            <nav aria-label="Pages" className="flex items-center justify-between gap-3 px-4 py-3">
              <Button
                size="sm"
                disabled={turned.length === 0}
                onClick={() => setTurned(turned.slice(0, -1))}
              >
                Newer
              </Button>
              <span className="text-xs text-muted">Page {turned.length + 1}</span>
              <Button
                size="sm"
                disabled={next === null}
                onClick={() => next !== null && setTurned([...turned, next])}
              >
                Older
              </Button>
            </nav>
          </>
        )
      }
    </Loaded>
  )
}

function Rows({ items, endpoints }: { items: ActivityRow[]; endpoints: readonly EndpointName[] }) {
  const columns = useMemo(() => activityColumns(endpoints), [endpoints])
  const table = useTable({
    features,
    columns,
    data: items.length === 0 ? noRows : items,
    getRowId: ({ id }) => String(id),
  })
  return (
    // Reachable by keyboard, because it may have to be scrolled.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
    <section className="relative overflow-x-auto" tabIndex={0} aria-label="Payments">
      <table className="w-full text-left text-sm">
        <thead className="text-xs text-muted">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} className="border-b border-line">
              {group.headers.map((header) => (
                <th key={header.id} scope="col" className="px-4 py-2 font-medium whitespace-nowrap">
                  <table.FlexRender header={header} />
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody className="divide-y divide-line">
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id} className="hover:bg-sunken">
              {row.getAllCells().map((cell) => (
                <td key={cell.id} className="px-4 py-2.5 align-middle whitespace-nowrap">
                  <table.FlexRender cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
