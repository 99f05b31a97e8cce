import type { ReactNode } from 'react'
import { atomicToUsd, exactUsdc, shortUsd } from '../format/amounts.js'

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
