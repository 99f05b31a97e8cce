import { isIPv6 } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { rateLimitFault } from './request-fault.js'
import './route-config.js'
import { type CountExchange, createSharedLimiter } from './shared-rate-limit.js'

/** Callers remembered at once; past this the one not heard of for longest is forgotten. */
const MAX_CALLERS = 100_000
/** One subscriber usually holds a /64 of IPv6: four of its eight groups. */
const IPV6_GROUPS_COUNTED = 4

export interface RateLimitState {
  limited: boolean
  /** Until the window ends, at least 1 when limited, else 0. */
  retryAfterSeconds: number
}

/** One counter per caller over all routes, in windows that start with a caller's first request. */
export interface RateLimiter {
  /** Counts the request; limited when it is past the allowance. */
  consume(request: FastifyRequest): Promise<RateLimitState>
  /** Counts nothing; limited when the allowance is spent. */
  peek(request: FastifyRequest): Promise<RateLimitState>
}

export interface RateLimitOptions {
  /** Requests a window; 0 is no limit. */
  max: number
  windowSeconds: number
}

/**
 * Limits requests per IP. Routes are counted and refused (429) before their body is read unless their config says
 * `limit: 'exempt'`, or `'manual'` for a handler that asks the limiter itself. Call it before the first route.
 */
export async function installRateLimit(
  app: FastifyInstance,
  options: RateLimitOptions,
  /** Where callers are counted together with other processes, if there are any. */
  exchange?: CountExchange,
): Promise<RateLimiter> {
  if (options.max === 0) return { consume: async () => free, peek: async () => free }
  const limiter =
    exchange === undefined
      ? await createOwnLimiter(app, options)
      : shareLimiter(app, options, exchange)
  app.addHook('onRequest', async (request) => {
    if ((request.routeOptions.config.limit ?? 'counted') !== 'counted') return
    const { limited, retryAfterSeconds } = await limiter.consume(request)
    if (limited) throw rateLimitFault(retryAfterSeconds)
  })
  return limiter
}

function shareLimiter(
  app: FastifyInstance,
  options: RateLimitOptions,
  exchange: CountExchange,
): RateLimiter {
  const limiter = createSharedLimiter({
    ...options,
    exchange,
    callerOf,
    now: () => Date.now(),
    onError: (err) => app.log.warn({ err }, 'requests could not be counted together'),
  })
  app.addHook('onClose', async () => limiter.stop())
  return limiter
}

async function createOwnLimiter(
  app: FastifyInstance,
  { max, windowSeconds }: RateLimitOptions,
): Promise<RateLimiter> {
  await app.register(rateLimit, {
    // The plugin's own hooks would count each route apart and answer in one shape for all.
    global: false,
    max,
    timeWindow: windowSeconds * 1_000,
    cache: MAX_CALLERS,
    keyGenerator: ({ ip }) => callerOf(ip),
  })
  return createLimiter(app)
}

function createLimiter(app: FastifyInstance): RateLimiter {
  const check = app.createRateLimit()
  return {
    async consume(request) {
      const count = await check(request)
      return !count.isAllowed && count.isExceeded ? refused(count.ttlInSeconds) : free
    },
    async peek(request) {
      const count = await check(request, { increment: false })
      return !count.isAllowed && count.remaining === 0 ? refused(count.ttlInSeconds) : free
    },
  }
}

function refused(ttlSeconds: number): RateLimitState {
  return { limited: true, retryAfterSeconds: Math.max(1, ttlSeconds) }
}

/** Who is counted: an IPv4 address (plain or mapped into IPv6), or the /64 of an IPv6 address. */
export function callerOf(ip: string): string {
  if (!isIPv6(ip)) return ip
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = ip.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    // A dotted IPv4 ending stands for two groups.
    const lastCount = last.length + (tail.includes('.') ? 1 : 0)
    while (groups.length + lastCount < 8) groups.push('0')
    groups.push(...last)
  }
  const prefix = groups.slice(0, IPV6_GROUPS_COUNTED).map((group) => Number.parseInt(group, 16))
  return `${prefix.map((group) => group.toString(16)).join(':')}::/64`
}

const free: RateLimitState = Object.freeze({ limited: false, retryAfterSeconds: 0 })
