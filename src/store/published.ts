import type { Endpoint, EndpointHead, Merchant } from './listings.js'

/** JSON as it is stored. */
export type JsonText = string

/** What an item publishes of an endpoint, as it is stored: nothing is parsed just to be written again. */
export interface PublishedEndpoint extends EndpointHead, Pick<Endpoint, 'lastUpdated'> {
  tags: JsonText
  example: JsonText
  inputSchema: JsonText | null
  output: JsonText | null
  extras: JsonText
  accepts: JsonText
  isHosted: JsonText
}

/** What an item publishes of a merchant, and whether it is published at all. */
export type PublishedMerchant = Pick<
  Merchant,
  'id' | 'name' | 'isOfficial' | 'isPartner' | 'identity' | 'hiddenReason' | 'deletedAt'
>

/** What a discovery item is made of. */
export interface PublishedEntry {
  endpoint: PublishedEndpoint
  merchant: PublishedMerchant
}
