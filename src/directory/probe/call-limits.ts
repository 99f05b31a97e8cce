import { RequestFault, rateLimitFault } from '../../http/errors.js'
import { createTokenBuckets, type TokenBucketOptions } from '../../http/limiter.js'
import { parseUrl } from '../../x402/parse-url.js'
import { reasons } from '../../x402/reasons.js'

export interface CallBudgetOptions {
  /** Unix milliseconds. */
  now: () => number
  /** Calls that run at once for all callers together. */
  maxConcurrent?: number
  /**
   * Calls that have run for longer than `afterMs` do not count as running, up to `places` of them. So slow hosts do not
   * take the places of quick ones.
   */
  slow?: { afterMs: number; places: number }
  /** Calls that run at once for one caller, to one host and of one merchant; as many as for all unless given. */
  maxConcurrentEach?: number
  perCaller?: Omit<TokenBucketOptions, 'now'>
  perHost?: Omit<TokenBucketOptions, 'now'>
}

/** The bounds on calls that strangers cause: per caller, per host, and at once. */
export interface CallBudget {
  /** Runs the work, or throws a 429 that says when to try again. `merchant` is the id of the one whose endpoint it is. */
  spend<T>(caller: string, host: string, work: () => Promise<T>, merchant?: string): Promise<T>
}

const BUSY_SECONDS = 5

export function createCallBudget(options: CallBudgetOptions): CallBudget {
  const { now, maxConcurrent = 4, maxConcurrentEach = maxConcurrent } = options
  const { slow = { afterMs: 0, places: 0 } } = options
  const callers = createTokenBuckets({ capacity: 20, refillMs: 6_000, ...options.perCaller, now })
  const hosts = createTokenBuckets({ capacity: 20, refillMs: 6_000, ...options.perHost, now })
  /** Calls that run now, by the name of their caller, of their host and of the merchant. */
  const running = new Map<string, number>()
  /** The start of each call that runs now. */
  const underWay = new Set<{ at: number }>()

  function isFull(): boolean {
    const isSlow = ({ at }: { at: number }) => now() - at >= slow.afterMs
    const slowOnes = Math.min([...underWay].filter(isSlow).length, slow.places)
    return underWay.size - slowOnes >= maxConcurrent
  }

  function count(name: string, by: 1 | -1): void {
    const left = (running.get(name) ?? 0) + by
    if (left > 0) running.set(name, left)
    else running.delete(name)
  }

  return {
    async spend(caller, host, work, merchant) {
      const callerWait = callers.take(caller)
      if (callerWait > 0) throw rateLimitFault(callerWait)
      const names = [`from ${caller}`, `to ${host}`]
      if (merchant !== undefined) names.push(`of ${merchant}`)
      const isBusy = names.some((name) => (running.get(name) ?? 0) >= maxConcurrentEach)
      if (isFull() || isBusy) {
        throw tooMany('Too many endpoints are being called at this moment', BUSY_SECONDS)
      }
      const hostWait = hosts.take(host)
      if (hostWait > 0) throw tooMany('This host was checked too often just now', hostWait)
      const call = { at: now() }
      underWay.add(call)
      for (const name of names) count(name, 1)
      try {
        return await work()
      } finally {
        underWay.delete(call)
        for (const name of names) count(name, -1)
      }
    },
  }
}

/** Makes a 429 for a reason other than the caller's own pace. */
function tooMany(what: string, retryAfterSeconds: number): RequestFault {
  return new RequestFault({
    statusCode: 429,
    code: reasons.rateLimited.code,
    message: `${what}; try again in ${retryAfterSeconds} seconds.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}

/** Least time between two calls of one host, from the end of the first. */
const GAP_MS = 1_000
/** Hosts remembered at once; those whose gap is over are forgotten first. */
const MAX_HOSTS = 10_000
const RETRY_MS = 50

/** The pace of calls to one host: one at a time, with a gap between them. */
export interface HostPace {
  /** Takes the host's turn; `false` if it is not free. */
  enter(host: string): boolean
  /** Waits for the host's turn; `false` if it does not come within the time. */
  enterWithin(host: string, waitMs: number): Promise<boolean>
  /** Ends the turn. */
  leave(host: string): void
}

/** `now` is in milliseconds. */
export function createHostPace(now: () => number, gapMs = GAP_MS): HostPace {
  /** Infinity while a call runs. */
  const freeAt = new Map<string, number>()

  function forgetFree(): void {
    for (const [host, at] of freeAt) if (at <= now()) freeAt.delete(host)
  }

  function enter(host: string): boolean {
    if ((freeAt.get(host) ?? 0) > now()) return false
    freeAt.set(host, Number.POSITIVE_INFINITY)
    return true
  }

  return {
    enter,
    async enterWithin(host, waitMs) {
      const until = now() + waitMs
      while (!enter(host)) {
        if (now() >= until) return false
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
      return true
    },
    leave(host) {
      freeAt.set(host, now() + gapMs)
      if (freeAt.size > MAX_HOSTS) forgetFree()
    },
  }
}

/** Returns the host whose turn a URL takes, with its port unless that is the usual one. */
export function hostKey(url: string): string {
  return parseUrl(url)?.host ?? url
}

/** Longest wait of a call for the turn of its host. */
export const TURN_WAIT_MS = 5_000

/** Runs the work in the turn of the URL's host, or throws a 429 if that does not come soon. */
export async function inTurn<T>(pace: HostPace, url: string, work: () => Promise<T>): Promise<T> {
  const host = hostKey(url)
  if (!(await pace.enterWithin(host, TURN_WAIT_MS))) {
    throw tooMany('This host is being checked at this moment', BUSY_SECONDS)
  }
  try {
    return await work()
  } finally {
    pace.leave(host)
  }
}
