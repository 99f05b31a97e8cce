import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { ActivityBreakdown } from '../../../api/activity.js'
import { type ActivityFilter, breakdownQuery } from '../../api/queries.js'
import { Button } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { Usd } from '../../components/figures.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { type Column, DataTable } from '../../components/table.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { exactCount, percent } from '../../format/amounts.js'
import type { EndpointName } from './activity-table.js'
import { words as all } from './words.js'

const words = all.breakdown

interface BreakdownProps {
  merchantId: string
  endpoints: readonly EndpointName[]
  filter: ActivityFilter
  onChoose: (endpointId: number) => void
}

/** Shows the range by endpoint, and the payers who paid most. */
export function Breakdown({ merchantId, endpoints, filter, onChoose }: BreakdownProps) {
  const query = useQuery(breakdownQuery(merchantId, filter))
  return (
    <div className="grid gap-4 lg:grid-cols-3">
      {filter.endpoint === undefined && (
        <Card className="min-w-0 overflow-hidden lg:col-span-2">
          <h3 className="px-5 pt-5 pb-2 text-sm font-semibold">{words.endpoints}</h3>
          <Loaded
            query={query}
            skeleton={<SkeletonRows count={4} label={words.loadingEndpoints} />}
          >
            {(answer) => (
              <ByEndpoint
                rows={rowsOf(answer, endpoints)}
                columns={endpointColumns(merchantId, onChoose)}
              />
            )}
          </Loaded>
        </Card>
      )}
      <Card className="min-w-0 overflow-hidden">
        <h3 className="px-5 pt-5 pb-2 text-sm font-semibold">{words.payers}</h3>
        <Loaded query={query} skeleton={<SkeletonRows count={4} label={words.loadingPayers} />}>
          {({ topPayers }) =>
            topPayers.length === 0 ? (
              <p className="px-5 pb-5 text-sm text-muted">{words.nobody}</p>
            ) : (
              <DataTable
                label={words.payers}
                columns={payerColumns}
                rows={topPayers}
                keyOf={({ payer }) => payer}
              />
            )
          }
        </Loaded>
      </Card>
    </div>
  )
}

type EndpointRow = Omit<ActivityBreakdown['endpoints'][number], 'failed'> & {
  listed: EndpointName | undefined
}

/** Returns the endpoints with payments, and after them those that are listed and have none. */
function rowsOf({ endpoints }: ActivityBreakdown, listed: readonly EndpointName[]): EndpointRow[] {
  const byId = new Map(listed.map((endpoint) => [endpoint.id, endpoint]))
  const paid = endpoints.map((row) => ({ ...row, listed: byId.get(row.endpointId ?? 0) }))
  const known = new Set(paid.map(({ endpointId }) => endpointId))
  const rest = listed
    .filter(({ id }) => !known.has(id))
    .map((endpoint) => ({
      ...{ endpointId: endpoint.id, listed: endpoint },
      ...{ settled: 0, payers: 0, successRate: null, revenue: { amount: '0', usd: '0' } },
    }))
  return [...paid, ...rest]
}

const SHOWN = 10

function ByEndpoint({
  rows,
  columns,
}: {
  rows: readonly EndpointRow[]
  columns: readonly Column<EndpointRow>[]
}) {
  const [isWhole, setIsWhole] = useState(false)
  return (
    <>
      <DataTable
        label={words.endpoints}
        columns={columns}
        rows={isWhole ? rows : rows.slice(0, SHOWN)}
        keyOf={({ endpointId }) => endpointId ?? 0}
      />
      {rows.length > SHOWN && !isWhole && (
        <div className="px-4 py-3">
          <Button size="sm" onClick={() => setIsWhole(true)}>
            {words.showAll(rows.length)}
          </Button>
        </div>
      )}
    </>
  )
}

function endpointColumns(
  merchantId: string,
  onChoose: (endpointId: number) => void,
): Column<EndpointRow>[] {
  return [
    {
      name: words.endpoint,
      cell: ({ endpointId, listed }) =>
        listed === undefined ? (
          <span className="text-muted">
            {endpointId === null ? words.notListed : words.noLongerListed}
          </span>
        ) : (
          <button
            type="button"
            onClick={() => onChoose(listed.id)}
            title={words.showOnly}
            className="block max-w-48 truncate text-left font-medium hover:text-accent"
          >
            <UntrustedText text={listed.title} max={60} />
          </button>
        ),
    },
    { name: words.revenue, cell: ({ revenue }) => <Usd usd={revenue.usd} /> },
    { name: words.payments, cell: ({ settled }) => <Count of={settled} /> },
    { name: words.payersCount, cell: ({ payers }) => <Count of={payers} /> },
    {
      name: words.success,
      cell: ({ successRate }) => <span className="tabular">{percent(successRate)}</span>,
    },
    {
      name: words.lastPaid,
      cell: ({ listed }) =>
        listed?.lastPaid == null ? (
          <span className="text-faint">–</span>
        ) : (
          <Moment at={listed.lastPaid * 1000} />
        ),
    },
    {
      name: words.history,
      cell: ({ listed }) =>
        listed !== undefined && (
          <Link
            href={`/merchants/${encodeURIComponent(merchantId)}#endpoint-${listed.id}`}
            className="text-accent hover:underline"
          >
            {words.healthAndPrices}
          </Link>
        ),
    },
  ]
}

const payerColumns: Column<ActivityBreakdown['topPayers'][number]>[] = [
  { name: words.payer, cell: ({ payer }) => <Hex hex={payer} kind="address" /> },
  { name: words.paid, cell: ({ usd }) => <Usd usd={usd} /> },
  { name: words.payments, cell: ({ count }) => <Count of={count} /> },
  { name: words.share, cell: ({ share }) => <span className="tabular">{percent(share)}</span> },
]

function Count({ of }: { of: number }) {
  return <span className="tabular">{exactCount(of)}</span>
}
