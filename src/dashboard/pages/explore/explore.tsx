import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { ExploreAnswer, Settlement } from '../../../api/explore.js'
import { exploreQuery, newestQuery, totalsQuery } from '../../api/queries.js'
import { useStream } from '../../api/use-stream.js'
import { Dot, WarningBadges } from '../../components/badge.js'
import { type Bar, Bars } from '../../components/bars.js'
import { ButtonLink, TextLink } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { Segmented } from '../../components/field.js'
import { AskedPrice, Latency, Money, Stat, Usd } from '../../components/figures.js'
import { Glyph } from '../../components/icons.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { useTitle } from '../../components/page.js'
import { SearchBox } from '../../components/search-box.js'
import { Sentence } from '../../components/sentence.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { exactCount, exactUsdc, percent, shortCount, shortUsd } from '../../format/amounts.js'
import { dayInUtc } from '../../format/moments.js'
import { oneLine } from '../../format/untrusted-text.js'
import { words } from './words.js'

/** The home page. It shows the payments here, the merchants with the most payers, and the newest endpoints. */
export function Explore() {
  useTitle(undefined)
  const query = useQuery(exploreQuery)
  return (
    <>
      <Hero />
      <Loaded query={query} skeleton={<ExploreSkeleton />}>
        {(answer) => (
          <div className="space-y-8">
            <div className="grid gap-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
              <PaymentsByDay days={answer.days} />
              <LatestPayments known={answer.settlements} />
            </div>
            <div className="grid gap-6 lg:grid-cols-2">
              <TopMerchants merchants={answer.merchants} />
              <JustListed />
            </div>
            <Categories categories={answer.categories} />
          </div>
        )}
      </Loaded>
    </>
  )
}

/** The feed of the home page, for the page of payments. It is in the first load anyway. */
export function Feed() {
  const query = useQuery(exploreQuery)
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-[22rem] w-full !rounded-2xl" />}>
      {({ settlements }) => <LatestPayments known={settlements} />}
    </Loaded>
  )
}

/** Stands in for the figures at their height, so that nothing moves when they come. */
function ExploreSkeleton() {
  return (
    <div className="space-y-8" role="status" aria-label={words.loading}>
      <div className="grid gap-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Skeleton className="h-[22rem] w-full !rounded-2xl" />
        <Skeleton className="h-[22rem] w-full !rounded-2xl" />
      </div>
      <div className="grid gap-6 lg:grid-cols-2">
        <Skeleton className="h-[21rem] w-full !rounded-2xl" />
        <Skeleton className="h-[21rem] w-full !rounded-2xl" />
      </div>
    </div>
  )
}

function Hero() {
  return (
    <div className="relative mb-8 sm:mb-10">
      <Arcs />
      <h1 className="relative max-w-3xl text-display font-semibold tracking-[-0.035em] sm:whitespace-pre-line">
        {words.title}
      </h1>
      <p className="relative mt-4 mb-6 max-w-xl text-base text-pretty text-muted sm:text-[1.0625rem]">
        <Sentence
          text={words.lead}
          parts={{
            howItWorks: <TextLink href="/how-it-works">{words.howItWorks}</TextLink>,
            list: <TextLink href="/console/new">{words.list}</TextLink>,
          }}
        />
      </p>
      <div className="relative">
        <SearchBox />
      </div>
      <Totals />
    </div>
  )
}

/** The totals of the last 30 days. */
function Totals() {
  const { data, error } = useQuery(totalsQuery)
  if (error !== null && data === undefined) return null
  const month = data?.['30d']
  if (month === undefined)
    return <Skeleton className="mt-8 h-[9.5rem] w-full max-w-2xl sm:h-[4.125rem]" />
  return (
    <dl className="relative mt-8 grid max-w-3xl grid-cols-2 gap-x-8 gap-y-5 sm:grid-cols-4">
      <Stat
        name={words.totals.calls}
        value={shortCount(month.settled)}
        title={exactCount(month.settled)}
      />
      <Stat
        name={words.totals.revenue}
        value={<Usd usd={month.revenue.usd} />}
        note={words.totals.net}
      />
      <Latency name={words.totals.settleTime} p50={month.settleP50Ms} p95={month.settleP95Ms} />
      <Stat name={words.totals.successRate} value={percent(month.successRate)} />
    </dl>
  )
}

const measures = [
  ['payments', words.chart.payments.choice],
  ['volume', words.chart.volume.choice],
] as const

function PaymentsByDay({ days }: Pick<ExploreAnswer, 'days'>) {
  const [measure, setMeasure] = useState<(typeof measures)[number][0]>('payments')
  const [shown, setShown] = useState<number | null>(null)
  const isVolume = measure === 'volume'
  const bars = days.map(({ at, settled, usd }): Bar => {
    const name = dayInUtc(at * 1_000)
    const text = words.chart.day(name, settled, exactUsdc(usd))
    return { key: at, name, values: [isVolume ? Number(usd) : settled], text }
  })
  return (
    <Panel
      title={words.chart.title}
      aside={
        <Segmented
          legend={words.chart.legend}
          value={measure}
          options={measures}
          onChange={setMeasure}
        />
      }
    >
      <p className="px-5 pt-3 text-xs text-muted tabular" aria-hidden="true">
        {shown === null ? words.chart[measure].note : bars[shown]?.text}
      </p>
      <div className="h-56 px-5 pt-2">
        <Bars
          label={words.chart[measure].label}
          bars={bars}
          tones={['accent']}
          formatValue={(value) =>
            isVolume ? shortUsd(value.toFixed(6)) : Number.isInteger(value) ? shortCount(value) : ''
          }
          onShow={setShown}
        />
      </div>
    </Panel>
  )
}

const SHOWN = 30
const connections = {
  connecting: ['plain', words.feed.connecting],
  live: ['ok', words.feed.live],
  lost: ['warn', words.feed.lost],
} as const

/** Shows payments as they settle. */
function LatestPayments({ known }: { known: readonly Settlement[] }) {
  const client = useQueryClient()
  const [news, setNews] = useState<readonly Settlement[]>([])
  const connection = useStream('/api/settlements/stream', 'settlements', {
    onNews: (data) =>
      setNews((before) =>
        [...(JSON.parse(data) as Settlement[]).reverse(), ...before].slice(0, SHOWN),
      ),
    onGap: () => void client.invalidateQueries(exploreQuery),
  })
  const [tone, name] = connections[connection]
  const all = new Map([...news, ...known].map((it) => [it.id, it]))
  const shown = [...all.values()].sort((a, b) => b.id - a.id).slice(0, SHOWN)
  return (
    <Panel title={words.feed.title} aside={<Dot tone={tone}>{name}</Dot>}>
      {shown.length === 0 ? (
        <Nothing>{words.feed.empty}</Nothing>
      ) : (
        <ol
          aria-label={words.feed.title}
          className="h-[18.4rem] divide-y divide-line overflow-y-auto"
        >
          {shown.map((one) => (
            <PaymentLine key={one.id} settlement={one} />
          ))}
        </ol>
      )}
    </Panel>
  )
}

function PaymentLine({ settlement }: { settlement: Settlement }) {
  const { merchant, transaction, at } = settlement
  return (
    <li className={`arriving ${rowStyle}`}>
      <Link
        href={`/payments/${transaction}`}
        className="w-20 shrink-0 font-medium after:absolute after:inset-0"
      >
        <Money {...settlement} />
      </Link>
      <span className="min-w-0 flex-1 truncate text-muted">
        {merchant === null ? (
          words.feed.unlisted
        ) : (
          <Sentence
            text={words.feed.to}
            parts={{
              merchant: (
                <Link
                  href={`/merchants/${encodeURIComponent(merchant.id)}`}
                  className="relative text-ink hover:text-accent hover:underline"
                >
                  <UntrustedText text={merchant.name} max={60} />
                </Link>
              ),
            }}
          />
        )}
      </span>
      <span className="shrink-0 text-xs text-faint">
        <Moment at={at} />
      </span>
    </li>
  )
}

function TopMerchants({ merchants }: Pick<ExploreAnswer, 'merchants'>) {
  return (
    <Panel title={words.top.title} note={words.top.note}>
      {merchants.length === 0 ? (
        <Nothing>{words.top.empty}</Nothing>
      ) : (
        <ol className="divide-y divide-line">
          {merchants.map(({ id, name, payers, calls }) => (
            <li key={id} className={rowStyle}>
              <Glyph of={id} size={32} />
              <Link
                href={`/merchants/${encodeURIComponent(id)}`}
                className="min-w-0 flex-1 truncate font-medium after:absolute after:inset-0"
              >
                <UntrustedText text={name} max={60} />
              </Link>
              <span className="shrink-0 text-right text-xs text-muted tabular">
                {words.top.figures(payers, calls)}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

function JustListed() {
  const { data } = useQuery(newestQuery)
  const items = data?.items
  return (
    <Panel
      title={words.latest.title}
      note={words.latest.note}
      aside={
        <ButtonLink href="/directory?sort=new" size="sm">
          {words.latest.all}
        </ButtonLink>
      }
    >
      {items === undefined ? (
        <Skeleton className="m-5 h-[17rem]" />
      ) : items.length === 0 ? (
        <Nothing>{words.latest.empty}</Nothing>
      ) : (
        <ol className="divide-y divide-line">
          {items.map((endpoint) => (
            <li key={endpoint.id} className={rowStyle}>
              <Glyph of={endpoint.merchant.id} size={32} />
              <span className="min-w-0 flex-1">
                <Link
                  href={`/merchants/${encodeURIComponent(endpoint.merchant.id)}#endpoint-${endpoint.id}`}
                  className="block truncate font-medium after:absolute after:inset-0"
                >
                  <UntrustedText text={endpoint.title} />
                </Link>
                <span className="block truncate text-xs text-muted">
                  <Sentence
                    text={words.latest.by}
                    parts={{ merchant: <UntrustedText text={endpoint.merchant.name} max={60} /> }}
                  />{' '}
                  <WarningBadges warnings={endpoint.merchant.warnings} />
                </span>
              </span>
              <span className="shrink-0 font-medium">
                <AskedPrice {...endpoint} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

function Categories({ categories }: Pick<ExploreAnswer, 'categories'>) {
  if (categories.length === 0) return null
  return (
    <section>
      <h2 className="mb-3 text-sm font-medium">{words.categories}</h2>
      <ul className="flex flex-wrap gap-2">
        {categories.map(({ tag, merchants }) => (
          <li key={tag}>
            <Link
              href={`/directory?${new URLSearchParams({ tag })}`}
              className="inline-flex h-9 items-center gap-2 rounded-lg border border-line-strong bg-raised px-3 text-sm text-muted hover:text-ink"
            >
              <bdi>{oneLine(tag, 32)}</bdi>
              <span className="text-xs text-faint tabular">
                <span aria-hidden="true">{exactCount(merchants)}</span>
                <span className="sr-only">{words.merchants(merchants)}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** A card with a heading, as high as its neighbour. */
function Panel({
  title,
  note,
  aside,
  children,
}: {
  title: string
  note?: string
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <Card className="overflow-hidden">
      <div className="flex min-h-13 flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b border-line px-5 py-2.5">
        <div>
          <h2 className="text-sm font-medium">{title}</h2>
          {note !== undefined && <p className="text-xs text-muted">{note}</p>}
        </div>
        {aside}
      </div>
      {children}
    </Card>
  )
}

const rowStyle = 'relative flex items-center gap-3 px-5 py-2.5 text-sm hover:bg-sunken/60'

function Nothing({ children }: { children: string }) {
  return <p className="px-5 py-4 text-sm text-muted">{children}</p>
}

function Arcs() {
  return (
    <svg
      viewBox="0 0 400 200"
      fill="none"
      className="pointer-events-none absolute -top-12 -right-10 hidden h-60 text-accent lg:block"
      aria-hidden="true"
    >
      {[190, 160, 130, 100, 70, 40].map((radius, index) => (
        <path
          key={radius}
          d={`M${200 - radius} 200a${radius} ${radius} 0 0 1 ${radius * 2} 0`}
          stroke="currentColor"
          strokeWidth={1 + index * 0.7}
          opacity={0.07 + index * 0.055}
          strokeLinecap="round"
        />
      ))}
      <circle cx="200" cy="196" r="5" fill="currentColor" opacity=".6" />
    </svg>
  )
}
