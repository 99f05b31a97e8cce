import type { Address } from 'viem'
import type { Merchant } from './listings.js'

/** What became of a resource seen in a payment. */
export type UnclaimedResult =
  /** `renewed` where one had failed. */
  | { state: 'added' | 'renewed'; endpointId: number }
  /** It stands already, in the words of the first payment or of its own 402. */
  | { state: 'known' }
  /** An owner lists it. */
  | { state: 'owned' }

const prefix = 'payto-'

/** The id of the merchant nobody claimed yet who is paid at an address (lower case). */
export function unclaimedId(payTo: Address): string {
  return `${prefix}${payTo}`
}

/** What it is called: nothing but the address is known of it, and a host would be a name of somebody's choice. */
export function unclaimedName(payTo: Address): string {
  return `${payTo.slice(0, 6)}…${payTo.slice(-4)}`
}

/** Found in payments, and nobody signed for it. */
export function isUnclaimed({ id, owner }: Pick<Merchant, 'id' | 'owner'>): boolean {
  return owner === null && id.startsWith(prefix)
}

/**
 * Whether its endpoints wait for one live look before the default order of discovery has them: what was found in payments,
 * and what an owner signed, for a key costs nothing. What the operator entered or marked stands by the operator's word.
 */
export function waitsForLook(
  merchant: Pick<Merchant, 'id' | 'owner' | 'revision' | 'isOfficial' | 'isPartner'>,
): boolean {
  const { revision, isOfficial, isPartner } = merchant
  return isUnclaimed(merchant) || (revision > 0 && !isOfficial && !isPartner)
}
