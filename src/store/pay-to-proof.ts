import type { Merchant } from './listings.js'

/** How it is known that the address a listing is paid at stands behind its owner. */
export type PayToProof =
  /** The owner is that address. */
  | 'owner'
  /** Its key signed for this owner. */
  | 'confirmation'
  /** The operator marked the listing as official, and official ones are paid at his own address. */
  | 'operator'

/** `null` while anybody could have listed that address. */
export function payToProofOf({
  owner,
  payTo,
  confirmation,
  isOfficial,
}: Pick<Merchant, 'owner' | 'payTo' | 'confirmation' | 'isOfficial'>): PayToProof | null {
  if (owner === null) return null
  if (owner === payTo) return 'owner'
  if (confirmation?.owner === owner && confirmation.payTo === payTo) return 'confirmation'
  return isOfficial ? 'operator' : null
}
