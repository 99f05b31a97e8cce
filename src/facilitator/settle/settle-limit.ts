import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { rateLimitFault } from '../../http/errors.js'
import { callerOf, type HeldRequest, type RateLimiter } from '../../http/rate-limit.js'
import { isFree, isUndecided, type SettleResult } from '../answers.js'
import type { TakeSignature, TakeVerified } from '../verify/verified-payments.js'

/** Ends a settle that was let in. It is called once, without a result if the settle failed. */
export type Leave = (result: SettleResult | undefined) => void

/** Lets settles in under the caller's rate limit. Both reject with a `RequestFault` (429). */
export interface SettleLimit {
  /** Looks at the bytes of a body before it is parsed: past the limit, only one that may be let in is. */
  checkUnparsed(request: Pick<FastifyRequest, 'ip'>, body: Buffer): void
  enter(request: SettlesAsked, points: number): Promise<Leave>
}

type SettlesAsked = Pick<FastifyRequest, 'ip' | 'body'>

/** The number of answers about one payment that are not counted: its success, and some that say it is pending. */
const FREE_ANSWERS = 8
/** The number of payments whose answers are remembered. */
const MAX_ANSWERED = 20_000
/** The points of one caller's settles that may wait for room, and how long they wait. */
const MAX_WAITING = 1_000
const PATIENCE_MS = 10_000

interface Waiter {
  points: number
  admit(held: HeldRequest): void
  refuse(): void
}

/** The unverified settles of one caller: those in progress, and those that wait for room. */
interface Queue {
  held: number
  waiting: Set<Waiter>
  /** Points of those that wait. */
  waitingPoints: number
}

/**
 * Applies the rate limit to settles. A settle is counted when it comes in, and the count is given back when it ends in
 * success or pending, a few times for each payment: so a flood of forged settles meets the limit, and good ones do not.
 * If only settles in progress fill the limit, the next one waits for them. Payments that verify found valid are let in
 * uncounted, and counted afterwards if they are refused. A charge of nothing costs nobody anything, so it is free only in
 * the turns of a verified payment.
 */
export function createSettleLimit(
  limiter: RateLimiter,
  { takeVerified, takeSignature }: { takeVerified: TakeVerified; takeSignature: TakeSignature },
): SettleLimit {
  const queues = new Map<string, Queue>()
  const answered = new LRUCache<string, number>({ max: MAX_ANSWERED })

  function isUncounted(result: SettleResult | undefined): boolean {
    if (result?.settlementId === undefined || !isGood(result)) return false
    const times = (answered.get(result.settlementId) ?? 0) + 1
    answered.set(result.settlementId, times)
    return times <= FREE_ANSWERS
  }

  /** Returns whether settles in progress of a caller may yet give back what one more needs. */
  function mayFree(queue: Queue | undefined): queue is Queue {
    return queue !== undefined && queue.held > 0 && queue.waitingPoints < MAX_WAITING
  }

  async function hold(request: SettlesAsked, points: number): Promise<HeldRequest> {
    const held = limiter.hold(request, points)
    const caller = callerOf(request.ip)
    const queue = queues.get(caller) ?? { held: 0, waiting: new Set(), waitingPoints: 0 }
    if (held.limited) {
      if (!mayFree(queue)) throw rateLimitFault(held.resetSeconds)
      return wait(queue, points, held.resetSeconds)
    }
    queue.held++
    queues.set(caller, queue)
    return held
  }

  function wait(queue: Queue, points: number, resetSeconds: number): Promise<HeldRequest> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        if (queue.waiting.delete(waiter)) queue.waitingPoints -= points
        settle()
      }
      const waiter: Waiter = {
        points,
        admit: (held) => end(() => resolve(held)),
        refuse: () => end(() => reject(rateLimitFault(resetSeconds))),
      }
      const timer = setTimeout(waiter.refuse, PATIENCE_MS)
      queue.waiting.add(waiter)
      queue.waitingPoints += points
    })
  }

  function release(request: Pick<FastifyRequest, 'ip'>): void {
    const caller = callerOf(request.ip)
    const queue = queues.get(caller)
    if (queue === undefined) return
    queue.held--
    for (const waiter of queue.waiting) {
      const held = limiter.hold(request, waiter.points)
      if (held.limited) break
      queue.held++
      waiter.admit(held)
    }
    if (queue.held > 0) return
    // No settle in progress is left that could make room.
    for (const waiter of queue.waiting) waiter.refuse()
    queues.delete(caller)
  }

  return {
    checkUnparsed(request, body) {
      const { limited, resetSeconds } = limiter.look(request)
      if (!limited || mayFree(queues.get(callerOf(request.ip)))) return
      if (!signaturesIn(body).some(takeSignature)) throw rateLimitFault(resetSeconds)
    },
    async enter(request, points) {
      if (takeVerified(request.body)) {
        return (result) => {
          if (result === undefined || isUncounted(result)) return
          // The turns of a verified payment are few, so a seller who charges nothing for it is not slowed.
          if (!isFree(result)) limiter.consume(request, points)
        }
      }
      const held = await hold(request, points)
      return (result) => {
        if (isUncounted(result)) held.giveBack()
        release(request)
      }
    },
  }
}

/** A member of that name, as every client writes it, with the hex of 65 bytes or more. */
const SIGNATURE = /"signature"\s*:\s*"(0x[0-9a-fA-F]{130,20000})"/g
/** A payment has one signature, and a deposit one beside that of its voucher. */
const MAX_SIGNATURES = 3

/** Finds the signatures in the bytes of a payment. */
function signaturesIn(body: Buffer): string[] {
  const signatures: string[] = []
  for (const [, signature = ''] of body.toString('latin1').matchAll(SIGNATURE)) {
    if (signatures.push(signature.toLowerCase()) === MAX_SIGNATURES) break
  }
  return signatures
}

function isGood({ body }: SettleResult): boolean {
  return body.success || isUndecided(body)
}
