import type { EndpointCard } from '@arcus/protocol/answers/discovery'
import type { Delivery } from '@arcus/protocol/answers/paid-checks'
import { type ReactNode, Suspense } from 'react'
import { HealthDot, WarningBadges } from '../../components/badge.js'
import { Price } from '../../components/figures.js'
import { Glyph } from '../../components/icons.js'
import { Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { lazyPage } from '../../components/page.js'
import { Sparkline } from '../../components/sparkline.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { counted, exactCount, percent, shortCount } from '../../format/amounts.js'

const OpenEndpoint = lazyPage(() => import('./open-endpoint.js'), 'OpenEndpoint')

interface EndpointColumn {
  /** The order of the list that the head of the column chooses. */
  sort: 'price' | 'delivered' | 'payments' | 'success' | 'lastPaid'
  name: string
  about: string
  /** Classes that give it its width, and take it away on narrow screens. */
  place: string
  cell: (endpoint: EndpointCard) => ReactNode
}

/** The figures of a row, beside its title and state. */
export const endpointColumns: readonly EndpointColumn[] = [
  {
    sort: 'price',
    name: 'Price',
    about: 'Lowest price first',
    place: 'w-28 md:w-24',
    // Another price than the listed one is the state of the row.
    cell: ({ livePrice, usage, ...endpoint }) => (
      <>
        <Price {...endpoint} price={livePrice ?? endpoint.price} />
        {usage !== null && (
          <span className="block text-xs font-normal text-muted md:hidden">
            {counted(usage.calls['30d'], { one: 'paid once', other: 'paid # times' })}
          </span>
        )}
      </>
    ),
  },
  {
    sort: 'delivered',
    name: 'Delivered',
    about: 'Purchases by Arcus that brought what was promised, of the last ten',
    place: 'max-md:hidden w-24',
    cell: ({ delivery }) => (delivery === null ? undefined : deliveredOf(delivery)),
  },
  {
    sort: 'payments',
    name: 'Payments',
    about: 'Payments in 30 days, day by day',
    place: 'max-md:hidden w-24 lg:w-36',
    cell: ({ usage }) =>
      usage && (
        <span className="flex items-center justify-end">
          <span className="max-lg:hidden">
            {usage.daily !== undefined && <Sparkline values={usage.daily} />}
          </span>
          <span className="w-13" title={`${exactCount(usage.calls['30d'])} in 30 days`}>
            {shortCount(usage.calls['30d'])}
          </span>
        </span>
      ),
  },
  {
    sort: 'success',
    name: 'Success',
    about: 'Share of the payments in 30 days that settled once they were sent',
    place: 'max-lg:hidden w-20',
    cell: ({ usage }) => usage?.successRate != null && percent(usage.successRate),
  },
  {
    sort: 'lastPaid',
    name: 'Last paid',
    about: 'Paid most recently first',
    place: 'max-md:hidden w-30',
    cell: ({ usage }) => usage && <Moment at={usage.lastPaid * 1_000} />,
  },
]

function deliveredOf({ share, checks }: Delivery): string {
  return checks === undefined ? percent(share) : `${Math.round(share * checks)} of ${checks}`
}

/** Shows one API with what is known of it: its state, price, purchases and payments. It opens into its description. */
export function EndpointRow({
  endpoint,
  isOpen,
  onToggle,
}: {
  endpoint: EndpointCard
  isOpen: boolean
  onToggle: () => void
}) {
  const { id, merchant, title } = endpoint
  return (
    <>
      {/* The keyboard has the button in the row. */}
      <tr
        onClick={onToggle}
        className={`h-14 cursor-pointer border-t border-line transition-colors hover:bg-sunken/60 ${isOpen ? 'bg-sunken/60' : ''}`}
      >
        <th scope="row" className="py-1 pl-4 text-left font-normal sm:pl-5">
          <span className="flex min-w-0 items-center gap-3">
            <Glyph of={merchant.id} size={32} />
            <span className="min-w-0 flex-1">
              <button
                type="button"
                aria-expanded={isOpen}
                aria-controls={`api-${id}`}
                className="block max-w-full truncate text-left font-medium"
              >
                <UntrustedText text={title} />
              </button>
              <span className="flex min-w-0 items-center gap-2 text-xs text-muted">
                <HealthDot api={endpoint} />
                <span className="min-w-0 truncate">
                  by <UntrustedText text={merchant.name} max={60} />
                </span>
                {/* The opened row explains them. */}
                <WarningBadges warnings={merchant.warnings.map(({ code }) => ({ code }))} />
              </span>
            </span>
          </span>
        </th>
        {endpointColumns.map(({ sort, place, cell }) => (
          <td
            key={sort}
            className={`px-2 text-right text-sm whitespace-nowrap tabular last:pr-4 sm:last:pr-5 max-md:pr-4 ${sort === 'price' ? 'font-medium' : 'text-muted'} ${place}`}
          >
            {cell(endpoint) || <span className="text-faint">–</span>}
          </td>
        ))}
      </tr>
      {isOpen && (
        <tr id={`api-${id}`} className="bg-sunken/60">
          <td colSpan={endpointColumns.length + 1} className="px-4 pt-1 pb-5 sm:px-5 sm:pl-16">
            <Suspense fallback={<Skeleton className="h-52 w-full sm:h-40" />}>
              <OpenEndpoint endpoint={endpoint} />
            </Suspense>
          </td>
        </tr>
      )}
    </>
  )
}
