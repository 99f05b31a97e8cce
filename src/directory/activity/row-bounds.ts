import type { PaymentAnswer } from '../../x402/payment.js'
import type { Attribution } from './attribution.js'

/** How much is kept of an answer. */
export type Keeping =
  /** The answer itself, and sums of its endpoint. */
  | 'row'
  /** Sums of its endpoint. */
  | 'endpoint'
  /** Sums of its merchant as a whole. */
  | 'merchant'
  /** Sums of everybody. */
  | 'everybody'

/** Decides how much is kept of an answer about this merchant, and counts it. */
export type RowBounds = (answer: PaymentAnswer, found: Attribution | undefined) => Keeping

const HOUR_MS = 3_600_000
/** Answers within an hour that are kept each by itself: about one merchant, and in all. */
const MAX_SOUND = { each: 2_000, inAll: 20_000 }
const MAX_UNSOUND = { each: 100, inAll: 2_000 }
/** Merchants of which refusals are summed within an hour: anybody may name any. */
const MAX_MERCHANTS = 2_000

/**
 * Verify is open and costs nothing, so that what it leaves behind is bounded: what settled is always kept, other answers
 * so many an hour, and those about payments that were never sound have bounds of their own, so that they push out
 * nothing. Beyond that answers are counted, refused ones no longer by endpoint: a flood must not make a sum of each.
 * `now` in Unix milliseconds.
 */
export function createRowBounds(now: () => number): RowBounds {
  let hour = 0
  let sound = createCount()
  let unsound = createCount()

  function startHour(): void {
    const current = Math.floor(now() / HOUR_MS)
    if (current === hour) return
    hour = current
    sound = createCount()
    unsound = createCount()
  }

  return (answer, found) => {
    // The row is what tells a success that is told again.
    if (answer.state === 'settled') return 'row'
    if (found === undefined) return 'everybody'
    startHour()
    const { merchantId } = found
    if (isSound(answer)) return sound.take(merchantId, MAX_SOUND) ? 'row' : 'endpoint'
    if (unsound.take(merchantId, MAX_UNSOUND)) return 'row'
    return unsound.knows(merchantId) ? 'merchant' : 'everybody'
  }
}

/** Whether the payment was found valid, now or before: then it has a row of the journal. */
function isSound({ state, settlementId }: PaymentAnswer): boolean {
  return state === 'valid' || state === 'pending' || settlementId !== null
}

function createCount() {
  const counts = new Map<string, number>()
  let all = 0
  return {
    take(merchantId: string, most: { each: number; inAll: number }): boolean {
      const count = counts.get(merchantId) ?? 0
      if (counts.size < MAX_MERCHANTS && count === 0) counts.set(merchantId, 0)
      if (count >= most.each || all >= most.inAll) return false
      counts.set(merchantId, count + 1)
      all++
      return true
    },
    knows: (merchantId: string) => counts.has(merchantId),
  }
}
