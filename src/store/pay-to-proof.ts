import type { Merchant } from './listings.js'
import { isUnclaimed } from './unclaimed.js'

/** How it is known that the address a listing is paid at stands behind its owner. */
export type PayToProof =
  /** The owner is that address. */
  | 'owner'
  /** Its key signed for this owner. */
  | 'confirmation'
  /** The operator says so: of official ones, which are paid at his own address, and of entries that are his own. */
  | 'operator'

/** `null` while anybody could have listed that address, and of what was found in payments and is nobody's yet. */
export function payToProofOf(
  merchant: Pick<Merchant, 'id' | 'owner' | 'payTo' | 'confirmation' | 'isOfficial'>,
): PayToProof | null {
  const { owner, payTo, confirmation, isOfficial } = merchant
  if (isUnclaimed(merchant)) return null
  if (owner === payTo) return 'owner'
  if (confirmation?.owner === owner && confirmation?.payTo === payTo) return 'confirmation'
  return owner === null || isOfficial ? 'operator' : null
}

/**
 * Whether a listing speaks for the address it names: that address stands behind its owner, or it was found in payments
 * to it. Whatever is done to any other listing must not touch the address: anybody may have named it.
 */
export function speaksForPayTo(merchant: Parameters<typeof payToProofOf>[0]): boolean {
  return payToProofOf(merchant) !== null || isUnclaimed(merchant)
}

/** Whether the operator hides a listing that does not speak for the address it names: it keeps nobody from a place. */
export function isHiddenStranger(
  merchant: Parameters<typeof payToProofOf>[0] & Pick<Merchant, 'hiddenReason'>,
): boolean {
  return merchant.hiddenReason !== null && !speaksForPayTo(merchant)
}
