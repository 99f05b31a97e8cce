import type { FastifyRequest } from 'fastify'
import { rateLimitFault } from '../http/errors.js'
import type { HeldRequest, RateLimiter } from '../http/rate-limit.js'
import { callerOf } from '../http/rate-limit.js'
import { createRecentMemory } from './recent-memory.js'
import type { SettleResult } from './settler.js'
import type { TakeVerified } from './verified.js'

/** Called once when a settle that was let in is over; without a result where it failed. */
export type Leave = (result: SettleResult | undefined) => void

/** Lets settles in by the pace of their callers. Rejects with a `RequestFault` (429). */
export type SettlePace = (request: Pick<FastifyRequest, 'ip' | 'body'>) => Promise<Leave>

/** Answers about one payment that are not counted: its success, and some that say it is under way. */
const FREE_ANSWERS = 8
/** Payments whose answers are remembered. */
const MAX_REMEMBERED = 20_000
/** Settles of one caller that wait for room, and how long. */
const MAX_WAITING = 1_000
const PATIENCE_MS = 10_000

interface Waiter {
  admit(held: HeldRequest): void
  refuse(): void
}

/** What one caller has under way that nobody verified here. */
interface Queue {
  held: number
  waiting: Set<Waiter>
}

/**
 * A settle is counted as it comes in, and the count is taken back when it ends in success or pending, a few times for
 * each payment: so forged ones that come all at once are as many as the limit, and good ones are none. Where only what is
 * under way stands against another, it waits for that to end. What verify found valid here is let in uncounted, and
 * counted afterwards if it is refused.
 */
export function createSettlePace(limiter: RateLimiter, takeVerified: TakeVerified): SettlePace {
  const queues = new Map<string, Queue>()
  const answered = createRecentMemory<string, number>(MAX_REMEMBERED)

  function isFree(result: SettleResult | undefined): boolean {
    if (result?.settlementId === undefined || !isGood(result)) return false
    const times = (answered.get(result.settlementId) ?? 0) + 1
    answered.set(result.settlementId, times)
    return times <= FREE_ANSWERS
  }

  async function hold(request: Pick<FastifyRequest, 'ip'>): Promise<HeldRequest> {
    const held = limiter.hold(request)
    const caller = callerOf(request.ip)
    const queue = queues.get(caller) ?? { held: 0, waiting: new Set() }
    if (held.limited) {
      const mayFree = queue.held > 0 && queue.waiting.size < MAX_WAITING
      if (!mayFree) throw rateLimitFault(held.retryAfterSeconds)
      return wait(queue, held.retryAfterSeconds)
    }
    queue.held++
    queues.set(caller, queue)
    return held
  }

  function wait({ waiting }: Queue, retryAfterSeconds: number): Promise<HeldRequest> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        waiting.delete(waiter)
        settle()
      }
      const waiter: Waiter = {
        admit: (held) => end(() => resolve(held)),
        refuse: () => end(() => reject(rateLimitFault(retryAfterSeconds))),
      }
      const timer = setTimeout(waiter.refuse, PATIENCE_MS)
      waiting.add(waiter)
    })
  }

  function release(request: Pick<FastifyRequest, 'ip'>): void {
    const caller = callerOf(request.ip)
    const queue = queues.get(caller)
    if (queue === undefined) return
    queue.held--
    for (const waiter of queue.waiting) {
      const held = limiter.hold(request)
      if (held.limited) break
      queue.held++
      waiter.admit(held)
    }
    if (queue.held > 0) return
    // Nothing is under way any more that could make room.
    for (const waiter of queue.waiting) waiter.refuse()
    queues.delete(caller)
  }

  return async (request) => {
    if (takeVerified(request.body)) {
      return (result) => {
        if (result !== undefined && !isFree(result)) limiter.consume(request)
      }
    }
    const held = await hold(request)
    return (result) => {
      if (isFree(result)) held.giveBack()
      release(request)
    }
  }
}

function isGood({ body }: SettleResult): boolean {
  return body.success || body.errorReason === 'settlement_pending'
}
