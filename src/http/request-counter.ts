import type { RateLimiter, RateLimitOptions, RateLimitState } from './rate-limit.js'

/** What all processes counted of a caller in its window. */
interface Total {
  caller: string
  count: number
  /** Unix milliseconds. */
  endsAt: number
}

/** Where processes add up what each of them counted. Times are Unix milliseconds. */
export interface CountExchange {
  add(
    counts: readonly { caller: string; count: number }[],
    now: number,
    windowMs: number,
  ): Promise<Total[]>
  /** Who was counted so often, in windows that are not over. */
  busiest(atLeast: number, now: number): Promise<Total[]>
  forget(now: number): Promise<void>
}

export interface RequestCounterOptions extends RateLimitOptions {
  /** `undefined` where there is no other process. */
  exchange: CountExchange | undefined
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
 * Counts at once what comes here, and every second exchanges counts with the other processes, if there are any, of
 * callers who came here and of those who have spent half their allowance anywhere: it is one for all, give or take what
 * a caller sends within a second, or half of it where it comes anew. Without the database each counts for itself.
 */
export function createRequestCounter(
  options: RequestCounterOptions,
): RateLimiter & { stop(): void } {
  const { max, callerOf, now, onError } = options
  const windowMs = options.windowSeconds * 1_000
  const callers = new Map<string, Caller>()
  /** From here on a caller is told of to processes it has not asked yet. */
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
    remember(name, caller)
    return caller
  }

  function remember(name: string, caller: Caller): void {
    // Written anew, so that the map stays in order of use.
    callers.delete(name)
    callers.set(name, caller)
    if (callers.size > MAX_CALLERS) callers.delete(callers.keys().next().value as string)
  }

  /** What others counted of callers who may not have come here at all. */
  function learn({ caller: name, count, endsAt }: Total): void {
    const known = callers.get(name)
    if (known !== undefined) Object.assign(known, { total: count, endsAt })
    else remember(name, { total: count, sending: 0, unsent: 0, endsAt, isTouched: false })
  }

  function stateOf({ endsAt }: Caller, limited: boolean): RateLimitState {
    const seconds = Math.ceil((endsAt - now()) / 1_000)
    return { limited, retryAfterSeconds: limited ? Math.max(1, seconds) : 0 }
  }

  const counted = ({ total, sending, unsent }: Caller) => total + sending + unsent

  async function exchangeCounts(exchange: CountExchange): Promise<void> {
    if (isExchanging) return
    const told = [...callers].filter(([, caller]) => caller.isTouched)
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
      for (const total of await exchange.busiest(busy, now())) learn(total)
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
