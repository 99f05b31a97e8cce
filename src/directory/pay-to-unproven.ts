import { getAddress } from 'viem'
import type { Merchant } from '../store/listings.js'

type Paid = Pick<Merchant, 'id' | 'owner' | 'payTo'>

/** Why payments do not count for a listing of somebody else's address, and what mends it. */
export function tellUnproven({ id, payTo }: Paid): string {
  return `Payments to ${getAddress(payTo)} do not count for ${id} yet: the owner is another key, and anybody can list an address. Have the key of that address sign payto.confirm for the owner once (POST /api/merchants/${id}/payto-confirmation).`
}

/** The same for programs: the write that is wanted, who signs it, and for whom. */
export function howToProve({ id, owner, payTo }: Paid) {
  return {
    action: 'payto.confirm',
    method: 'POST',
    path: `/api/merchants/${id}/payto-confirmation`,
    signer: getAddress(payTo),
    body: { owner: owner === null ? null : getAddress(owner) },
  }
}
