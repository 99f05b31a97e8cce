import { isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type CountExchange, createRequestCounter } from './request-counter.js'
import { rateLimitFault } from './request-fault.js'
import './route-config.js'

/** One subscriber usually holds a /64 of IPv6: four of its eight groups. */
const IPV6_GROUPS_COUNTED = 4
/** Whoever is given a network of their own in IPv6 is usually given a /48. */
const IPV6_GROUPS_OF_BLOCK = 3

export interface RateLimitState {
  limited: boolean
  /** Until the window ends, at least 1 when limited, else 0. */
  retryAfterSeconds: number
}

/** A request that is counted until it is known whether it shall be. */
export interface HeldRequest extends RateLimitState {
  limited: false
  /** Takes the count back, unless its window is over. Call it once at most. */
  giveBack(): void
}

/** One counter per caller over all routes, in windows that start with a caller's first request. */
export interface RateLimiter {
  /** Counts the request; limited when it is past the allowance. */
  consume(request: Pick<FastifyRequest, 'ip'>): RateLimitState
  /** Counts the request for now, unless the allowance is spent: then it is limited and not counted. */
  hold(request: Pick<FastifyRequest, 'ip'>): HeldRequest | (RateLimitState & { limited: true })
}

export interface RateLimitOptions {
  /** Requests a window; 0 is no limit. */
  max: number
  windowSeconds: number
}

/**
 * Limits requests per IP. Routes are counted and refused (429) before their body is read unless their config says
 * `limit: 'exempt'`, or `'manual'` for a handler that asks the limiter itself; `undefined` where there is no limit.
 * Call it before the first route.
 */
export function installRateLimit(
  app: FastifyInstance,
  options: RateLimitOptions,
  /** Where callers are counted together with other processes, if there are any. */
  exchange?: CountExchange,
): RateLimiter | undefined {
  if (options.max === 0) return undefined
  const counter = createRequestCounter({
    ...options,
    exchange,
    callerOf,
    now: () => Date.now(),
    onError: (err) => app.log.warn({ err }, 'requests could not be counted together'),
  })
  app.addHook('onClose', async () => counter.stop())
  app.addHook('onRequest', async (request) => {
    if ((request.routeOptions.config.limit ?? 'counted') !== 'counted') return
    const { limited, retryAfterSeconds } = counter.consume(request)
    if (limited) throw rateLimitFault(retryAfterSeconds)
  })
  return counter
}

/** Who is counted: an IPv4 address (plain or mapped into IPv6), or the /64 of an IPv6 address. */
export function callerOf(ip: string): string {
  return isIPv6(ip) ? (mappedOf(ip) ?? prefixOf(ip, IPV6_GROUPS_COUNTED)) : ip
}

/** The addresses that one party usually has at hand: the /24 of an IPv4 address, or the /48 of an IPv6 address. */
export function blockOf(ip: string): string {
  const plain = isIPv6(ip) ? mappedOf(ip) : ip
  if (plain === undefined) return prefixOf(ip, IPV6_GROUPS_OF_BLOCK)
  return plain.replace(/\.\d+$/, '.0/24')
}

function mappedOf(ip: string): string | undefined {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
}

function prefixOf(ip: string, groupCount: number): string {
  const [head = '', tail] = ip.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    // A dotted IPv4 ending stands for two groups.
    const lastCount = last.length + (tail.includes('.') ? 1 : 0)
    while (groups.length + lastCount < 8) groups.push('0')
    groups.push(...last)
  }
  const prefix = groups.slice(0, groupCount).map((group) => Number.parseInt(group, 16))
  return `${prefix.map((group) => group.toString(16)).join(':')}::/${groupCount * 16}`
}
