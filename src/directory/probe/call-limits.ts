import { createTokenBuckets, type TokenBucketOptions } from '../../async/limits.js'
import { httpFault, type RequestFault, rateLimitFault } from '../../http/errors.js'
import { hostKey } from './target-rules.js'

export interface CallBudgetOptions {
  /** Unix milliseconds. */
  now: () => number
  /** Calls that run at once for all callers together. */
  maxConcurrent?: number
  /**
   * Calls that have run for longer than `afterMs` do not count as running, up to `places` of them. So slow hosts do not
   * use up the calls of quick ones.
   */
  slow?: { afterMs: number; places: number }
  /** Calls that run at once for one caller, to one host and of one merchant; as many as for all unless given. */
  maxConcurrentEach?: number
  perCaller?: Omit<TokenBucketOptions, 'now'>
  perHost?: Omit<TokenBucketOptions, 'now'>
}

const BUSY_SECONDS = 5

export type CallBudget = ReturnType<typeof createCallBudget>

/** Creates the bounds on calls that strangers cause: per caller, per host, and at once. */
export function createCallBudget(options: CallBudgetOptions) {
  const { now, maxConcurrent = 4, maxConcurrentEach = maxConcurrent } = options
  const { slow = { afterMs: 0, places: 0 } } = options
  const callers = createTokenBuckets({ capacity: 20, refillMs: 6_000, ...options.perCaller, now })
  const hosts = createTokenBuckets({ capacity: 20, refillMs: 6_000, ...options.perHost, now })
  /** The calls that run now, each with its start and the names of its caller, its host and its merchant. */
  const running = new Set<{ at: number; names: readonly string[] }>()

  function isFull(): boolean {
    const slowOnes = [...running].filter(({ at }) => now() - at >= slow.afterMs).length
    return running.size - Math.min(slowOnes, slow.places) >= maxConcurrent
  }

  function isBusy(name: string): boolean {
    return [...running].filter(({ names }) => names.includes(name)).length >= maxConcurrentEach
  }

  return {
    /** Runs the work, or throws a 429 that says when to try again. `merchant` is the id of the one whose endpoint it is. */
    async spend<T>(
      caller: string,
      host: string,
      work: () => Promise<T>,
      merchant?: string,
    ): Promise<T> {
      const callerWait = callers.take(caller)
      if (callerWait > 0) throw rateLimitFault(callerWait)
      const names = [`from ${caller}`, `to ${host}`]
      if (merchant !== undefined) names.push(`of ${merchant}`)
      if (isFull() || names.some(isBusy)) {
        throw tooMany('Too many endpoints are being called at this moment', BUSY_SECONDS)
      }
      const hostWait = hosts.take(host)
      if (hostWait > 0) throw tooMany('This host was checked too often just now', hostWait)
      const call = { at: now(), names }
      running.add(call)
      try {
        return await work()
      } finally {
        running.delete(call)
      }
    },
  }
}

/** Makes a 429 for a reason other than the caller's own pace. */
function tooMany(what: string, retryAfterSeconds: number): RequestFault {
  const text = `${what}; try again in ${retryAfterSeconds} seconds.`
  return httpFault('rate_limited', text, retryAfterSeconds)
}

/** Least time between two calls of one host, from the end of the first. */
export const GAP_MS = 1_000
/** Hosts remembered at once; those whose gap is over are forgotten first. */
const MAX_HOSTS = 10_000
const RETRY_MS = 50
/** The longest that a call waits for the earlier calls to its host. */
const TURN_WAIT_MS = 5_000

export type HostPace = ReturnType<typeof createHostPace>

/** Creates the pace of calls to one host: one at a time, with a gap between them. `now` is in milliseconds. */
export function createHostPace(now: () => number) {
  /** Infinity while a call runs. */
  const freeAt = new Map<string, number>()

  function enter(url: string): boolean {
    const host = hostKey(url)
    if ((freeAt.get(host) ?? 0) > now()) return false
    freeAt.set(host, Number.POSITIVE_INFINITY)
    return true
  }

  async function enterSoon(url: string): Promise<boolean> {
    const until = now() + TURN_WAIT_MS
    while (!enter(url)) {
      if (now() >= until) return false
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    return true
  }

  function leave(url: string): void {
    freeAt.set(hostKey(url), now() + GAP_MS)
    if (freeAt.size <= MAX_HOSTS) return
    for (const [host, at] of freeAt) if (at <= now()) freeAt.delete(host)
  }

  return {
    /** Reserves the URL's host for a call; `false` if another call has it. */
    enter,
    /** Waits until the host is free and reserves it; `false` if that takes too long. */
    enterSoon,
    /** Frees the host for the next call. */
    leave,
    /** Runs the work while the URL's host is reserved for it, or throws a 429 if the host is not free soon. */
    async inTurn<T>(url: string, work: () => Promise<T>): Promise<T> {
      if (!(await enterSoon(url))) {
        throw tooMany('This host is being checked at this moment', BUSY_SECONDS)
      }
      try {
        return await work()
      } finally {
        leave(url)
      }
    },
  }
}
