import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { totalsQuery } from '../api/queries.js'
import { Stat, Usd } from '../components/figures.js'
import { Skeleton } from '../components/skeleton.js'
import { duration, exactCount, percent, shortCount } from '../format/amounts.js'

/** What this is, in a sentence, and what happened here in the last month. */
export function Hero() {
  return (
    <div className="relative mb-6 sm:mb-8">
      <Arcs />
      <h1 className="relative max-w-3xl text-display font-semibold tracking-[-0.035em]">
        APIs that are paid
        <br className="max-sm:hidden" /> by the call.
      </h1>
      <p className="relative mt-4 max-w-xl text-base text-pretty text-muted sm:text-[1.0625rem]">
        Each endpoint here answers 402 with a price in USDC and settles on Arc, straight from payer
        to merchant. No account, no API key.{' '}
        <Link
          href="/console/new"
          className="font-medium whitespace-nowrap text-accent underline-offset-4 hover:underline"
        >
          List yours →
        </Link>
      </p>
      <Totals />
    </div>
  )
}

function Totals() {
  const { data, error } = useQuery(totalsQuery)
  if (error !== null && data === undefined) return null
  const month = data?.['30d']
  if (month === undefined) return <Skeleton className="mt-8 h-[4.5rem] w-full max-w-2xl" />
  return (
    <dl className="relative mt-8 grid max-w-3xl grid-cols-2 gap-x-8 gap-y-5 sm:grid-cols-4">
      <Stat
        name="Paid calls, 30 days"
        value={shortCount(month.settled)}
        title={exactCount(month.settled)}
      />
      <Stat
        name="Paid to merchants"
        value={<Usd usd={month.revenue.usd} />}
        note="net of refunds"
      />
      <Stat
        name="Settles in"
        value={duration(month.settleP50Ms)}
        note={month.settleP95Ms === null ? undefined : `95% within ${duration(month.settleP95Ms)}`}
      />
      <Stat name="Success rate" value={percent(month.successRate)} />
    </dl>
  )
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
