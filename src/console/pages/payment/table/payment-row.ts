import type { ActivityRow, Settlement } from '@arcus/protocol/answers/activity'

/** A payment in a list: everything that everybody may see, and what its seller alone sees. */
export interface PaymentRow
  extends Omit<Settlement, 'state' | 'transaction' | 'merchant'>,
    Pick<ActivityRow, 'state' | 'transaction' | 'reason'> {
  /** `undefined` in the list of one seller. */
  merchant: Settlement['merchant'] | undefined
  /** The reason in words; `null` where nothing failed. */
  why: string | null
  /** The API that was called; `undefined` where only the seller may know. */
  api: { name: string; whole: string } | null | undefined
}

export function rowOfSettlement(settlement: Settlement): PaymentRow {
  return { ...settlement, reason: null, why: null, api: undefined }
}

/** Returns the address of the page of a payment. Of a network that is not served here the caller names any text. */
export function pageOf({ network, payer, nonce, asset }: PaymentRow): string | undefined {
  if (nonce === null) return undefined
  const place = encodeURIComponent(network).replaceAll('%3A', ':')
  return `/payments/${place}/${payer}/${nonce}?asset=${asset}`
}
