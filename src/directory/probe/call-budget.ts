import { RequestFault, rateLimitFault } from '../../http/errors.js'
import { reasons } from '../../x402/reasons.js'

/** Callers and hosts remembered at once; past this the one not heard of for longest is forgotten. */
const MAX_KEYS = 10_000

interface BucketOptions {
  /** Calls that may come at once. */
  capacity: number
  /** Time in which one more is allowed. */
  refillMs: number
  /** Unix milliseconds. */
  now: () => number
}

/** Token buckets by key. */
export interface Buckets {
  /** Takes one; otherwise answers after how many seconds there is one, and takes none. */
  take(key: string): number
}

export function createBuckets({ capacity, refillMs, now }: BucketOptions): Buckets {
  const buckets = new Map<string, { tokens: number; at: number }>()
  return {
    take(key) {
      const at = now()
      const known = buckets.get(key) ?? { tokens: capacity, at }
      const tokens = Math.min(capacity, known.tokens + (at - known.at) / refillMs)
      const isAllowed = tokens >= 1
      // Written anew, so that the map stays in order of use.
      buckets.delete(key)
      buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, at })
      if (buckets.size > MAX_KEYS) buckets.delete(buckets.keys().next().value as string)
      return isAllowed ? 0 : Math.max(1, Math.ceil(((1 - tokens) * refillMs) / 1000))
    },
  }
}

export interface CallBudgetOptions {
  /** Unix milliseconds. */
  now: () => number
  /** Calls under way at once for all callers together. */
  maxConcurrent?: number
  perCaller?: Pick<BucketOptions, 'capacity' | 'refillMs'>
  perHost?: Pick<BucketOptions, 'capacity' | 'refillMs'>
}

/** What strangers may make this service call: little a caller, little a host, few at once. */
export interface CallBudget {
  /** Does the work, or throws a 429 that says when to come again. */
  spend<T>(caller: string, host: string, work: () => Promise<T>): Promise<T>
}

const BUSY_SECONDS = 5

export function createCallBudget(options: CallBudgetOptions): CallBudget {
  const { now, maxConcurrent = 4 } = options
  const callers = createBuckets({ capacity: 20, refillMs: 6_000, ...options.perCaller, now })
  const hosts = createBuckets({ capacity: 20, refillMs: 6_000, ...options.perHost, now })
  let underWay = 0
  return {
    async spend(caller, host, work) {
      const callerWait = callers.take(caller)
      if (callerWait > 0) throw rateLimitFault(callerWait)
      if (underWay >= maxConcurrent) {
        throw tooMany('Too many endpoints are being checked at this moment', BUSY_SECONDS)
      }
      const hostWait = hosts.take(host)
      if (hostWait > 0) throw tooMany('This host was checked too often just now', hostWait)
      underWay++
      try {
        return await work()
      } finally {
        underWay--
      }
    },
  }
}

/** 429 for a reason that is not the caller's own pace. */
export function tooMany(what: string, retryAfterSeconds: number): RequestFault {
  return new RequestFault({
    statusCode: 429,
    code: reasons.rateLimited.code,
    message: `${what}; try again in ${retryAfterSeconds} seconds.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
