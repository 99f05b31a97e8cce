import type { Usage } from '@arcus/protocol/answers/fields'
import {
  atomicToUsd,
  counted,
  exactAmount,
  exactUsdc,
  percent,
  shortMoney,
  shortUsd,
} from '../format/amounts.js'
import { Badge } from './badge.js'

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

/** Shows in a few words how much an endpoint was paid for in 30 days; nothing where nobody paid. */
export function UsedBy({ usage }: { usage: Usage | null }) {
  if (usage === null) return null
  const { calls, payers, onlyHere, topPayerShare: share } = usage
  const all = payers['30d'] + onlyHere['30d']
  return (
    <span title={share === null ? undefined : busiestPayer(share)}>
      {counted(calls['30d'], { one: '# payment', other: '# payments' })} by{' '}
      {counted(all, { one: '# buyer', other: '# buyers' })} in 30 days,{' '}
      {boughtElsewhere(payers['30d'], all)}
    </span>
  )
}

/** What a number of buyers is worth, as a hint where one stands. */
export const ABOUT_BUYERS =
  'Only buyers who also paid another seller count in the order of lists. A seller can make any number of other buyers: each costs two payments to a wallet of their own, and the money comes back.'

/** Says how many of the buyers paid another seller as well. */
function boughtElsewhere(some: number, all: number): string {
  if (all === 1) return some === 1 ? 'who also buys elsewhere' : 'who paid nobody else'
  if (some === 0) return 'none of whom paid anybody else'
  return `${some} of whom also buy elsewhere`
}

/** Says how much of the calls one buyer made. `share` is 0 to 1. */
export function busiestPayer(share: number): string {
  return `The busiest buyer made ${percent(share)} of the payments`
}
