import type { Address } from 'viem'
import { hasWrongChecksum } from '../x402/address.js'

interface ListingEndpointBase {
  /** Absolute, http or https. */
  url: string
  title: string
  description?: string
  /** `fixed` unless said. With `metered` the price is a ceiling. */
  pricing?: 'fixed' | 'metered'
  /** Decimal digits, in millionths of a dollar: "10000" is one cent. */
  price: string
  tags?: string[]
  /** JSON Schema 2020-12 of the parameters, an object schema. */
  inputSchema?: Record<string, unknown> | null
  /** What a paid call answers: `json` unless said. */
  output?: { type: string; example?: unknown } | null
}

export type QueryValue = string | number | boolean | (string | number | boolean)[]

/** An endpoint as its owner writes it; `example` is what the directory calls it with. */
export type ListingEndpoint =
  | (ListingEndpointBase & {
      method: 'GET'
      example?: { queryParams: Record<string, QueryValue> }
    })
  | (ListingEndpointBase & { method: 'POST'; example?: { body: unknown } })

/** A listing as its owner writes it: the body of `listing.create` and `listing.update`. */
export interface Listing {
  name: string
  description?: string
  payTo: Address
  endpoints: ListingEndpoint[]
}

/** Whether an address looks mistyped: the directory refuses one whose EIP-55 checksum is wrong. */
export function isMistyped(address: string): boolean {
  return hasWrongChecksum(address)
}
