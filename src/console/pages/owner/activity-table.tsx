import { withQuery } from '@arcus/client/calls'
import type { ActivityRow } from '@arcus/protocol/answers/activity'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { activityTableQuery } from '../../api/activity-queries.js'
import { Dot, type Tone } from '../../components/badge.js'
import { Button } from '../../components/button.js'
import { Empty } from '../../components/card.js'
import { Money } from '../../components/figures.js'
import { Icon } from '../../components/icons.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { PointInTime } from '../../components/moment.js'
import { Select } from '../../components/select.js'
import { DataTable, type TableColumn } from '../../components/table.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { failureText } from '../../format/failures.js'
import { zoneName } from '../../format/moments.js'
import { type Chosen, MAX_PAGES, type NamedEndpoint, shows } from './activity-filter.js'

const states: Record<ActivityRow['state'], [Tone, string]> = {
  settled: ['ok', 'Settled'],
  free: ['plain', 'Free'],
  refunded: ['plain', 'Refunded'],
  failed: ['bad', 'Failed'],
  refused: ['plain', 'Refused'],
  pending: ['warn', 'Pending'],
  valid: ['ok', 'Valid'],
  invalid: ['bad', 'Not valid'],
}

const showOptions = shows.map(([key, name]) => [key, name] as const)

/** Chooses the rows of the table, and links to all of them as CSV. */
export function TableControls({
  merchantId,
  chosen: { show, table, choose },
}: {
  merchantId: string
  chosen: Chosen
}) {
  const csv = `/api/merchants/${encodeURIComponent(merchantId)}/activity.csv`
  return (
    <>
      <Select
        variant="small"
        aria-label="Show"
        value={show}
        options={showOptions}
        onChange={(next) => choose({ show: next })}
      />
      <a
        href={withQuery(csv, { ...table })}
        download
        className="inline-flex h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium hover:bg-sunken"
      >
        <Icon name="down" size={12} />
        CSV
      </a>
    </>
  )
}

/** Lists payments or verifications, newest first. Each row leads to the page of its payment. */
export function ActivityTable({
  merchantId,
  endpoints,
  chosen: { table, turned, choose },
}: {
  merchantId: string
  endpoints: readonly NamedEndpoint[]
  chosen: Chosen
}) {
  const query = useQuery(activityTableQuery(merchantId, table, turned.at(-1) ?? null))
  const [, go] = useLocation()
  const open = (row: ActivityRow) => {
    const page = pageOf(row)
    if (page !== undefined) go(page)
  }
  const turn = (pages: readonly number[]) => choose({ page: pages.join('.') })
  return (
    <Loaded query={query} skeleton={<SkeletonRows count={5} label="Loading the table" />}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Empty title="Nothing to show yet">
            Nothing fits this period and this choice. New payments appear here as they happen.
          </Empty>
        ) : (
          <>
            <DataTable
              label={table.kind === 'verify' ? 'Verifications' : 'Payments'}
              columns={columnsFor(endpoints)}
              rows={items}
              keyOf={({ id }) => id}
              onOpen={open}
            />
            <nav aria-label="Pages" className="flex items-center justify-between gap-3 px-4 py-3">
              <Button
                size="sm"
                why={turned.length === 0 ? 'This is the newest page.' : undefined}
                onClick={() => turn(turned.slice(0, -1))}
              >
                Newer
              </Button>
              <span className="text-xs text-muted">Page {turned.length + 1}</span>
              <Button
                size="sm"
                why={whyNoOlder(next, turned)}
                onClick={() => next !== null && turn([...turned, next])}
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

function whyNoOlder(next: number | null, turned: readonly number[]): string | undefined {
  if (next === null) return 'This is the oldest page.'
  return turned.length < MAX_PAGES ? undefined : 'Choose another period for older ones.'
}

/** Returns the address of the page of a payment. Of a network that is not served here the caller names any text. */
function pageOf({ network, payer, nonce, asset }: ActivityRow): string | undefined {
  if (nonce === null) return undefined
  const place = encodeURIComponent(network).replaceAll('%3A', ':')
  return `/payments/${place}/${payer}/${nonce}${asset === null ? '' : `?asset=${asset}`}`
}

/** The amount comes before the rest, so that a phone shows it without scrolling. */
function columnsFor(endpoints: readonly NamedEndpoint[]): TableColumn<ActivityRow>[] {
  const titles = new Map(endpoints.map(({ id, title }) => [id, title]))
  return [
    {
      name: `Time, ${zoneName()}`,
      cell: (row) => {
        const page = pageOf(row)
        const time = <PointInTime at={row.at} />
        if (page === undefined) return time
        return (
          <Link href={page} className="font-medium hover:text-accent">
            {time}
          </Link>
        )
      },
    },
    {
      name: 'Amount',
      cell: (row) => (
        <>
          <Money {...row} />
          {row.refunded !== null && (
            <span className="block text-xs text-muted">
              <Money {...row} amount={row.refunded} /> returned
            </span>
          )}
        </>
      ),
    },
    {
      name: 'State',
      cell: ({ state, reason }) => (
        <>
          <Dot tone={states[state][0]}>{states[state][1]}</Dot>
          {reason !== null && (
            <span
              className="block w-32 text-xs sm:w-44 xl:w-60 text-pretty whitespace-normal text-muted"
              title={reason}
            >
              {failureText(reason)}
            </span>
          )}
        </>
      ),
    },
    {
      name: 'API',
      cell: ({ endpointId, resource, toolName }) => {
        const text =
          (endpointId === null ? undefined : titles.get(endpointId)) ?? toolName ?? resource
        const whole = [resource, toolName].filter((it) => it !== null).join(' ')
        return text === null ? (
          <Nothing />
        ) : (
          <span className="block max-w-40 truncate" title={whole}>
            <UntrustedText text={text} max={60} />
          </span>
        )
      },
    },
    {
      name: 'Buyer',
      cell: ({ payer, isSelf }) => (
        <span className="inline-flex items-center gap-1.5">
          <Hex hex={payer} kind="address" />
          {isSelf && <span className="text-2xs text-faint">yourself</span>}
        </span>
      ),
    },
    {
      name: 'Transaction',
      cell: ({ transaction }) =>
        transaction === null ? <Nothing /> : <Hex hex={transaction} kind="tx" />,
    },
  ]
}

export function Nothing() {
  return <span className="text-faint">–</span>
}
