import type { ReactNode } from 'react'
import { atomicToUsd, exactUsdc, shortUsd } from '../format/amounts.js'
import { Badge } from './badge.js'

/** Dollars cut for reading, every digit on hover. */
export function Usd({ usd, className = '' }: { usd: string; className?: string }) {
  return (
    <span className={`tabular ${className}`} title={exactUsdc(usd)}>
      {shortUsd(usd)}
    </span>
  )
}

/** The price of a call, from atomic digits. */
export function Price({ price, pricing }: { price: string; pricing: string }) {
  return (
    <span
      className="tabular whitespace-nowrap"
      title={`${exactUsdc(atomicToUsd(price))} a call${pricing === 'metered' ? ' at most' : ''}`}
    >
      {pricing === 'metered' && <span className="text-xs font-normal text-muted">up to </span>}
      {shortUsd(atomicToUsd(price))}
    </span>
  )
}

/** The price that is paid: what the live 402 asks for, with what is listed struck through where that is another one. */
export function AskedPrice({
  price,
  livePrice,
  pricing,
}: {
  price: string
  livePrice: string | null
  pricing: string
}) {
  if (livePrice === null || livePrice === price) return <Price price={price} pricing={pricing} />
  const isMore = BigInt(livePrice) > BigInt(price)
  return (
    <span className="inline-flex flex-wrap items-center justify-end gap-x-2 gap-y-1">
      <Badge tone="warn">{isMore ? 'Asks more than listed' : 'Asks less than listed'}</Badge>
      <span className="whitespace-nowrap">
        <del className="mr-2 text-xs font-normal text-muted">
          <span className="sr-only">listed at </span>
          <Price price={price} pricing={pricing} />
        </del>
        <span className="sr-only">the live 402 asks for </span>
        <Price price={livePrice} pricing={pricing} />
      </span>
    </span>
  )
}

/** A figure with its name above and what explains it below. */
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
  return (
    <div className="min-w-0" title={title}>
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="mt-1 text-xl font-semibold tracking-tight tabular">{value}</dd>
      {note !== undefined && <dd className="mt-0.5 text-xs text-faint">{note}</dd>}
    </div>
  )
}
