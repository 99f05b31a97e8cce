import type { Merchant } from './listings.js'

/** Every merchant there is, for the operator: hidden and deleted ones too. */
export interface MerchantRoster {
  /** In order of id, a page at a time. */
  scan(afterId: string, limit: number): Promise<{ merchant: Merchant; endpointCount: number }[]>
}
