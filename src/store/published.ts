import type { Endpoint, EndpointHead, Merchant } from './listings.js'

/** JSON as it is stored. */
export type JsonText = string

/** What an item publishes of an endpoint, as it is stored: nothing is parsed just to be written again. */
export interface PublishedEndpoint
  extends EndpointHead,
    Pick<Endpoint, 'isHosted' | 'lastUpdated'> {
  tags: JsonText
  example: JsonText
  inputSchema: JsonText | null
  output: JsonText | null
  extras: JsonText
  accepts: JsonText
}

/** What a discovery item is made of, as it is stored. */
export interface PublishedEntry {
  endpoint: PublishedEndpoint
  merchant: Merchant
}
