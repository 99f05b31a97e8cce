import { lazy, Suspense } from 'react'
import { Button } from '../../../components/button.js'
import { Empty } from '../../../components/card.js'
import { PointInTime } from '../../../components/moment.js'
import { DataTable, type TableColumn } from '../../../components/table.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { zoneName } from '../../../format/moments.js'
import { Buyer, Paid, PaymentState, Seller } from './payment-cells.js'
import { MAX_PAGES } from './payment-filter.js'
import type { PaymentRow } from './payment-row.js'

const PaymentPanel = lazy(() =>
  import('./payment-panel.js').then((it) => ({ default: it.PaymentPanel })),
)

interface PaymentsTableProps {
  label?: string
  rows: readonly PaymentRow[]
  /** The beginning of the next page; `null` at the end. */
  next: string | null
  /** The beginnings of the pages that were turned to, after the first one. */
  turned: readonly string[]
  onTurn: (turned: string) => void
  /** The number of the row in the panel. */
  open: string | undefined
  onShow: (open: string) => void
  /** Named where every row has the same side. */
  hides?: 'seller' | 'buyer'
}

/** The one list of payments, newest first. A row opens beside it, whatever became of the payment. */
export function PaymentsTable(props: PaymentsTableProps) {
  const { rows, next, turned, onTurn, open, onShow, label = 'Payments' } = props
  const index = rows.findIndex(({ id }) => String(id) === open)
  const shown = rows[index]
  const show = ({ id }: PaymentRow) => onShow(String(id))
  const move = (by: number) => {
    const other = rows[index + by]
    if (other !== undefined) show(other)
  }
  const isAlone = next === null && turned.length === 0
  return (
    <>
      {rows.length === 0 ? (
        <Empty title="Nothing to show yet">
          {next === null
            ? 'Nothing fits this period and this choice. New payments appear here as they happen.'
            : 'None of the newest payments fits this choice. Older ones may.'}
        </Empty>
      ) : (
        <DataTable
          label={label}
          columns={columnsFor(props, show)}
          rows={rows}
          keyOf={({ id }) => id}
          onOpen={show}
          shown={shown?.id}
        />
      )}
      {!isAlone && (
        <nav aria-label="Pages" className="flex items-center justify-between gap-3 px-4 py-3">
          <Button
            size="sm"
            why={turned.length === 0 ? 'This is the newest page.' : undefined}
            onClick={() => onTurn(turned.slice(0, -1).join('_'))}
          >
            Newer
          </Button>
          <span className="text-xs text-muted">Page {turned.length + 1}</span>
          <Button
            size="sm"
            why={whyNoOlder(next, turned)}
            onClick={() => next !== null && onTurn([...turned, next].join('_'))}
          >
            Older
          </Button>
        </nav>
      )}
      <Suspense>
        {shown !== undefined && (
          <PaymentPanel row={shown} onClose={() => onShow('')} onMove={move} />
        )}
      </Suspense>
    </>
  )
}

function whyNoOlder(next: string | null, turned: readonly string[]): string | undefined {
  if (next === null) return 'This is the oldest page.'
  return turned.length < MAX_PAGES ? undefined : 'Choose another period for older ones.'
}

/** The amount comes before the rest, so that a phone shows it without scrolling. */
function columnsFor(
  { rows, hides }: PaymentsTableProps,
  show: (row: PaymentRow) => void,
): TableColumn<PaymentRow>[] {
  const isOfOwner = rows.some(({ api }) => api !== undefined)
  const time: TableColumn<PaymentRow> = {
    name: `Time, ${zoneName()}`,
    cell: (row) => (
      <button
        type="button"
        onClick={() => show(row)}
        className="text-left font-medium tabular hover:text-accent"
      >
        <PointInTime at={row.at} />
      </button>
    ),
  }
  const amount: TableColumn<PaymentRow> = { name: 'Amount', cell: (row) => <Paid {...row} /> }
  const state: TableColumn<PaymentRow> = {
    name: 'State',
    cell: (row) => (
      <>
        <PaymentState {...row} />
        {row.why !== null && (
          <span
            className="block w-32 text-xs text-pretty whitespace-normal text-muted sm:w-44 xl:w-60"
            title={row.reason ?? undefined}
          >
            {row.why}
          </span>
        )}
      </>
    ),
  }
  const api: TableColumn<PaymentRow> = {
    name: 'API',
    cell: ({ api }) =>
      api ? (
        <span className="block max-w-40 truncate" title={api.whole}>
          <UntrustedText text={api.name} max={60} />
        </span>
      ) : (
        <Nothing />
      ),
  }
  const isBack = ({ state }: PaymentRow) => state === 'refunded'
  const buyer: TableColumn<PaymentRow> = {
    name: 'Buyer',
    cell: (row) => <Buyer address={isBack(row) ? row.payTo : row.payer} />,
  }
  const seller: TableColumn<PaymentRow> = {
    name: 'Seller',
    cell: (row) => (
      <span className="block max-w-48 truncate">
        <Seller merchant={row.merchant} address={isBack(row) ? row.payer : row.payTo} />
      </span>
    ),
  }
  return [
    time,
    amount,
    state,
    ...(isOfOwner ? [api] : []),
    ...(isOfOwner || hides === 'seller' ? [] : [seller]),
    ...(hides === 'buyer' ? [] : [buyer]),
  ]
}

export function Nothing() {
  return <span className="text-faint">–</span>
}
