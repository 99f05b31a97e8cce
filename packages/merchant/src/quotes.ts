import { createHash } from 'node:crypto'
import type { PaymentRequirements } from '@x402/core/types'
import type { FastifyRequest } from 'fastify'

/** All of a request that its price may depend on. */
type PricedRequest = Pick<FastifyRequest, 'method' | 'url' | 'ip' | 'headers' | 'body'>

/** Prices that were asked for and may have changed since: a buyer who signs in time pays what they saw. */
export interface Quotes {
  /** Keeps what a 402 asks for this request, for as long as a payment of it is valid. */
  keep(request: PricedRequest, accepts: readonly PaymentRequirements[]): void
  /** Returns what was asked for this very request and fits the payment; `undefined` where nothing was, or too long ago. */
  find(request: PricedRequest, accepted: PaymentRequirements): PaymentRequirements | undefined
}

/** Some four megabytes. When there are more, the oldest is forgotten, and its buyer sees a new 402 if the price changed. */
const MAX_QUOTES = 10_000

/** Makes the record. `now` is in Unix milliseconds. */
export function createQuotes(now: () => number = Date.now): Quotes {
  const quotes = new Map<string, { asked: PaymentRequirements; until: number }>()

  return {
    keep(request, accepts) {
      const digest = digestOf(request)
      if (digest === undefined) return
      for (const asked of accepts) {
        const key = keyOf(digest, asked)
        quotes.delete(key)
        quotes.set(key, { asked, until: now() + asked.maxTimeoutSeconds * 1_000 })
        const [oldest] = quotes.keys()
        if (quotes.size > MAX_QUOTES && oldest !== undefined) quotes.delete(oldest)
      }
    },
    find(request, accepted) {
      const digest = digestOf(request)
      const found = digest === undefined ? undefined : quotes.get(keyOf(digest, accepted))
      return found !== undefined && found.until > now() ? found.asked : undefined
    },
  }
}

function keyOf(digest: string, asked: PaymentRequirements): string {
  const { scheme, network, asset, amount, payTo } = asked
  return [digest, scheme, network, asset, amount, payTo].join(' ').toLowerCase()
}

/** Headers that differ between a request and its repetition with a payment, or from request to request. */
const passingHeaders = new Set([
  'payment-signature',
  'x-payment',
  // The official client adds it to the paid request.
  'access-control-expose-headers',
  'traceparent',
  'tracestate',
  'x-request-id',
])

/**
 * Identifies a request by its method, URL, caller, headers and body. A quote for one request
 * must not pay for another one. Returns `undefined` for a body that is no JSON, text or bytes, which cannot be compared.
 */
function digestOf({ method, url, ip, headers, body }: PricedRequest): string | undefined {
  if (!isComparable(body, 0)) return undefined
  const kept = Object.entries(headers)
    .filter(([name]) => !passingHeaders.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const bytes = body instanceof Uint8Array ? body : (JSON.stringify(body) ?? '')
  return createHash('sha256')
    .update(
      `${JSON.stringify([method, url, ip, kept])}\n${typeof bytes === 'string' ? 'json' : 'bytes'}\n`,
    )
    .update(bytes)
    .digest('hex')
}

const MAX_DEPTH = 64

/** Returns whether two values with the same JSON are the same value: a file of a form, for one, is `{}` in JSON. */
function isComparable(value: unknown, depth: number): boolean {
  if (depth === 0 && (value === undefined || value instanceof Uint8Array)) return true
  if (value === null || ['string', 'boolean'].includes(typeof value)) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > MAX_DEPTH) return false
  const prototype = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || prototype === null || Array.isArray(value)
  return isPlain && Object.values(value).every((member) => isComparable(member, depth + 1))
}
