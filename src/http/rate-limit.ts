import { isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { rateLimitFault } from './request-fault.js'
import './route-config.js'

/** Callers remembered at once; past this the one whose window ends first is forgotten. */
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
  consume(request: Pick<FastifyRequest, 'ip'>): RateLimitState
  /** Counts nothing; limited when the allowance is spent. */
  peek(request: Pick<FastifyRequest, 'ip'>): RateLimitState
}

export interface RateLimitOptions {
  /** Requests a window; 0 is no limit. */
  max: number
  windowSeconds: number
  /** Milliseconds, monotonic; for tests. */
  now?: () => number
  maxCallers?: number
}

/**
 * Limits requests per IP. Routes are counted and refused (429) before their body is read unless their config says
 * `limit: 'exempt'`, or `'manual'` for a handler that asks the limiter itself. Call it before the first route.
 */
export function installRateLimit(app: FastifyInstance, options: RateLimitOptions): RateLimiter {
  const limiter = createRateLimiter(options)
  app.addHook('onRequest', (request, _reply, done) => {
    if ((request.routeOptions.config.limit ?? 'counted') !== 'counted') return done()
    const { limited, retryAfterSeconds } = limiter.consume(request)
    return done(limited ? rateLimitFault(retryAfterSeconds) : undefined)
  })
  return limiter
}

/**
 * The counter alone. Our own rather than the plugin of Fastify: a handler can ask it without waiting for a promise,
 * and the plugin took some 10 microseconds of CPU a request more.
 */
export function createRateLimiter(options: RateLimitOptions): RateLimiter {
  const { max, now = () => performance.now(), maxCallers = MAX_CALLERS } = options
  if (max === 0) return { consume: () => free, peek: () => free }
  const windowMs = options.windowSeconds * 1_000
  // All windows are equally long and each is added when it starts, so the first of the map ends first.
  const windows = new Map<string, { count: number; endsAtMs: number }>()

  const openWindow = (caller: string, nowMs: number) => {
    windows.delete(caller)
    for (const [oldest, { endsAtMs }] of windows) {
      if (endsAtMs > nowMs && windows.size < maxCallers) break
      windows.delete(oldest)
    }
    const opened = { count: 0, endsAtMs: nowMs + windowMs }
    windows.set(caller, opened)
    return opened
  }
  const findWindow = (caller: string, nowMs: number) => {
    const found = windows.get(caller)
    return found !== undefined && found.endsAtMs > nowMs ? found : undefined
  }
  const refused = (endsAtMs: number, nowMs: number): RateLimitState => ({
    limited: true,
    retryAfterSeconds: Math.max(1, Math.ceil((endsAtMs - nowMs) / 1_000)),
  })

  return {
    consume({ ip }) {
      const nowMs = now()
      const caller = callerOf(ip)
      const current = findWindow(caller, nowMs) ?? openWindow(caller, nowMs)
      current.count++
      return current.count > max ? refused(current.endsAtMs, nowMs) : free
    },
    peek({ ip }) {
      const nowMs = now()
      const current = findWindow(callerOf(ip), nowMs)
      return current !== undefined && current.count >= max ? refused(current.endsAtMs, nowMs) : free
    },
  }
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
