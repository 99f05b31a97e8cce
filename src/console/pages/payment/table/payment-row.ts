import type { ActivityRow, Settlement } from '@arcus/protocol/answers/activity'

/** A payment in a list: everything that everybody may see, and what its seller alone sees. */
export interface PaymentRow
  extends Omit<Settlement, 'state' | 'transaction' | 'merchant'>,
    Pick<ActivityRow, 'state' | 'transaction' | 'reason'> {
  /** `undefined` in the list of one seller. */
  merchant: Settlement['merchant'] | undefined
  /** The API that was called; `undefined` where only the seller may know. */
  api: { name: string; whole: string } | null | undefined
}

export function rowOfSettlement(settlement: Settlement): PaymentRow {
  return { ...settlement, reason: null, api: undefined }
}

/** Returns a row of the list of the owner. `titles` are those of the listed endpoints by id. */
export function rowOfActivity(row: ActivityRow, titles: ReadonlyMap<number, string>): PaymentRow {
  const { endpointId, resource, toolName } = row
  const name = (endpointId === null ? undefined : titles.get(endpointId)) ?? toolName ?? resource
  const whole = [resource, toolName].filter((it) => it !== null).join(' ')
  return { ...row, merchant: undefined, api: name === null ? null : { name, whole } }
}

/** Returns the address of the page of a payment. Of a network that is not served here the caller names any text. */
export function pageOf({ network, payer, nonce, asset }: PaymentRow): string | undefined {
  if (nonce === null) return undefined
  const place = encodeURIComponent(network).replaceAll('%3A', ':')
  return `/payments/${place}/${payer}/${nonce}?asset=${asset}`
}
