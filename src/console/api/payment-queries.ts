import { ArcusError, withQuery } from '@arcus/client/calls'
import type { PaymentsAnswer, Settlement } from '@arcus/protocol/answers/activity'
import type { PaymentStatus, ReceiptAnswer } from '@arcus/protocol/answers/payments'
import type { Attestation } from '@arcus/protocol/x402/attestation'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { requestJson } from './http.js'
import { FOREVER, read } from './queries.js'

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

/** The payments that a list shows. Days are of UTC, amounts in atomic units. */
export interface PaymentListFilter {
  /** An address, or the id of a seller. */
  seller?: string | undefined
  buyer?: string | undefined
  state?: 'refunded' | undefined
  network?: string | undefined
  minAmount?: string | undefined
  maxAmount?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

const LIST_ROWS = 50

/** Reads a page of all payments, from the newest or from a cursor. */
export const paymentListQuery = (filter: PaymentListFilter, cursor: string | undefined) =>
  read<PaymentsAnswer>(
    ['payment-list', filter, cursor],
    withQuery('/api/payments', { ...filter, limit: LIST_ROWS, cursor }),
    { placeholderData: keepPreviousData, staleTime: 10_000 },
  )

/** Adds payments that just settled to the first page of a list, and renews those that changed. */
export function withNews(
  page: PaymentsAnswer,
  filter: PaymentListFilter,
  news: readonly Settlement[],
): PaymentsAnswer {
  const newest = page.items[0]?.id ?? 0
  const known = new Map(page.items.map((it) => [it.id, it]))
  for (const one of news) {
    if (known.has(one.id) || (one.id > newest && isOfList(one, filter))) known.set(one.id, one)
  }
  const items = [...known.values()].sort((a, b) => b.id - a.id)
  const shown = items.slice(0, Math.max(LIST_ROWS, page.items.length))
  const last = shown.at(-1)
  if (items.length === shown.length || last === undefined) return { ...page, items }
  return { items: shown, next: `${Date.parse(last.at)}.${last.id}` }
}

function isOfList(one: Settlement, filter: PaymentListFilter): boolean {
  const { seller, state = 'settled', network, from = '', to = '9' } = filter
  const day = one.at.slice(0, 10)
  const isOfSeller =
    seller === undefined || seller === one.merchant?.id || isSame(seller, one.payTo)
  const isOfNetwork = network === undefined || network === one.network
  return (
    isOfSeller &&
    isOfNetwork &&
    state === one.state &&
    day >= from &&
    day <= to &&
    isBetween(one, filter)
  )
}

const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

/** Returns whether a payment is of the buyer and within the amounts of a filter. */
export function isBetween(
  { payer, amount }: { payer: string; amount: string },
  { buyer, minAmount, maxAmount }: Pick<PaymentListFilter, 'buyer' | 'minAmount' | 'maxAmount'>,
): boolean {
  return (
    (buyer === undefined || isSame(buyer, payer)) &&
    (minAmount === undefined || BigInt(amount) >= BigInt(minAmount)) &&
    (maxAmount === undefined || BigInt(amount) <= BigInt(maxAmount))
  )
}
