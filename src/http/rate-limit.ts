import { isIPv6 } from 'node:net'
import { Transform } from 'node:stream'
import {
  costOf,
  pointsOf,
  pointsOfAnswer,
  type RouteCost,
  usualCost,
} from '@arcus/protocol/answers/costs'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isKept } from './cached-reply.js'
import { rateLimitFault } from './errors.js'
import './operation.js'

/** What is left of a caller's allowance. */
interface Allowance {
  limited: boolean
  /** Points; 0 when limited. */
  left: number
  /** Seconds until the window ends, at least 1. */
  resetSeconds: number
}

type Asking = Pick<FastifyRequest, 'ip'>

/** A request whose points are charged until it is known whether they shall be. */
export interface HeldRequest extends Allowance {
  limited: false
  /** Takes the points back, unless their window is over. Call it once at most. */
  giveBack(): void
}

/** One allowance per caller over all routes, in points, in windows that start with a caller's first request. */
export interface RateLimiter {
  /** Points of a window. */
  max: number
  windowSeconds: number
  /** Charges a request with one point unless said; limited when it is past the allowance. */
  consume(request: Asking, points?: number): Allowance
  /** Charges a request for now, unless less is left than one point: then it is limited and not charged. */
  hold(request: Asking, points?: number): HeldRequest | (Allowance & { limited: true })
  /** Shows the remaining allowance without a charge; limited where `hold` would be. */
  look(request: Asking): Allowance
}

interface RateLimitOptions {
  /** Points a window; 0 is no limit. A plain request costs one. */
  max: number
  windowSeconds: number
  /** Unix milliseconds, by a clock that all processes of an exchange share; `Date.now` if absent. */
  now?: () => number
}

/** The points that all processes charged a caller with in its window. */
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
  /** Returns the callers with at least this number of points, in windows that are not over. */
  busiest(atLeast: number, now: number): Promise<Total[]>
  forget(now: number): Promise<void>
}

/** The header by which the server of the other half says how many bytes of an answer it made. */
export const MADE_BYTES = 'arcus-made-bytes'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by `installRateLimit`, from the name of the route. */
    cost?: RouteCost
  }
  interface FastifyInstance {
    /** Absent where there is no limit. */
    limiter?: RateLimiter
  }
}

/**
 * Limits requests per IP, by what they cost. Routes are charged and refused (429) before their body is read unless their
 * config says `limit: 'exempt'`, or `'manual'` for a handler that asks the limiter itself. Bodies of unknown length and
 * answers are charged when they have passed. Returns `undefined` if there is no limit. Call it before the first route.
 */
export function installRateLimit(
  app: FastifyInstance,
  options: RateLimitOptions,
  /** Present if callers are counted together with other processes. */
  exchange?: CountExchange,
): RateLimiter | undefined {
  if (options.max === 0) return undefined
  const limiter = createPointCounter({
    now: () => Date.now(),
    ...options,
    exchange,
    onError: (err) => app.log.warn({ err }, 'requests could not be counted together'),
  })
  app.decorate('limiter', limiter)
  app.addHook('onClose', async () => limiter.stop())
  app.addHook('onRoute', (route) => {
    const name = `${String(route.method)} ${route.url.replace(/:(\w+)/g, '{$1}')}`
    route.config = { cost: costOf(name), ...route.config }
  })
  app.addHook('onRequest', async (request, reply) => {
    if (!isCounted(request)) return
    const allowance = limiter.consume(request, pointsAsked(request))
    tellAllowance(reply, limiter, allowance)
    if (allowance.limited) throw rateLimitFault(allowance.resetSeconds)
  })
  app.addHook('preParsing', async (request, _reply, payload) => {
    const { limit, isForwarded } = request.routeOptions.config
    const isUnknown = request.headers['transfer-encoding'] !== undefined
    if (!isUnknown || isForwarded || limit === 'exempt') return payload
    return countBytes(payload, (bytes) => chargeBody(request, bytes))
  })
  // Answers that are forwarded rely on hooks that do not wait.
  app.addHook('onSend', (request, reply, payload, done) => {
    chargeAnswer(request, madeBytes(reply, payload))
    done(null, payload)
  })
  return limiter
}

/** Charges the bytes of an answer that was made for a request. */
export function chargeAnswer(request: FastifyRequest, bytes: number): void {
  const { limit, cost = usualCost } = request.routeOptions.config
  const points = limit === 'exempt' ? 0 : pointsOfAnswer(cost, bytes)
  if (points > 0) request.server.limiter?.consume(request, points)
}

function isCounted({ routeOptions: { config } }: FastifyRequest): boolean {
  return (config.limit ?? 'counted') === 'counted'
}

/** Returns the points of a request by the number of its claims and the length that it states for its body. */
export function pointsAsked(
  { headers, routeOptions: { config } }: Pick<FastifyRequest, 'headers' | 'routeOptions'>,
  rows = 0,
): number {
  const bodyBytes = Number(headers['content-length'] ?? 0)
  return pointsOf(config.cost ?? usualCost, { bodyBytes, rows })
}

/** Charges what a body that did not say its length came to. */
export function chargeBody(request: FastifyRequest, bodyBytes: number): void {
  const { cost = usualCost } = request.routeOptions.config
  const points = pointsOf({ ...cost, request: 0 }, { bodyBytes })
  if (points > 0) request.server.limiter?.consume(request, points)
}

/** Passes a body on and reports its length at its end. */
function countBytes(payload: RequestPayload, onEnd: (bytes: number) => void): RequestPayload {
  let bytes = 0
  const counted = new Transform({
    transform(part: Buffer, _encoding, pass) {
      bytes += part.length
      pass(null, part)
    },
    final(pass) {
      onEnd(bytes)
      pass()
    },
  })
  payload.on('error', (error) => counted.destroy(error))
  return payload.pipe(counted)
}

/** Tells the server in front of this one how many bytes of each answer were made. Call it before answers are compressed. */
export function reportMadeBytes(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const bytes = madeBytes(reply, payload)
    if (bytes > 0) reply.header(MADE_BYTES, bytes)
    done(null, payload)
  })
}

/** Returns the length of an answer that was made for this request; streams count nothing. */
function madeBytes(reply: FastifyReply, payload: unknown): number {
  if (isKept(reply)) return 0
  if (typeof payload === 'string') return Buffer.byteLength(payload)
  return payload instanceof Uint8Array ? payload.byteLength : 0
}

/** Sets the headers of the allowance (draft-ietf-httpapi-ratelimit-headers). The units are points. */
export function tellAllowance(
  reply: FastifyReply,
  { max, windowSeconds }: Pick<RateLimiter, 'max' | 'windowSeconds'>,
  { left, resetSeconds }: Allowance,
): void {
  reply.header('ratelimit-policy', `"default";q=${max};w=${windowSeconds}`)
  reply.header('ratelimit', `"default";r=${left};t=${resetSeconds}`)
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

interface PointCounterOptions extends RateLimitOptions {
  /** `undefined` if there is no other process. */
  exchange: CountExchange | undefined
  /** Unix milliseconds. */
  now: () => number
  onError(error: unknown): void
}

interface CallerPoints {
  /** Points at all processes as of the last exchange. */
  total: number
  /** Points that are being sent to the other processes. */
  sending: number
  /** Points charged here since. */
  unsent: number
  endsAt: number
  /** True if the caller was charged or looked up since the last exchange. */
  isTouched: boolean
}

/** The longest time for which one process does not know of points at another. */
const EXCHANGE_MS = 1_000
const FORGET_EVERY = 60
/** Callers remembered at once; the one that was idle for longest is forgotten first. */
const MAX_CALLERS = 100_000

/**
 * Counts points at once, and every second exchanges counts with the other processes, if there are any. Exchanged are
 * the callers that came here and those that have spent half their allowance anywhere. So the allowance holds over all
 * processes, give or take the points of one second, or half of it at a process where a caller is new. If the
 * database is unreachable, each process counts by itself.
 */
function createPointCounter(options: PointCounterOptions): RateLimiter & { stop(): void } {
  const { max, windowSeconds, now, onError } = options
  const windowMs = windowSeconds * 1_000
  const callers = new LRUCache<string, CallerPoints>({ max: MAX_CALLERS })
  /** From this count on other processes learn of a caller that has not come to them yet. */
  const busy = Math.ceil(max / 2)
  let exchanges = 0
  let isExchanging = false

  function find(ip: string): CallerPoints {
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

  function allowanceOf(caller: CallerPoints, limited: boolean): Allowance {
    const seconds = Math.ceil((caller.endsAt - now()) / 1_000)
    const left = Math.max(0, max - counted(caller))
    return { limited, left: limited ? 0 : left, resetSeconds: Math.max(1, seconds) }
  }

  const counted = ({ total, sending, unsent }: CallerPoints) => total + sending + unsent

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
    max,
    windowSeconds,
    consume({ ip }, points = 1) {
      const caller = find(ip)
      // A request may cost more than is left, or than anybody has: it is let in while a point is left.
      const limited = counted(caller) >= max
      caller.unsent += limited ? 1 : points
      return allowanceOf(caller, limited)
    },
    hold({ ip }, points = 1) {
      const caller = find(ip)
      if (counted(caller) >= max) return { ...allowanceOf(caller, true), limited: true }
      caller.unsent += points
      return {
        ...allowanceOf(caller, false),
        limited: false,
        giveBack() {
          if (caller.endsAt <= now()) return
          caller.unsent -= points
          caller.isTouched = true
        },
      }
    },
    look({ ip }) {
      const caller = find(ip)
      return allowanceOf(caller, counted(caller) >= max)
    },
    stop: () => clearInterval(timer),
  }
}
