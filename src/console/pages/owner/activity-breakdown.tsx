import type { ActivityBreakdown } from '@arcus/protocol/answers/activity'
import { useQuery } from '@tanstack/react-query'
import { breakdownQuery } from '../../api/activity-queries.js'
import { Empty } from '../../components/card.js'
import { Usd } from '../../components/figures.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { PointInTime } from '../../components/moment.js'
import { DataTable, type TableColumn } from '../../components/table.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { exactCount } from '../../format/amounts.js'
import { zoneName } from '../../format/moments.js'
import { Buyer } from '../payment/table/payment-cells.js'
import { Nothing } from '../payment/table/payments-table.js'
import type { Chosen, NamedEndpoint } from './activity-filter.js'

/** Shows the range by API, or the buyers who paid most. */
export function Breakdown({
  merchantId,
  endpoints,
  chosen: { filter, view, choose },
}: {
  merchantId: string
  endpoints: readonly NamedEndpoint[]
  chosen: Chosen
}) {
  const query = useQuery(breakdownQuery(merchantId, filter))
  const show = (endpoint: number) => choose({ endpoint: String(endpoint), view: '' })
  return (
    <Loaded query={query} skeleton={<SkeletonRows count={5} label="Loading the figures" />}>
      {(answer) =>
        view === 'apis' ? (
          <DataTable
            label="By API"
            columns={columnsFor(show)}
            rows={rowsOf(answer, endpoints, filter.endpoint)}
            keyOf={({ endpointId }) => endpointId ?? 0}
          />
        ) : answer.topPayers.length === 0 ? (
          <Empty title="Nobody paid in this period">Buyers appear here with their payments.</Empty>
        ) : (
          <DataTable
            label="Top buyers"
            columns={payerColumns}
            rows={answer.topPayers}
            keyOf={({ payer }) => payer}
          />
        )
      }
    </Loaded>
  )
}

type BreakdownRow = Omit<ActivityBreakdown['endpoints'][number], 'payers' | 'successRate'> & {
  listed: NamedEndpoint | undefined
}

/** Returns the endpoints with payments, and after them those that are listed and have none. */
function rowsOf(
  { endpoints }: ActivityBreakdown,
  listed: readonly NamedEndpoint[],
  chosen: number | undefined,
): BreakdownRow[] {
  const byId = new Map(listed.map((endpoint) => [endpoint.id, endpoint]))
  const paid = endpoints.map((row) => ({ ...row, listed: byId.get(row.endpointId ?? 0) }))
  const known = new Set(paid.map(({ endpointId }) => endpointId))
  const rest = listed
    .filter(({ id }) => !known.has(id) && (chosen === undefined || id === chosen))
    .map((endpoint) => ({
      endpointId: endpoint.id,
      listed: endpoint,
      lastPaid: null,
      settled: 0,
      failed: 0,
      verifies: 0,
      revenue: { amount: '0', usd: '0' },
    }))
  return [...paid, ...rest]
}

function columnsFor(show: (endpointId: number) => void): TableColumn<BreakdownRow>[] {
  return [
    {
      name: 'API',
      cell: ({ endpointId, listed }) =>
        listed === undefined ? (
          <span className="text-muted">
            {endpointId === null ? 'No listed API' : 'No longer listed'}
          </span>
        ) : (
          <button
            type="button"
            onClick={() => show(listed.id)}
            title="Show only this API"
            className="block max-w-56 truncate text-left font-medium hover:text-accent"
          >
            <UntrustedText text={listed.title} max={60} />
          </button>
        ),
    },
    { name: 'Revenue', cell: ({ revenue }) => <Usd usd={revenue.usd} /> },
    { name: 'Payments', cell: ({ settled }) => <Count of={settled} /> },
    { name: 'Failed', cell: ({ failed }) => <Count of={failed} /> },
    { name: 'Verifications', cell: ({ verifies }) => <Count of={verifies} /> },
    {
      name: `Last paid, ${zoneName()}`,
      cell: ({ lastPaid, listed }) => {
        // Figures of the listing are older, and go further back.
        const at = Math.max(lastPaid ?? 0, listed?.lastPaid ?? 0)
        return at === 0 ? <Nothing /> : <PointInTime at={at * 1000} />
      },
    },
  ]
}

const payerColumns: TableColumn<ActivityBreakdown['topPayers'][number]>[] = [
  { name: 'Buyer', cell: ({ payer }) => <Buyer address={payer} /> },
  { name: 'Paid', cell: ({ usd }) => <Usd usd={usd} /> },
  { name: 'Payments', cell: ({ count }) => <Count of={count} /> },
]

function Count({ of }: { of: number }) {
  return <span className="tabular">{exactCount(of)}</span>
}
