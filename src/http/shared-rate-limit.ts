import type { RateLimiter, RateLimitOptions, RateLimitState } from './rate-limit.js'

/** Where processes add up what each of them counted. Times are Unix milliseconds. */
export interface CountExchange {
  add(
    counts: readonly { caller: string; count: number }[],
    now: number,
    windowMs: number,
  ): Promise<{ caller: string; count: number; endsAt: number }[]>
  forget(now: number): Promise<void>
}

export interface SharedLimiterOptions extends RateLimitOptions {
  exchange: CountExchange
  callerOf(ip: string): string
  /** Unix milliseconds. */
  now: () => number
  onError(error: unknown): void
}

interface Caller {
  /** As of the last exchange, by everybody. */
  total: number
  /** On its way to the others. */
  sending: number
  /** Counted here since. */
  unsent: number
  endsAt: number
  /** Asked about or counted since the last exchange. */
  isTouched: boolean
}

/** How far behind one process is about requests at another. */
const EXCHANGE_MS = 1_000
const FORGET_EVERY = 60
/** Callers remembered at once; past this the one not heard of for longest is forgotten. */
const MAX_CALLERS = 100_000

/**
 * Counts at once what comes here, and every second exchanges counts with the other processes: a caller's allowance is
 * one for all of them, give or take what it sends within a second. Without the database each counts for itself.
 */
export function createSharedLimiter(options: SharedLimiterOptions): RateLimiter & { stop(): void } {
  const { max, exchange, callerOf, now, onError } = options
  const windowMs = options.windowSeconds * 1_000
  const callers = new Map<string, Caller>()
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
    // Written anew, so that the map stays in order of use.
    callers.delete(name)
    callers.set(name, caller)
    if (callers.size > MAX_CALLERS) callers.delete(callers.keys().next().value as string)
    return caller
  }

  function stateOf({ endsAt }: Caller, limited: boolean): RateLimitState {
    const seconds = Math.ceil((endsAt - now()) / 1_000)
    return { limited, retryAfterSeconds: limited ? Math.max(1, seconds) : 0 }
  }

  const counted = ({ total, sending, unsent }: Caller) => total + sending + unsent

  async function exchangeCounts(): Promise<void> {
    if (isExchanging) return
    const told = [...callers].filter(([, caller]) => caller.isTouched)
    if (told.length === 0) return
    isExchanging = true
    for (const [, caller] of told) {
      caller.isTouched = false
      caller.sending = caller.unsent
      caller.unsent = 0
    }
    try {
      const counts = told.map(([name, { sending }]) => ({ caller: name, count: sending }))
      for (const { caller: name, count, endsAt } of await exchange.add(counts, now(), windowMs)) {
        const caller = callers.get(name)
        if (caller !== undefined) Object.assign(caller, { total: count, sending: 0, endsAt })
      }
      if (exchanges++ % FORGET_EVERY === 0) await exchange.forget(now())
    } catch (error) {
      for (const [, caller] of told) {
        caller.unsent += caller.sending
        caller.sending = 0
      }
      onError(error)
    } finally {
      isExchanging = false
    }
  }

  const timer = setInterval(exchangeCounts, EXCHANGE_MS)
  timer.unref()

  return {
    async consume({ ip }) {
      const caller = find(ip)
      caller.unsent++
      return stateOf(caller, counted(caller) > max)
    },
    async peek({ ip }) {
      const caller = find(ip)
      return stateOf(caller, counted(caller) >= max)
    },
    stop: () => clearInterval(timer),
  }
}
