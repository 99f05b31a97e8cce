import type { IdentityCheck, ProbeRecord } from '@arcus/protocol/answers/listings'
import type { Delivery } from '@arcus/protocol/answers/paid-checks'
import type { CallExample, CallMethod, CallTarget, mcpTransports } from '@arcus/protocol/x402/calls'
import type { Address, Hex } from 'viem'
import type { CheckVerdict } from './paid-checks.js'

export type Pricing = 'fixed' | 'metered'
/** `failing` after repeated failures: out of the default order, never out of the catalog. */
export type EndpointStatus = 'live' | 'unverified' | 'failing'

/** A requirement as an endpoint's own 402 quoted it. */
export type QuotedRequirement = Readonly<Record<string, unknown>>

/** The part of an endpoint that its owner writes. */
export interface WrittenEndpoint {
  url: string
  method: CallMethod
  /** Only with `MCP`: the endpoint is one tool of the MCP server at the URL. */
  toolName?: string
  /** The transport of the MCP server, `streamable-http` unless given. */
  transport?: (typeof mcpTransports)[number]
  title: string
  description: string
  pricing: Pricing
  /** Atomic units of the asset, six decimals. With `metered` it is a ceiling. */
  price: bigint
  /** The token of the price, in lower case, and its symbol. */
  asset: Address
  symbol: string
  tags: string[]
  example: CallExample
  /** JSON Schema 2020-12 of the parameters. */
  inputSchema: Record<string, unknown> | null
  output: { type: string; example?: unknown } | null
}

/** The results of the probes, beside the listed values. */
export interface EndpointHealth {
  /** Requirements that discovery shows: those of the live answer, else those of the listing. */
  accepts: QuotedRequirement[]
  /** Optional members of a discovery item, as the live answer had them: `mimeType`, `serviceName`, `iconUrl`, `extensions`. */
  extras: Record<string, unknown>
  status: EndpointStatus
  probe: ProbeRecord | null
  /** Failed probes in a row. */
  failures: number
  /** Unix seconds; `null` is never. */
  nextProbeAt: number | null
}

export interface StoredEndpoint extends WrittenEndpoint, EndpointHealth {
  id: number
  merchantId: string
  isHosted: boolean
  /** The figures of the paid checks; `null` before the first. */
  delivery: Delivery | null
  /** Unix seconds of the last change of what the item publishes. */
  lastUpdated: number
  createdAt: number
}

export interface Identity {
  /** Decimal digits of a uint256; "0" is an agent. */
  agentId: string
  registry: Address
  checks: Record<'control' | 'pay' | 'file' | 'domain', IdentityCheck>
}

export interface Merchant {
  id: string
  /** The wallet that signs its writes; `null` while nobody has claimed what was found in payments. */
  owner: Address | null
  name: string
  description: string
  network: string
  /** The token of its first price, in lower case. */
  asset: Address
  payTo: Address
  /** The revision of the last accepted write; 0 before the first. */
  revision: number
  isOfficial: boolean
  isPartner: boolean
  /** Why the operator hides it, as the public reads it. */
  hiddenReason: string | null
  /** The ERC-8004 agent that the owner names, checked or not. */
  agentId: string | null
  identity: Identity | null
  offer: { to: Address; until: number } | null
  /** The owner whom the key of a payTo confirmed; `payToProofOf` decides whether it still counts. */
  confirmation: { owner: Address; payTo: Address } | null
  /**
   * The merchant of another owner whose name this one shows, or this one itself where it shows what only the operator's
   * merchants may; and the field that shows it, such as `name` or `endpoints[0].title`.
   */
  nameLike: { merchantId: string; path: string } | null
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
      endpoints: EndpointDraft[]
    }
  | { kind: 'delete' }
  | { kind: 'offer'; to: Address; until: number }
  | { kind: 'accept' }
  | { kind: 'link'; agentId: string | null }
  /** Signed by the key that is paid; `null` takes a confirmation back. */
  | { kind: 'confirm'; owner: Address | null }

export type WriteResult =
  | { state: 'applied'; merchant: Merchant }
  /** The owner used this nonce before. */
  | { state: 'replayed' }
  /** `revision` is the merchant's present one. */
  | { state: 'stale'; revision: number }
  | { state: 'notOwner' }
  /** No such merchant, or deleted. */
  | { state: 'missing' }
  /** An `accept` without an open offer to the signer. */
  | { state: 'notOffered' }
  /** A `confirm` by another key than the one that is paid. */
  | { state: 'notPayTo' }

/** The result of taking a resource from a payment into the catalog. */
type UnclaimedResult =
  /** `renewed` where one had failed. */
  | { state: 'added' | 'renewed'; endpointId: number }
  /** It is listed already, as the first payment or its own 402 described it. */
  | { state: 'known' }
  /** An owner lists it. */
  | { state: 'owned' }

interface CatalogChange {
  sequence: number
  merchantId: string
}

/** An endpoint as its owner, its own 402 or a payment describes it. */
export type DescribedEndpoint = WrittenEndpoint & Pick<EndpointHealth, 'extras'>

/** An endpoint that is about to be stored; `isHosted` for one of the operator's own. */
export type EndpointDraft = WrittenEndpoint & EndpointHealth & { isHosted?: boolean }

/** JSON as it is stored. */
export type JsonText = string

/** An endpoint with the merchant it belongs to. */
export interface CatalogEntry {
  endpoint: StoredEndpoint
  merchant: Merchant
  /** Its `Usage`; `null` where nobody paid yet. */
  usage: JsonText | null
}

/** The part of an endpoint that a search reads. The rest is left out, because there may be a million endpoints. */
export interface IndexedEndpoint
  extends Pick<
    StoredEndpoint,
    | 'id'
    | 'merchantId'
    | 'url'
    | 'method'
    | 'title'
    | 'description'
    | 'pricing'
    | 'status'
    | 'toolName'
    | 'price'
    | 'asset'
    | 'symbol'
    | 'tags'
    | 'extras'
    | 'accepts'
  > {
  hasSchema: boolean
  /** Whether the last paid check delivered, and the endpoint still says the same of its answers. */
  isDelivered: boolean
  /** The share of the last paid checks that delivered, 0 to 1; -1 before the first. */
  deliveredShare: number
}

/** The part of an endpoint that a discovery item publishes, as it is stored, so that nothing is parsed only to be written again. */
export interface PublishedEndpoint
  extends Pick<
    StoredEndpoint,
    | 'id'
    | 'merchantId'
    | 'url'
    | 'method'
    | 'title'
    | 'description'
    | 'pricing'
    | 'status'
    | 'asset'
    | 'symbol'
    | 'lastUpdated'
  > {
  toolName: string | null
  transport: string | null
  /** Decimal digits. */
  price: string
  tags: JsonText
  example: JsonText
  inputSchema: JsonText | null
  output: JsonText | null
  extras: JsonText
  accepts: JsonText
  isHosted: JsonText
  delivery: JsonText | null
}

/** The `Usage` of an endpoint, or of a merchant as a whole, as JSON; `version` rises with each change of any. */
export interface UsageChange {
  /** `null` for a merchant as a whole. */
  endpointId: number | null
  /** `null` for an endpoint. */
  merchantId: string | null
  version: number
  figures: JsonText
}

/** A merchant in the list of all merchants. */
export interface PublishedMerchant {
  id: string
  /** 1 if it comes after all others, because its payout address is not proven. */
  isLast: number
  /** The whole of it. */
  json: JsonText
}

/** The parts of a discovery item. */
export interface PublishedEntry {
  endpoint: PublishedEndpoint
  merchant: Merchant
  usage: JsonText | null
}

/** All reads of listings. Hidden and deleted merchants are found by id only; the catalog leaves them out. */
export interface ListingReader {
  findMerchant(id: string): Promise<Merchant | undefined>
  /** Those of them that exist, in any order. */
  findMerchants(ids: readonly string[]): Promise<Merchant[]>
  endpointsOf(merchantId: string): Promise<StoredEndpoint[]>
  /** Counts the endpoints of a merchant by status. */
  endpointStates(merchantId: string): Promise<Record<EndpointStatus, number>>
  /** In the given order; numbers without an endpoint are left out. */
  entriesById(endpointIds: readonly number[]): Promise<CatalogEntry[]>
  /** The same as it is published. */
  publishedById(endpointIds: readonly number[]): Promise<PublishedEntry[]>
  /** Every entry of the catalog in order of endpoint number, a page at a time. */
  scanEntries(afterEndpointId: number, limit: number): Promise<CatalogEntry[]>
  /** Every endpoint in order of number, those of hidden merchants too. */
  scanForIndex(afterEndpointId: number, limit: number): Promise<IndexedEndpoint[]>
  /** The `Usage` of those of these endpoints that were paid, as JSON. */
  usageOf(endpointIds: readonly number[]): Promise<Map<number, JsonText>>
  /** Figures that changed after this version of them, in order. */
  usageAfter(version: number, limit: number): Promise<UsageChange[]>
  /** The version of the last figures of a merchant as a whole; 0 before the first. */
  merchantUsageVersion(): Promise<number>
  /** The `Usage` of those of these merchants that were paid, as JSON. */
  merchantUsageOf(merchantIds: readonly string[]): Promise<Map<string, JsonText>>
  /** All endpoints of a merchant in order of number, hidden or not. */
  indexedOf(merchantId: string): Promise<IndexedEndpoint[]>
  /** The list of all merchants in its order, a page at a time; it goes on after the last one of the page before. */
  publishedAfter(
    last: Pick<PublishedMerchant, 'id' | 'isLast'> | undefined,
    limit: number,
  ): Promise<PublishedMerchant[]>
  /** The ids of the same list, from this offset on. */
  publishedIds(offset: number, limit: number): Promise<string[]>
  publishedCount(): Promise<number>
  /** In the given order; ids that are not in the list are left out. */
  publishedMerchants(ids: readonly string[]): Promise<PublishedMerchant[]>
  findByUrl(target: CallTarget): Promise<CatalogEntry[]>
  /** Entries of HTTP whose path is a template of this one, such as `/users/:id` of `/users/7`; live entries first. */
  findTemplates(
    target: { url: string; method?: CallMethod | undefined },
    limit: number,
  ): Promise<CatalogEntry[]>
  /**
   * Everything at a URL, or what of it has the method or the name of the tool, at most `limit`: first what speaks for its
   * payout address, and of that what is live.
   */
  findAtUrl(
    wanted: Pick<CallTarget, 'url' | 'toolName'> & { method?: CallMethod | undefined },
    limit: number,
  ): Promise<CatalogEntry[]>
  merchantsPaidTo(payTo: Address): Promise<Merchant[]>
  /** At most `limit`, in order of id, without deleted ones. */
  merchantsOwnedBy(owner: Address, limit: number): Promise<Merchant[]>
  /** Merchants whose offer to this address is open at this moment (Unix seconds), without deleted ones. */
  merchantsOfferedTo(address: Address, nowSeconds: number): Promise<Merchant[]>
  merchantsWithAgent(): Promise<Merchant[]>
  /** Accepted writes, oldest first. */
  historyOf(merchantId: string, afterRevision: number, limit: number): Promise<SignedWrite[]>
  /** Endpoints whose next probe is due, most overdue first. */
  dueEndpoints(nowSeconds: number, limit: number): Promise<CatalogEntry[]>
  /** 0 when nothing ever changed. */
  lastChange(): Promise<number>
  /** The number of the last change of a merchant; 0 for one that there is not. */
  changeOf(merchantId: string): Promise<number>
  /** Another text after each change of what the owner of a listing sees: the times of probes and figures of use as well. */
  viewVersion(merchantId: string): Promise<string>
  changesAfter(sequence: number, limit: number): Promise<CatalogChange[]>
}

/** Members that the operator alone sets. */
type OperatorFlags = Pick<Merchant, 'isOfficial' | 'isPartner' | 'hiddenReason'>

/** A merchant that the operator enters. */
type OperatorMerchant = OperatorFlags &
  Pick<Merchant, 'id' | 'owner' | 'name' | 'description' | 'network' | 'asset' | 'payTo'> & {
    /** As an owner signed it elsewhere; without it, the present one stays. */
    confirmation?: Merchant['confirmation'] | undefined
    /** As an owner signed it elsewhere; without it, the present one stays. Another agent has to be checked anew. */
    agentId?: Merchant['agentId'] | undefined
  }

/** Times are Unix seconds. Each write is one commit, which is on disk when the promise resolves. */
export interface ListingStore extends ListingReader {
  /** Checks nonce, owner and revision, keeps the message and makes the change: all or nothing. */
  applyWrite(write: SignedWrite, change: ListingChange): Promise<WriteResult>
  /**
   * Keeps the result of a probe, and the endpoint's own description where it is given and nobody owns the listing.
   * `lastUpdated` moves if what is published does.
   */
  saveProbe(
    endpointId: number,
    health: EndpointHealth,
    now: number,
    described?: DescribedEndpoint,
  ): Promise<void>
  /** Closes a paid check and publishes what it found. A check that was closed before stays as it is. */
  saveCheck(checkId: number, verdict: CheckVerdict): Promise<void>
  /** Keeps the checks of the linked agent; `null` drops them. It is a change only if the agent appears or disappears. */
  saveIdentity(merchantId: string, identity: Identity | null, now: number): Promise<void>
  /** Adds a resource seen in a settled payment, or replaces one that failed by it. */
  saveUnclaimed(
    merchant: Pick<Merchant, 'id' | 'name' | 'network' | 'asset' | 'payTo'>,
    endpoint: EndpointDraft,
    now: number,
    /** The number of an unclaimed endpoint that was probed without result, and gives way. */
    evicted?: number,
  ): Promise<UnclaimedResult>
  /** Sets what only the operator may set; `false` when there is no such merchant. */
  setFlags(merchantId: string, flags: Partial<OperatorFlags>, now: number): Promise<boolean>
  /** Makes or replaces an entry of the operator, without a signature. */
  saveByOperator(
    merchant: OperatorMerchant,
    endpoints: (EndpointDraft & Pick<StoredEndpoint, 'isHosted'>)[],
    now: number,
  ): Promise<void>
  setHosted(endpointId: number, isHosted: boolean, now: number): Promise<boolean>
  /** Stores the JSON of merchants again that another version made, at most `limit`. Resolves with their number. */
  publishAnew(limit: number, now: number): Promise<number>
}

/** Every merchant for the operator, hidden and deleted ones too. */
export interface MerchantRoster {
  /** In order of id, a page at a time. */
  scan(afterId: string, limit: number): Promise<{ merchant: Merchant; endpointCount: number }[]>
}
