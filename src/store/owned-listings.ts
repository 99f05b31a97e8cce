import type { Address } from 'viem'
import type { EndpointStatus, Merchant } from './listings.js'

/** What one wallet has to do with listings. Deleted ones are left out, hidden ones are not. */
export interface OwnedListings {
  /** At most `limit`, in order of id. */
  merchantsOwnedBy(owner: Address, limit: number): Promise<Merchant[]>
  /** Whose offer to this address is open at this moment (Unix seconds). */
  merchantsOfferedTo(address: Address, nowSeconds: number): Promise<Merchant[]>
  /** How many endpoints of a merchant are in which state. */
  endpointStates(merchantId: string): Promise<Record<EndpointStatus, number>>
}
