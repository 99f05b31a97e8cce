import type { Address } from 'viem'
import type { Merchant } from './listings.js'

/** The proof that the payout address of a listing stands behind its owner. */
export type PayToProof =
  /** The owner is that address. */
  | 'owner'
  /** Its key signed for this owner. */
  | 'confirmation'
  /** The operator says so: for official merchants, which are paid at the operator's address, and for own entries. */
  | 'operator'

/** Returns `null` while anybody could have listed that address, and for what was found in payments and is unclaimed. */
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
 * Returns whether a listing speaks for the address it names: the address belongs with its owner, or the listing was found
 * in payments to it. A measure against any other listing must not touch the address: anybody may have named it.
 */
export function speaksForPayTo(merchant: Parameters<typeof payToProofOf>[0]): boolean {
  return payToProofOf(merchant) !== null || isUnclaimed(merchant)
}

/** Returns whether everybody may read that what was paid to its address was paid to this merchant. */
export function isPublicPayee(
  merchant: Parameters<typeof payToProofOf>[0] & Pick<Merchant, 'hiddenReason' | 'deletedAt'>,
): boolean {
  const { hiddenReason, deletedAt } = merchant
  return hiddenReason === null && deletedAt === null && payToProofOf(merchant) !== null
}

const prefix = 'payto-'

/** Returns the id of the unclaimed merchant that is paid at an address (lower case). */
export function unclaimedId(payTo: Address): string {
  return `${prefix}${payTo}`
}

/** Returns the name of an unclaimed merchant: its address, since anybody could choose the name of a host. */
export function unclaimedName(payTo: Address): string {
  return `${payTo.slice(0, 6)}…${payTo.slice(-4)}`
}

/** Returns whether a merchant was found in payments and nobody has signed for it. */
export function isUnclaimed({ id, owner }: Pick<Merchant, 'id' | 'owner'>): boolean {
  return owner === null && id.startsWith(prefix)
}

/**
 * Returns whether the endpoints of a merchant need one live probe before the default order of discovery shows them. This
 * holds for what was found in payments and for what an owner signed, since a key costs nothing; not for what the operator
 * entered or marked.
 */
export function waitsForProbe(
  merchant: Pick<Merchant, 'id' | 'owner' | 'revision' | 'isOfficial' | 'isPartner'>,
): boolean {
  const { revision, isOfficial, isPartner } = merchant
  return isUnclaimed(merchant) || (revision > 0 && !isOfficial && !isPartner)
}
