import type { Usage } from '@arcus/protocol/answers/fields'
import type { ReactNode } from 'react'
import {
  atomicToUsd,
  counted,
  duration,
  exactAmount,
  exactUsdc,
  percent,
  shortMoney,
  shortUsd,
} from '../format/amounts.js'
import { Badge } from './badge.js'
import { Hint } from './hint.js'

/** Shows a few digits of a dollar amount, and all of them on hover. */
export function Usd({ usd, className = '' }: { usd: string; className?: string }) {
  return (
    <span className={`tabular ${className}`} title={exactUsdc(usd)}>
      {shortUsd(usd)}
    </span>
  )
}

/** Shows an amount of atomic units in the money of its token. */
export function Money(paid: { amount: string; symbol: string | null; currency: string | null }) {
  const decimal = atomicToUsd(paid.amount)
  return (
    <span className="tabular" title={`${decimal} ${paid.symbol ?? ''}`.trim()}>
      {shortMoney(decimal, paid)}
    </span>
  )
}

/** A price of a call in atomic units of its token. */
interface CallPrice {
  price: string
  pricing: string
  symbol: string
  currency: string | null
}

/** Shows the price of a call. */
export function Price({ price, pricing, ...token }: CallPrice) {
  const decimal = atomicToUsd(price)
  const isMetered = pricing === 'metered'
  const exact = `${exactAmount(decimal, token.symbol)} a call${isMetered ? ' at most' : ''}`
  return (
    <span className="tabular whitespace-nowrap" title={exact}>
      {isMetered && 'up to '}
      {shortMoney(decimal, token)}
    </span>
  )
}

/** Shows the price of the live 402, which buyers pay. A different listed price stands next to it, struck through. */
export function AskedPrice({ livePrice, ...listed }: CallPrice & { livePrice: string | null }) {
  const { price } = listed
  if (livePrice === null || livePrice === price) return <Price {...listed} />
  const isMore = BigInt(livePrice) > BigInt(price)
  return (
    <span className="inline-flex flex-wrap items-center justify-end gap-x-2 gap-y-1">
      <Badge tone="warn">{isMore ? 'Asks more than listed' : 'Asks less than listed'}</Badge>
      <span className="whitespace-nowrap">
        <del className="mr-2 text-xs font-normal text-muted">
          <span className="sr-only">Listed price: </span>
          <Price {...listed} />
        </del>
        <span className="sr-only">Price now: </span>
        <Price {...listed} price={livePrice} />
      </span>
    </span>
  )
}

/** Shows the median of a duration, with the 95th percentile below. */
export function Latency({
  name,
  p50,
  p95,
}: {
  name: string
  p50: number | null
  p95: number | null
}) {
  return (
    <Stat
      name={name}
      value={duration(p50)}
      note={p95 === null ? undefined : `95% within ${duration(p95)}`}
    />
  )
}

/** Shows in a few words how much an endpoint was paid for in 30 days; nothing where nobody paid. */
export function UsedBy({ usage }: { usage: Usage | null }) {
  if (usage === null) return null
  const { calls, payers, topPayerShare: share } = usage
  return (
    <span title={share === null ? undefined : busiestPayer(share)}>
      {counted(calls['30d'], { one: '# payment', other: '# payments' })} by{' '}
      {counted(payers['30d'], { one: '# buyer', other: '# buyers' })} in 30 days
    </span>
  )
}

/** Says how much of the calls one buyer made. `share` is 0 to 1. */
export function busiestPayer(share: number): string {
  return `The busiest buyer made ${percent(share)} of the payments`
}

/** A row of a list of facts: its name, and its value next to it. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 py-2.5">
      <dt className="w-40 shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 flex-1 basis-48 break-words">{children}</dd>
    </div>
  )
}

/** A figure with its name above and a note below, which explains more of it when it is pressed. */
export function Stat({
  name,
  value,
  note,
  title,
}: {
  name: string
  value: ReactNode
  note?: ReactNode
  title?: string | undefined
}) {
  const explain = (it: ReactNode) => (title === undefined ? it : <Hint text={title}>{it}</Hint>)
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="mt-1 text-xl font-semibold tracking-tight tabular">
        {note === undefined ? explain(value) : value}
      </dd>
      {note !== undefined && <dd className="mt-0.5 text-xs text-faint">{explain(note)}</dd>}
    </div>
  )
}
