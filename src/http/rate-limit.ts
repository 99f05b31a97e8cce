import { isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { rateLimitFault } from './errors.js'
import './operation.js'

interface RateLimitState {
  limited: boolean
  /** Seconds until the window ends, at least 1 when limited, else 0. */
  retryAfterSeconds: number
}

/** A request that is counted until it is known whether it shall count. */
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

interface RateLimitOptions {
  /** Requests a window; 0 is no limit. */
  max: number
  windowSeconds: number
  /** Unix milliseconds, by a clock that all processes of an exchange share; `Date.now` if absent. */
  now?: () => number
}

/** The requests of a caller that all processes counted in its window. */
interface Total {
  caller: string
  count: number
  /** Unix milliseconds. */
  endsAt: number
}

/** Adds up the counts of several processes. Times are Unix milliseconds. */
export interface CountExchange {
  add(
    counts: readonly { caller: string; count: number }[],
    now: number,
    windowMs: number,
  ): Promise<Total[]>
  /** Returns the callers with at least so many requests, in windows that are not over. */
  busiest(atLeast: number, now: number): Promise<Total[]>
  forget(now: number): Promise<void>
}

/**
 * Limits requests per IP. Routes are counted and refused (429) before their body is read unless their config says
 * `limit: 'exempt'`, or `'manual'` for a handler that asks the limiter itself. Returns `undefined` if there is no limit.
 * Call it before the first route.
 */
export function installRateLimit(
  app: FastifyInstance,
  options: RateLimitOptions,
  /** Present if callers are counted together with other processes. */
  exchange?: CountExchange,
): RateLimiter | undefined {
  if (options.max === 0) return undefined
  const counter = createRequestCounter({
    now: () => Date.now(),
    ...options,
    exchange,
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

/** One subscriber usually holds a /64 of IPv6: four of its eight groups. */
const IPV6_GROUPS_COUNTED = 4
/** A party with a network of its own in IPv6 usually holds a /48. */
const IPV6_GROUPS_OF_BLOCK = 3

/** Returns the name under which an address is counted: an IPv4 address (plain or mapped into IPv6), or the /64 of an IPv6 address. */
export function callerOf(ip: string): string {
  return isIPv6(ip) ? (mappedOf(ip) ?? prefixOf(ip, IPV6_GROUPS_COUNTED)) : ip
}

/** Returns the block of addresses that one party usually holds: the /24 of an IPv4 address, or the /48 of an IPv6 address. */
export function blockOf(ip: string): string {
  const plain = isIPv6(ip) ? mappedOf(ip) : ip
  if (plain === undefined) return prefixOf(ip, IPV6_GROUPS_OF_BLOCK)
  return plain.replace(/\.\d+$/, '.0/24')
}

/** Returns the name of the party that holds an address: that of IPv4 itself, or the /48 of IPv6, since a /64 costs nothing. */
export function partyOf(ip: string): string {
  return isIPv6(ip) ? (mappedOf(ip) ?? prefixOf(ip, IPV6_GROUPS_OF_BLOCK)) : ip
}

/** Most providers hold a /32 of IPv6 or more, and rent out parts of it. */
const IPV6_GROUPS_OF_NETWORK = 2

/** Returns the network that one party can rent many blocks of: the /16 of an IPv4 address, or the /32 of an IPv6 address. */
export function networkOf(ip: string): string {
  const plain = isIPv6(ip) ? mappedOf(ip) : ip
  if (plain === undefined) return prefixOf(ip, IPV6_GROUPS_OF_NETWORK)
  return plain.replace(/\.\d+\.\d+$/, '.0.0/16')
}

function mappedOf(ip: string): string | undefined {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
}

function prefixOf(ip: string, groupCount: number): string {
  const [head = '', tail] = ip.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    // A dotted IPv4 ending is two groups.
    const lastCount = last.length + (tail.includes('.') ? 1 : 0)
    while (groups.length + lastCount < 8) groups.push('0')
    groups.push(...last)
  }
  const prefix = groups.slice(0, groupCount).map((group) => Number.parseInt(group, 16))
  return `${prefix.map((group) => group.toString(16)).join(':')}::/${groupCount * 16}`
}

interface RequestCounterOptions extends RateLimitOptions {
  /** `undefined` if there is no other process. */
  exchange: CountExchange | undefined
  /** Unix milliseconds. */
  now: () => number
  onError(error: unknown): void
}

interface Caller {
  /** Requests at all processes as of the last exchange. */
  total: number
  /** Requests that are being sent to the other processes. */
  sending: number
  /** Requests counted here since. */
  unsent: number
  endsAt: number
  /** True if the caller was counted or looked up since the last exchange. */
  isTouched: boolean
}

/** The longest time for which one process does not know of requests at another. */
const EXCHANGE_MS = 1_000
const FORGET_EVERY = 60
/** Callers remembered at once; the one that was idle for longest is forgotten first. */
const MAX_CALLERS = 100_000

/**
 * Counts requests at once, and every second exchanges counts with the other processes, if there are any. Exchanged are
 * the callers that came here and those that have spent half their allowance anywhere. So the allowance holds over all
 * processes, give or take the requests of one second, or half of it at a process where a caller is new. If the
 * database is unreachable, each process counts by itself.
 */
function createRequestCounter(options: RequestCounterOptions): RateLimiter & { stop(): void } {
  const { max, now, onError } = options
  const windowMs = options.windowSeconds * 1_000
  const callers = new LRUCache<string, Caller>({ max: MAX_CALLERS })
  /** From this count on other processes learn of a caller that has not come to them yet. */
  const busy = Math.ceil(max / 2)
  let exchanges = 0
  let isExchanging = false

  function find(ip: string): Caller {
    const name = callerOf(ip)
    const known = callers.get(name)
    const isOver = known === undefined || known.endsAt <= now()
    const caller = isOver
      ? { total: 0, sending: 0, unsent: 0, endsAt: now() + windowMs, isTouched: true }
      : known
    caller.isTouched = true
    if (isOver) callers.set(name, caller)
    return caller
  }

  /** Takes over the count of a caller that may not have come here at all. */
  function learn({ caller: name, count, endsAt }: Total): void {
    const known = callers.get(name)
    if (known !== undefined) Object.assign(known, { total: count, endsAt })
    else callers.set(name, { total: count, sending: 0, unsent: 0, endsAt, isTouched: false })
  }

  function stateOf({ endsAt }: Caller, limited: boolean): RateLimitState {
    const seconds = Math.ceil((endsAt - now()) / 1_000)
    return { limited, retryAfterSeconds: limited ? Math.max(1, seconds) : 0 }
  }

  const counted = ({ total, sending, unsent }: Caller) => total + sending + unsent

  async function exchangeCounts(exchange: CountExchange): Promise<void> {
    if (isExchanging) return
    const touched = [...callers].filter(([, caller]) => caller.isTouched)
    isExchanging = true
    for (const [, caller] of touched) {
      caller.isTouched = false
      caller.sending = caller.unsent
      caller.unsent = 0
    }
    try {
      const counts = touched.map(([name, { sending }]) => ({ caller: name, count: sending }))
      for (const { caller: name, count, endsAt } of await exchange.add(counts, now(), windowMs)) {
        const caller = callers.get(name)
        if (caller !== undefined) Object.assign(caller, { total: count, sending: 0, endsAt })
      }
      for (const total of await exchange.busiest(busy, now())) learn(total)
      if (exchanges++ % FORGET_EVERY === 0) await exchange.forget(now())
    } catch (error) {
      for (const [, caller] of touched) {
        caller.unsent += caller.sending
        caller.sending = 0
      }
      onError(error)
    } finally {
      isExchanging = false
    }
  }

  const { exchange } = options
  const timer = exchange && setInterval(() => exchangeCounts(exchange), EXCHANGE_MS)
  timer?.unref()

  return {
    consume({ ip }) {
      const caller = find(ip)
      caller.unsent++
      return stateOf(caller, counted(caller) > max)
    },
    hold({ ip }) {
      const caller = find(ip)
      if (counted(caller) >= max) return { ...stateOf(caller, true), limited: true }
      caller.unsent++
      return {
        limited: false,
        retryAfterSeconds: 0,
        giveBack() {
          if (caller.endsAt <= now()) return
          caller.unsent--
          caller.isTouched = true
        },
      }
    },
    stop: () => clearInterval(timer),
  }
}

/** Keys that buckets remember at once; the least recently used is forgotten first. */
const MAX_KEYS = 10_000

export interface TokenBucketOptions {
  /** Tokens of a full bucket: how many may be taken at once. */
  capacity: number
  /** Milliseconds in which one token comes back. */
  refillMs: number
  /** Unix milliseconds. */
  now: () => number
}

/** Makes token buckets by key, such as a caller or a host. */
export function createTokenBuckets({ capacity, refillMs, now }: TokenBucketOptions) {
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: MAX_KEYS })
  return {
    /** Takes tokens. Returns 0, or takes none and returns the whole seconds until there are enough. */
    take(key: string, tokens = 1): number {
      const at = now()
      const known = buckets.get(key) ?? { tokens: capacity, at }
      const left = Math.min(capacity, known.tokens + (at - known.at) / refillMs)
      const isEnough = left >= tokens
      buckets.set(key, { tokens: isEnough ? left - tokens : left, at })
      return isEnough ? 0 : Math.max(1, Math.ceil(((tokens - left) * refillMs) / 1000))
    },
  }
}

const HOUR_MS = 3_600_000

/** Makes counts by key within an hour, which begins with its first use. `now` is in Unix milliseconds. */
export function createHourlyCounts(now: () => number) {
  let counts = new Map<string, number>()
  let endsAt = Number.NEGATIVE_INFINITY

  function current(): Map<string, number> {
    if (now() >= endsAt) {
      endsAt = now() + HOUR_MS
      counts = new Map()
    }
    return counts
  }

  return {
    of: (key: string): number => current().get(key) ?? 0,
    /** Adds to a count, and returns how to take that back. Once the hour is over, taking it back does nothing. */
    add(key: string, count: number): () => void {
      const hour = current()
      const change = (by: number) => hour.set(key, (hour.get(key) ?? 0) + by)
      change(count)
      return () => void change(-count)
    },
    has: (key: string): boolean => current().has(key),
    /** Returns the number of keys with a count in this hour. */
    size: (): number => current().size,
    /** Returns the whole seconds until the hour ends, at least 1. */
    secondsLeft: (): number => Math.max(1, Math.ceil((endsAt - now()) / 1_000)),
  }
}
