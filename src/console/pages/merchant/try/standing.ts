import { ArcusError } from '@arcus/client/calls'
import type { SigningAnswer } from '@arcus/protocol/answers/listings'
import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { requestJson } from '../../../api/http.js'
import { paymentPath, readPayments } from '../../../api/payment-queries.js'
import type { TryAttempt } from './attempt.js'
import type { SignedPayment } from './payment.js'

/**
 * How a payment stands by the journal of the service. A seller could say anything, so one that only the seller calls paid is
 * `claimed`, and `unasked` where the service could not be asked.
 */
export type PaymentStanding =
  | 'paid'
  | 'settling'
  | 'failed'
  | 'checking'
  | 'claimed'
  | 'unasked'
  | 'unsent'
  | 'open'
  | 'expired'

const standings = {
  confirmed: 'paid',
  queued: 'settling',
  submitted: 'settling',
  failed: 'failed',
  // Others brought it on chain after it had failed here: the money left all the same.
  used: 'paid',
} as const

const ASK_MS = 2_000
/** While the paid call is under way: a payment settles in less than half a second. */
const QUICK_MS = 200
/** Seconds after the end of a payment in which the journal takes in what the chain says of it. */
const LAST_SECONDS = 5

/** Asks the service about a signed payment until it is decided or its time is over. */
export function useStanding({
  step,
  signed,
  settlement,
  repliedAt = 0,
  isUnsent = false,
}: TryAttempt): {
  standing: PaymentStanding | undefined
  payment: PaymentStatus | undefined
  /** Whether the payment may still be taken. Until it may not, no other one is signed. */
  isOpen: boolean
} {
  const path = paymentPath(signed ?? noPayment)
  const query = useQuery({
    queryKey: ['signed-payment', path],
    queryFn: async ({ signal }) => {
      const isLate = signed !== undefined && (await hasEnded(signed, signal))
      const payments = await readPayments(path, signal).catch((error) => {
        if (error instanceof ArcusError && error.status === 404) return []
        throw error
      })
      return { payments, isLate }
    },
    enabled: signed !== undefined && !isUnsent,
    retry: false,
    gcTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state: { data } }) => {
      const now = data?.payments.map(({ state }) => standings[state]) ?? []
      // A payment that failed may still be settled by the seller's next try.
      const isDecided = data?.isLate === true && !now.includes('settling')
      return isDecided || now.includes('paid') ? false : step === 'paying' ? QUICK_MS : ASK_MS
    },
  })
  const { refetch, data, dataUpdatedAt, errorUpdatedAt } = query
  const isTold = settlement?.success === true
  useEffect(() => {
    // A look-up from before the answer may know less than the answer.
    if (isTold && repliedAt > 0) void refetch()
  }, [isTold, repliedAt, refetch])
  const payment = data?.payments[0]
  const isLate = data?.isLate === true
  const read = (): PaymentStanding | undefined => {
    if (signed === undefined) return undefined
    if (isUnsent) return 'unsent'
    if (payment !== undefined) return standings[payment.state]
    if (!isTold) return isLate ? 'expired' : 'open'
    if (dataUpdatedAt >= repliedAt) return 'claimed'
    return errorUpdatedAt >= repliedAt ? 'unasked' : 'checking'
  }
  const standing = read()
  const isOver =
    standing === undefined ||
    standing === 'paid' ||
    standing === 'unsent' ||
    (isLate && standing !== 'settling')
  return { standing, payment, isOpen: !isOver }
}

/**
 * Returns whether the journal has every end that a payment can have. The service says what time it is: by a visitor's clock
 * that is fast, a payment could still be taken when the page calls it over.
 */
async function hasEnded({ validBefore }: SignedPayment, signal: AbortSignal): Promise<boolean> {
  const end = validBefore + LAST_SECONDS
  if (Date.now() / 1000 < end) return false
  const { time } = await requestJson<SigningAnswer>('/api/signing', { signal })
  return time.now >= end
}

const noPayment = { network: '', payer: '', nonce: '', asset: '' }

/** Returns the time of day at which a payment can no longer be taken. */
export function endOf({ validBefore }: SignedPayment): string {
  return new Date(validBefore * 1000).toLocaleTimeString()
}
