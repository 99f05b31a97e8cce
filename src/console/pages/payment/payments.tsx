import type { ExploreAnswer, Settlement } from '@arcus/protocol/answers/activity'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { Link } from 'wouter'
import { exploreQuery } from '../../api/queries.js'
import { useStream } from '../../api/use-stream.js'
import { Dot } from '../../components/badge.js'
import { type Bar, Bars } from '../../components/bars.js'
import { Card } from '../../components/card.js'
import { Latency, Stat } from '../../components/facts.js'
import { Money, Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { PayCommand } from '../../components/pay-command.js'
import { SearchBox } from '../../components/search-box.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { counted, exactCount, exactUsdc, percent, shortCount } from '../../format/amounts.js'
import { dayInUtc } from '../../format/moments.js'

/** Shows the payments here: the figures of 30 days, the newest as they settle, and the way to each. */
export function PaymentsPage() {
  const query = useQuery(exploreQuery)
  return (
    <>
      <PageTitle title="Payments">
        What buyers paid through Arcus, as the chain shows it, without payments of sellers to
        themselves and paid checks of Arcus.
      </PageTitle>
      <SearchBox />
      <Loaded query={query} skeleton={<PaymentsSkeleton />}>
        {({ month, days, settlements }) => (
          <>
            <Figures month={month} />
            <div className="grid gap-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
              <PaymentsByDay days={days} />
              <LatestPayments settlements={settlements} />
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

/** Stands in for figures, chart and list at their height, so that nothing moves when they come. */
function PaymentsSkeleton() {
  return (
    <div role="status" aria-label="Loading the payments">
      <Skeleton className="my-8 h-38 w-full max-w-3xl sm:h-16" />
      <div className="grid gap-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Skeleton isCard className="h-92 w-full" />
        <Skeleton isCard className="h-92 w-full" />
      </div>
    </div>
  )
}

/** The totals of the last 30 days. */
function Figures({ month }: Pick<ExploreAnswer, 'month'>) {
  return (
    <dl className="my-8 grid max-w-3xl grid-cols-2 gap-x-8 gap-y-5 sm:min-h-16 sm:grid-cols-4">
      <Stat
        name="Payments, 30 days"
        value={shortCount(month.settled)}
        title={exactCount(month.settled)}
      />
      <Stat name="Paid to sellers" value={<Usd usd={month.revenue.usd} />} note="after refunds" />
      <Latency name="Settle time" p50={month.settleP50Ms} p95={month.settleP95Ms} />
      <Stat name="Success rate" value={percent(month.successRate)} />
    </dl>
  )
}

function PaymentsByDay({ days }: Pick<ExploreAnswer, 'days'>) {
  const [shown, setShown] = useState<number | null>(null)
  const total = days.reduce((sum, { settled }) => sum + settled, 0)
  const most = Math.max(0, ...days.map(({ settled }) => settled))
  const bars = days.map(({ at, settled, usd }): Bar => {
    const count = counted(settled, { one: '# payment', other: '# payments' }, exactCount)
    return {
      key: at,
      name: dayInUtc(at * 1_000),
      values: [settled],
      text: `${count}, ${exactUsdc(usd)}`,
    }
  })
  const bar = shown === null ? undefined : bars[shown]
  if (total === 0) {
    return (
      <Panel title="By day">
        <p className="flex h-79 items-center justify-center px-5 text-sm text-muted">
          No payment in 30 days. The first one shows here within a minute.
        </p>
      </Panel>
    )
  }
  return (
    <Panel title="By day">
      <p className="px-5 pt-3 text-xs text-muted tabular">
        {bar === undefined ? '30 days, after refunds' : `${bar.name}: ${bar.text}`}
      </p>
      <div className="h-72 px-5">
        <Bars
          label={`Payments by day for 30 days: ${exactCount(total)} in all, ${exactCount(most)} on the best day`}
          bars={bars}
          tones={['accent']}
          formatValue={(value) => (Number.isInteger(value) ? shortCount(value) : '')}
          onShow={setShown}
        />
      </div>
    </Panel>
  )
}

const SHOWN = 30
/** The least pause between two reads of figures that payments change. */
const REREAD_MS = 10_000
const connections = {
  connecting: ['plain', 'Connecting'],
  live: ['ok', 'Live'],
  lost: ['warn', 'Not live, connecting again'],
} as const

/** Adds payments to what is shown as they settle, and has the figures read again soon. */
function useNews() {
  const client = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const reread = () => void client.invalidateQueries({ queryKey: exploreQuery.queryKey })
  return useStream('/api/settlements/stream', 'settlements', {
    onNews(data) {
      const news = JSON.parse(data) as Settlement[]
      client.setQueryData(exploreQuery.queryKey, (before) => {
        if (before === undefined) return before
        const all = new Map([...before.settlements, ...news].map((it) => [it.id, it]))
        const settlements = [...all.values()].sort((a, b) => b.id - a.id).slice(0, SHOWN)
        return { ...before, settlements }
      })
      timer.current ??= setTimeout(() => {
        timer.current = undefined
        reread()
      }, REREAD_MS)
    },
    onGap: reread,
  })
}

/** Shows payments as they settle. */
function LatestPayments({ settlements }: Pick<ExploreAnswer, 'settlements'>) {
  const [tone, name] = connections[useNews()]
  return (
    <Panel title="Latest" aside={<Dot tone={tone}>{name}</Dot>}>
      {settlements.length === 0 ? (
        <div className="h-79 overflow-y-auto p-5">
          <PayCommand />
        </div>
      ) : (
        <ol aria-label="Latest payments" className="h-79 divide-y divide-line overflow-y-auto">
          {settlements.slice(0, SHOWN).map((one) => (
            <PaymentLine key={one.id} settlement={one} />
          ))}
        </ol>
      )}
    </Panel>
  )
}

function PaymentLine({ settlement }: { settlement: Settlement }) {
  const { merchant, transaction, refunded, at } = settlement
  return (
    <li className="arriving relative flex items-center gap-3 px-5 py-2.5 text-sm hover:bg-sunken/60">
      <Link
        href={`/payments/${transaction}`}
        className="min-w-20 shrink-0 font-medium after:absolute after:inset-0"
      >
        <Money {...settlement} />
        {refunded !== null && (
          <span className="block text-2xs font-normal text-muted">
            <Money {...settlement} amount={refunded} /> returned
          </span>
        )}
      </Link>
      <span className="min-w-0 flex-1 truncate text-muted">
        {merchant === null ? (
          'to a seller that is not listed'
        ) : (
          <>
            to{' '}
            <Link
              href={`/merchants/${encodeURIComponent(merchant.id)}`}
              className="relative text-ink hover:text-accent hover:underline"
            >
              <UntrustedText text={merchant.name} max={60} />
            </Link>
          </>
        )}
      </span>
      <span className="shrink-0 text-xs text-faint">
        <Moment at={at} />
      </span>
    </li>
  )
}

/** A card with a heading, as high as its neighbour. */
function Panel({
  title,
  aside,
  children,
}: {
  title: string
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <Card className="overflow-hidden">
      <div className="flex h-13 items-center justify-between gap-x-4 border-b border-line px-5">
        <h2 className="text-sm font-medium">{title}</h2>
        {aside}
      </div>
      {children}
    </Card>
  )
}
