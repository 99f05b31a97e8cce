import type { Address, Hex } from 'viem'
import type { Identity } from './identity.js'
import type { OperatorListings } from './operator-listings.js'
import type { OwnedListings } from './owned-listings.js'
import type { PublishedEntry } from './published.js'
import type { UnclaimedResult } from './unclaimed.js'

export type Pricing = 'fixed' | 'metered'
/** The two methods the catalog knows how to describe. */
export type EndpointMethod = 'GET' | 'POST'
/** `failing` after repeated failures: out of the default order, never out of the catalog. */
export type EndpointStatus = 'live' | 'unverified' | 'failing'

/** A requirement as an endpoint's own 402 quoted it. */
export type QuotedRequirement = Readonly<Record<string, unknown>>

/** What one look at an endpoint found. */
export interface ProbeRecord {
  /** `live`, or what was wrong: `not_402`, `wrong_network`, `unreachable`… */
  verdict: string
  /** One sentence for the owner. */
  message: string
  /** What is odd though the endpoint is live: `price_drift`, `schema_missing`. */
  warnings: string[]
  /** Facts seen, never the body: HTTP status, quoted amount, redirect target… */
  seen: Record<string, string | number | null>
  /** Unix seconds. */
  checkedAt: number
}

/** What an owner writes about an endpoint. */
export interface ListedEndpoint {
  url: string
  method: EndpointMethod
  title: string
  description: string
  pricing: Pricing
  /** Atomic units, six decimals; with `metered` a ceiling. */
  price: bigint
  tags: string[]
  /** `queryParams` by name for GET, the JSON body for POST. */
  example: { queryParams: Record<string, unknown> } | { body: unknown }
  /** JSON Schema 2020-12 of the parameters. */
  inputSchema: Record<string, unknown> | null
  output: { type: string; example?: unknown } | null
}

/** What is kept of a look at an endpoint besides what was listed. */
export interface EndpointHealth {
  /** What discovery shows: the live answer, else what the listing says. */
  accepts: QuotedRequirement[]
  /** Optional members of a discovery item, as the live answer had them: `mimeType`, `serviceName`, `iconUrl`, `extensions`. */
  extras: Record<string, unknown>
  status: EndpointStatus
  probe: ProbeRecord | null
  /** Failed looks in a row. */
  failures: number
  /** Unix seconds; `null` is never. */
  nextProbeAt: number | null
}

export interface Endpoint extends ListedEndpoint, EndpointHealth {
  id: number
  merchantId: string
  isHosted: boolean
  /** Unix seconds of the last change of what the item publishes. */
  lastUpdated: number
  createdAt: number
}

export interface Merchant {
  id: string
  /** Who signs its writes; `null` while nobody claimed what was found in payments. */
  owner: Address | null
  name: string
  description: string
  network: string
  asset: Address
  payTo: Address
  /** Of the last accepted write; 0 before the first. */
  revision: number
  isOfficial: boolean
  isPartner: boolean
  /** Why the operator hides it, in words for the public. */
  hiddenReason: string | null
  /** The ERC-8004 agent the owner says it is, checked or not. */
  agentId: string | null
  identity: Identity | null
  offer: { to: Address; until: number } | null
  /** The owner whom the key of a payTo vouched for; `payToProofOf` says whether it still counts. */
  confirmation: { owner: Address; payTo: Address } | null
  /** Unix seconds. */
  createdAt: number
  updatedAt: number
  deletedAt: number | null
}

/** A signed message that passed every check but those of the store: owner, revision and nonce. */
export interface SignedWrite {
  merchantId: string
  /** Must be one above the merchant's. */
  revision: number
  owner: Address
  nonce: Hex
  action: string
  /** The typed message as it was signed, and the body it names by hash: both JSON, kept for ever. */
  message: string
  body: string
  signature: Hex
  /** Unix seconds. */
  acceptedAt: number
}

export type ListingChange =
  | {
      kind: 'save'
      merchant: Pick<Merchant, 'name' | 'description' | 'network' | 'asset' | 'payTo'>
      endpoints: (DescribedEndpoint & EndpointHealth)[]
    }
  | { kind: 'delete' }
  | { kind: 'offer'; to: Address; until: number }
  | { kind: 'accept' }
  | { kind: 'link'; agentId: string | null }
  /** By the key that is paid; `null` takes its word back. */
  | { kind: 'confirm'; owner: Address | null }

export type WriteResult =
  | { state: 'applied'; merchant: Merchant }
  /** The owner used this nonce before. */
  | { state: 'replayed' }
  /** `revision` is what the merchant has now. */
  | { state: 'stale'; revision: number }
  | { state: 'notOwner' }
  /** No such merchant, or deleted. */
  | { state: 'missing' }
  /** An `accept` without an open offer to the signer. */
  | { state: 'notOffered' }
  /** A `confirm` by another key than the one that is paid. */
  | { state: 'notPayTo' }

export interface CatalogChange {
  sequence: number
  merchantId: string
}

/** An endpoint in somebody's words. */
export type DescribedEndpoint = ListedEndpoint & Pick<EndpointHealth, 'extras'>

/** An endpoint with whom it belongs to. */
export interface CatalogEntry {
  endpoint: Endpoint
  merchant: Merchant
}

/** What every short form of an endpoint begins with. */
export type EndpointHead = Pick<
  Endpoint,
  'id' | 'merchantId' | 'url' | 'method' | 'title' | 'description' | 'pricing' | 'status'
>

/** What a search looks at of an endpoint. It is read without the rest, because there may be a million. */
export interface IndexedEndpoint
  extends EndpointHead,
    Pick<Endpoint, 'price' | 'tags' | 'extras' | 'accepts'>,
    Pick<Merchant, 'network' | 'asset'> {
  hasSchema: boolean
}

/** Whose an endpoint is, and its status. */
export type OutlinedEndpoint = Pick<Endpoint, 'id' | 'merchantId' | 'status'>

/** All reads of listings. Hidden and deleted merchants are found by id only; the catalog passes them over. */
export interface ListingReader extends OwnedListings {
  findMerchant(id: string): Promise<Merchant | undefined>
  /** Those of them that are there, in any order. */
  findMerchants(ids: readonly string[]): Promise<Merchant[]>
  endpointsOf(merchantId: string): Promise<Endpoint[]>
  /** In the order asked for; numbers that are gone are left out. */
  entriesById(endpointIds: readonly number[]): Promise<CatalogEntry[]>
  /** The same as it is published. */
  publishedById(endpointIds: readonly number[]): Promise<PublishedEntry[]>
  /** Every entry of the catalog in order of endpoint number, a page at a time. */
  scanEntries(afterEndpointId: number, limit: number): Promise<CatalogEntry[]>
  /** Every endpoint in order of number, those of hidden merchants too. */
  scanForIndex(afterEndpointId: number, limit: number): Promise<IndexedEndpoint[]>
  /** The same endpoints, less of each. */
  scanOutline(afterEndpointId: number, limit: number): Promise<OutlinedEndpoint[]>
  /** All endpoints of a merchant in order of number, hidden or not. */
  indexedOf(merchantId: string): Promise<IndexedEndpoint[]>
  /** Merchants of the catalog in order of id, a page at a time. */
  scanMerchants(afterId: string, limit: number): Promise<Merchant[]>
  findByUrl(url: string, method: EndpointMethod): Promise<CatalogEntry[]>
  merchantsPaidTo(payTo: Address): Promise<Merchant[]>
  merchantsWithAgent(): Promise<Merchant[]>
  /** Accepted writes, oldest first. */
  historyOf(merchantId: string, afterRevision: number, limit: number): Promise<SignedWrite[]>
  /** The last looks at an endpoint, oldest first. */
  probesOf(endpointId: number): Promise<{ checkedAt: number; verdict: string }[]>
  /** Endpoints whose next look is due, most overdue first. */
  dueEndpoints(nowSeconds: number, limit: number): Promise<CatalogEntry[]>
  /** 0 when nothing ever changed. */
  lastChange(): Promise<number>
  changesAfter(sequence: number, limit: number): Promise<CatalogChange[]>
}

/** Times are Unix seconds. Each call is one commit, on disk when it resolves. */
export interface ListingStore extends ListingReader, OperatorListings {
  /** Checks nonce, owner and revision, keeps the message and makes the change: all or nothing. */
  applyWrite(write: SignedWrite, change: ListingChange): Promise<WriteResult>
  /**
   * Keeps what a look found, and the endpoint's own words where they are told and nobody owns it; `lastUpdated` moves if
   * what is published does.
   */
  saveProbe(
    endpointId: number,
    health: EndpointHealth,
    now: number,
    described?: DescribedEndpoint,
  ): Promise<void>
  /** Keeps the checks of the agent that is linked; `null` drops them. A change only where the agent is shown from now on, or no more. */
  saveIdentity(merchantId: string, identity: Identity | null, now: number): Promise<void>
  /** Adds a resource seen in a settled payment, or puts it in place of one that failed. */
  saveUnclaimed(
    merchant: Pick<Merchant, 'id' | 'name' | 'network' | 'asset' | 'payTo'>,
    endpoint: DescribedEndpoint & EndpointHealth,
    now: number,
    /** The number of an unclaimed endpoint that was looked at in vain, and gives way. */
    evicted?: number,
  ): Promise<UnclaimedResult>
}
