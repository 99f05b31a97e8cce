import { useQuery } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import { useEffect } from 'react'
import type { PaymentStatus } from '../../../../api/payments.js'
import { paymentPath, readPayments } from '../../../api/queries.js'
import type { SignedPayment } from './payment.js'

/**
 * How a payment stands by the journal of the service. A seller could say anything, so one that only the seller calls paid is
 * `claimed`, and `unasked` where the service could not be asked.
 */
export type Standing =
  | 'paid'
  | 'settling'
  | 'failed'
  | 'checking'
  | 'claimed'
  | 'unasked'
  | 'open'
  | 'expired'

const standings = {
  confirmed: 'paid',
  queued: 'settling',
  submitted: 'settling',
  failed: 'failed',
} as const

const ASK_MS = 2_000

/** A signed payment, and what its seller said of it. */
interface Told {
  signed?: Omit<SignedPayment, 'header'>
  settlement?: { success: boolean } | undefined
  /** Unix milliseconds. */
  repliedAt?: number
}

/** Asks the service about a signed payment until it is decided or its time is over. */
export function useStanding({ signed, settlement, repliedAt = 0 }: Told): {
  standing: Standing | undefined
  payment: PaymentStatus | undefined
} {
  const { validBefore } = signed ?? noPayment
  const path = paymentPath(signed ?? noPayment)
  /** Tells whether the journal as it was read then has every end that the payment can have. */
  const isLast = (readAt: number) => readAt / 1000 >= validBefore + 5
  const query = useQuery({
    queryKey: ['signed-payment', path],
    queryFn: ({ signal }) =>
      readPayments(path, signal).catch((error) => {
        if (error instanceof ArcusError && error.status === 404) return []
        throw error
      }),
    enabled: signed !== undefined,
    retry: false,
    refetchInterval: ({ state: { data = [], dataUpdatedAt } }) => {
      const now = data.map(({ state }) => standings[state])
      // A payment that failed may still be settled by the seller's next try.
      const isDecided = isLast(dataUpdatedAt) && !now.includes('settling')
      return isDecided || now.includes('paid') ? false : ASK_MS
    },
  })
  const { refetch } = query
  const isTold = settlement?.success === true
  useEffect(() => {
    // A look-up from before the answer may know less than the answer tells.
    if (isTold && repliedAt > 0) void refetch()
  }, [isTold, repliedAt, refetch])
  if (signed === undefined) return { standing: undefined, payment: undefined }
  const payment = query.data?.[0]
  const standing =
    payment !== undefined
      ? standings[payment.state]
      : isTold
        ? toldStanding(query, repliedAt)
        : isLast(query.dataUpdatedAt)
          ? 'expired'
          : 'open'
  return { standing, payment }
}

/** Returns how a payment stands that the seller calls paid and the journal has not. */
function toldStanding(
  { dataUpdatedAt, errorUpdatedAt }: { dataUpdatedAt: number; errorUpdatedAt: number },
  repliedAt: number,
): Standing {
  if (dataUpdatedAt >= repliedAt) return 'claimed'
  return errorUpdatedAt >= repliedAt ? 'unasked' : 'checking'
}

const noPayment = { network: '', payer: '', nonce: '', asset: '', validBefore: 0 }

/** Returns the time of day at which a payment can no longer be taken. */
export function endOf({ validBefore }: Pick<SignedPayment, 'validBefore'>): string {
  return new Date(validBefore * 1000).toLocaleTimeString()
}
