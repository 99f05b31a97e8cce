import type { Refund } from './refund-ledger.js'
import { type PaymentOfRefund, refundNonce } from './refund-transfer.js'

/** Sees to it that one payment is given back of once, though it may be planned for by several calls. */
export interface OneRefund {
  /** A call plans this one, and knows not yet what becomes of the payment. */
  open(refund: Refund): void
  close(refund: Refund): void
  /** Whether a call is under way that presents the payment. */
  isOpen(refund: Refund): boolean
  /** The refund that stands for the payment: this one, unless another was taken before. */
  take(refund: Refund): Refund
  /** Whether one was taken for this payment. */
  isTaken(payment: PaymentOfRefund): boolean
  /** Forgets payments that cannot be presented again. */
  prune(now: number): void
}

/** How far clocks may be apart. */
export const CLOCK_SECONDS = 600
/** Of payments that buyers made valid for years no more is remembered. */
const MAX_KEPT_SECONDS = 86_400

/**
 * A buyer whose answer was lost presents the same payment again, and the second call may use more or less than the
 * first. The token lets one transfer through, whichever it is; so one of them is chosen here, and the ledger and the
 * buyer are told that one.
 */
export function createOneRefund(): OneRefund {
  const open = new Map<string, string>()
  const taken = new Map<string, { refund: Refund; until: number }>()

  return {
    open: (refund) => void open.set(refund.id, refundNonce(refund)),
    close: ({ id }) => void open.delete(id),
    isOpen(refund) {
      return open.size > 0 && [...open.values()].includes(refundNonce(refund))
    },
    take(refund) {
      const nonce = refundNonce(refund)
      const before = taken.get(nonce)?.refund
      if (before !== undefined && before.id !== refund.id) return before
      const now = Math.floor(Date.now() / 1000)
      const ends = Math.min(Math.max(refund.paymentValidBefore, now), now + MAX_KEPT_SECONDS)
      taken.set(nonce, { refund, until: ends + CLOCK_SECONDS })
      return refund
    },
    isTaken: (payment) => taken.has(refundNonce(payment)),
    prune(now) {
      for (const [nonce, { until }] of taken) if (until < now) taken.delete(nonce)
    },
  }
}
