import { ArcusError } from '@arcus/client/calls'
import type { PaymentStatus, ReceiptAnswer } from '@arcus/protocol/answers/payments'
import type { Attestation } from '@arcus/protocol/x402/attestation'
import { queryOptions } from '@tanstack/react-query'
import { requestJson } from './http.js'
import { FOREVER } from './queries.js'

/**
 * Returns the address of a payment, or of a part such as `/receipt`. The token is named, because a payer may use a nonce in
 * several.
 */
export function paymentPath(
  { network, payer, nonce, asset }: Record<'network' | 'payer' | 'nonce' | 'asset', string>,
  part = '',
): string {
  return `/payments/${network}/${payer}/${nonce}${part}?asset=${asset}`
}

/** Reads the payments at an address: those of a transaction, or the one of a payer and nonce. */
export async function readPayments(path: string, signal: AbortSignal): Promise<PaymentStatus[]> {
  const answer = await requestJson<PaymentStatus | { payments: PaymentStatus[] }>(path, { signal })
  return 'payments' in answer ? answer.payments : [answer]
}

export const paymentsQuery = (path: string) =>
  queryOptions({
    queryKey: ['payments', path],
    queryFn: ({ signal }) => readPayments(path, signal),
    refetchInterval: ({ state }) => {
      if (state.data?.some(({ state }) => state === 'queued' || state === 'submitted')) return 1_500
      return state.data?.some(mayBeRefunded) ? 5_000 : false
    },
  })

/** A refund follows its payment within seconds. */
const REFUND_MS = 60_000

function mayBeRefunded({ state, refund, updatedAt }: PaymentStatus): boolean {
  return state === 'confirmed' && refund === null && Date.parse(updatedAt) > Date.now() - REFUND_MS
}

/** Reads the receipt of a confirmed payment; `path` is its whole address. */
export const receiptQuery = (path: string) =>
  queryOptions({
    queryKey: ['receipt', path],
    queryFn: ({ signal }) =>
      requestJson<ReceiptAnswer>(path, { signal, headers: { accept: 'application/json' } }),
    staleTime: FOREVER,
  })

/** Reads the attestation of a confirmed payment; `null` if none was signed. */
export const attestationQuery = (path: string) =>
  queryOptions({
    queryKey: ['attestation', path],
    async queryFn({ signal }) {
      try {
        return await requestJson<Attestation>(path, { signal })
      } catch (error) {
        if (error instanceof ArcusError && error.status === 404) return null
        throw error
      }
    },
    staleTime: FOREVER,
  })
