import type { BazaarStatus } from '@arcus/protocol/x402/bazaar'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import { createPolling } from '../../async/polling.js'
import type { OfferingPayment } from '../../directory/seen-in-payments/offer.js'
import { AnswerQueue, type AnswerQueueOptions } from './answer-queue.js'
import { OfferQueue, type OfferQueueOptions } from './offer-queue.js'

/** The pause between two looks for the outcome of an offer. */
const OUTCOMES_MS = 250

/**
 * Hands over to the directory what it needs to know of payments: every answer, for figures, and the resources of settled
 * payments. It only writes rows; nobody here waits for the directory.
 */
export function createHandOver(options: AnswerQueueOptions & OfferQueueOptions) {
  const answers = new AnswerQueue(options)
  const offers = new OfferQueue(options)
  const outcomes = createPolling({
    poll: () => offers.readOutcomes(),
    everyMs: OUTCOMES_MS,
    onError: (err) => options.log.warn({ err }, 'what became of offers could not be read'),
  })
  outcomes.start()
  return {
    /** Takes in an answer; as cheap as a push, and never throws. */
    onAnswer: (answer: PaymentAnswer): void => answers.add(answer),
    /** Takes in the resource of a settled payment, and returns what is known of it; `undefined` where it names none. */
    offerResource: (settled: OfferingPayment): BazaarStatus | undefined => offers.offer(settled),
    /** Counts the answers that were dropped: they came too fast, or the directory has not taken the earlier ones. */
    dropped: (): number => answers.dropped(),
    /** Writes the waiting answers; the last call. */
    async stop(): Promise<void> {
      await outcomes.stop()
      await answers.stop()
    },
  }
}

export type HandOver = ReturnType<typeof createHandOver>
