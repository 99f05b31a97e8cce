import { currencyOf } from '@arcus/protocol/x402/currencies'
import { isObject } from '@arcus/protocol/x402/json'
import type { IndexedEndpoint, Merchant, UsageChange } from '../store/listings.js'
import { isUnclaimed, speaksForPayTo, waitsForProbe } from '../store/ownership.js'
import { dearestAsked, isPublished } from '../store/published.js'
import { NO_USAGE_RANK, type UsageRank, usageRankOf } from '../store/usage-rank.js'
import { fold, foldUrl } from './words.js'

/** The searchable parts of a merchant that is neither hidden nor deleted. */
export interface SearchableMerchant {
  id: string
  /**
   * The folded name and description, then title and description of each endpoint, with line breaks between them: a word of
   * a query has no blank in it. One long text is searched far faster than many short ones.
   */
  text: string
  /** The offset of the description, and of what follows it. */
  aboutStart: number
  aboutEnd: number
  /** The folded tags of each endpoint with the name that its own 402 gave, and its URL, in the same form. */
  labels: string
  isOfficial: boolean
  /** Whether its endpoints are listed by default only while a probe sees them live. */
  mustBeLive: boolean
  /** Whether it speaks for its payout address, so that payments count for it. The others come last in every order. */
  isCounted: boolean
  /** Whether it was found in payments and nobody has signed for it. */
  isUnclaimed: boolean
  /** The address that says whose it is: the owner, or else the recipient. */
  seller: string
  usageRank: UsageRank
  /** Unix seconds of its creation. */
  since: number
  network: string
  /** In order of id. */
  endpoints: SearchableEndpoint[]
}

/** One way to pay for an endpoint. */
interface PaymentOption {
  scheme: string
  network: string
  /** In lower case. */
  payTo: string
  asset: string
}

/** The searchable parts of an endpoint of a listed merchant. */
export interface SearchableEndpoint
  extends Pick<
    IndexedEndpoint,
    'id' | 'method' | 'pricing' | 'hasSchema' | 'isDelivered' | 'deliveredShare'
  > {
  /** True if a search that names no merchant and no payTo finds it: it is live, or no probe has called it yet and its merchant need not wait for one. */
  isListed: boolean
  /** True if the last probe got a 402 that matches the listing. */
  isLive: boolean
  merchant: SearchableMerchant
  /** Offsets in the text of the merchant, and in the labels. */
  titleStart: number
  descriptionStart: number
  descriptionEnd: number
  tagsStart: number
  urlStart: number
  urlEnd: number
  /** Folded. */
  tags: readonly string[]
  /** The keys of the item's `extensions`. */
  extensions: readonly string[]
  quotes: readonly PaymentOption[]
  /** The price of its live 402, or the listed price if none is known, in atomic units of `asset`. */
  price: number
  /** In lower case. */
  asset: string
  /** ISO 4217; `null` if not known. */
  currency: string | null
  usageRank: UsageRank
}

/** A merchant as the store has it now. */
interface MerchantNow {
  id: string
  /** `undefined` when the store does not have it any more. */
  merchant: Merchant | undefined
  endpoints: readonly IndexedEndpoint[]
}

/** Every endpoint that may be shown, in order of id, which is the order of creation. */
export interface EndpointList {
  /** The number of the last change that the list has. */
  sequence: number
  /** The version of the last figures that the list has. */
  usageVersion: number
  readonly endpoints: readonly SearchableEndpoint[]
  merchants(): Iterable<SearchableMerchant>
  findMerchant(id: string): SearchableMerchant | undefined
  /** Adds endpoints after all others. Endpoints without a listed merchant are left out. */
  append(endpoints: readonly IndexedEndpoint[], merchants: readonly Merchant[]): void
  /** Replaces a merchant and all its endpoints in the list. */
  replace(now: MerchantNow): void
  /** Takes over figures of endpoints and merchants, listed or not. */
  applyUsage(changes: readonly UsageChange[]): void
}

/** Creates an empty list that contains every change up to `sequence`. */
export function createEndpointList(sequence: number): EndpointList {
  const endpoints: SearchableEndpoint[] = []
  const merchants = new Map<string, SearchableMerchant>()
  /** By id of the endpoint, or of the merchant. */
  const ranks = new Map<number | string, UsageRank>()

  function addMerchant(merchant: Merchant): SearchableMerchant {
    const listed = toListedMerchant(merchant)
    if (listed.isCounted) listed.usageRank = ranks.get(listed.id) ?? NO_USAGE_RANK
    merchants.set(listed.id, listed)
    return listed
  }

  function addEndpoint(row: IndexedEndpoint, merchant: SearchableMerchant): void {
    const endpoint = toListedEndpoint(row, merchant)
    if (merchant.isCounted) endpoint.usageRank = ranks.get(row.id) ?? NO_USAGE_RANK
    merchant.endpoints.push(endpoint)
    const at = lowerBound(endpoints, endpoint.id, idOf)
    if (endpoints[at]?.id === endpoint.id) endpoints[at] = endpoint
    else endpoints.splice(at, 0, endpoint)
  }

  return {
    sequence,
    usageVersion: 0,
    endpoints,
    merchants: () => merchants.values(),
    findMerchant: (id) => merchants.get(id),
    append(rows, added) {
      const waiting = new Map(added.filter(isPublished).map((merchant) => [merchant.id, merchant]))
      for (const row of rows) {
        const { merchantId: id } = row
        const fresh = waiting.get(id)
        waiting.delete(id)
        // Merchants come in the order of their first endpoints, so that searches find most ids in order.
        const merchant = fresh === undefined ? merchants.get(id) : addMerchant(fresh)
        if (merchant !== undefined) addEndpoint(row, merchant)
      }
      // Reading a sign puts a text that grew together at once, which takes less memory than at the first search.
      for (const merchant of new Set(rows.map(({ merchantId }) => merchants.get(merchantId)))) {
        merchant?.text.charCodeAt(0)
        merchant?.labels.charCodeAt(0)
      }
    },
    replace({ id, merchant, endpoints: rows }) {
      const before = merchants.get(id)
      // A merchant that is still listed keeps its position among the others, so that searches find ids in order.
      if (merchant === undefined || !isPublished(merchant)) merchants.delete(id)
      else {
        const listed = addMerchant(merchant)
        for (const row of rows) addEndpoint(row, listed)
      }
      for (const endpoint of before?.endpoints ?? []) {
        const at = lowerBound(endpoints, endpoint.id, idOf)
        // An endpoint that is still listed has a new object by now.
        if (endpoints[at] !== endpoint) continue
        endpoints.splice(at, 1)
        // The number of a removed endpoint never returns.
        if (!rows.some(({ id }) => id === endpoint.id)) ranks.delete(endpoint.id)
      }
    },
    applyUsage(changes) {
      for (const { endpointId, merchantId, figures } of changes) {
        const rank = usageRankOf(JSON.parse(figures))
        if (merchantId !== null) {
          ranks.set(merchantId, rank)
          const merchant = merchants.get(merchantId)
          if (merchant?.isCounted) merchant.usageRank = rank
        }
        if (endpointId === null) continue
        ranks.set(endpointId, rank)
        const endpoint = endpoints[lowerBound(endpoints, endpointId, idOf)]
        if (endpoint?.id === endpointId && endpoint.merchant.isCounted) endpoint.usageRank = rank
      }
    },
  }
}

/** Returns the folded title of an endpoint. */
export function titleOf({ merchant, titleStart, descriptionStart }: SearchableEndpoint): string {
  return merchant.text.slice(titleStart, descriptionStart - 1)
}

/** Returns the index of the first member that is not below `value`, in a row in ascending order. */
export function lowerBound<Member>(
  row: readonly Member[],
  value: number,
  numberOf: (member: Member) => number,
): number {
  let low = 0
  let high = row.length
  // Most members come after all others.
  if (high > 0 && numberOf(row[high - 1] as Member) < value) return high
  while (low < high) {
    const middle = (low + high) >>> 1
    if (numberOf(row[middle] as Member) < value) low = middle + 1
    else high = middle
  }
  return low
}

const idOf = ({ id }: SearchableEndpoint) => id

function toListedMerchant(merchant: Merchant): SearchableMerchant {
  const name = fold(merchant.name)
  const text = [name, fold(merchant.description)].join('\n')
  return {
    id: merchant.id,
    text,
    aboutStart: name.length + 1,
    aboutEnd: text.length,
    labels: '',
    isOfficial: merchant.isOfficial,
    mustBeLive: waitsForProbe(merchant),
    isCounted: speaksForPayTo(merchant),
    isUnclaimed: isUnclaimed(merchant),
    seller: merchant.owner ?? merchant.payTo,
    usageRank: NO_USAGE_RANK,
    since: merchant.createdAt,
    network: merchant.network,
    endpoints: [],
  }
}

function toListedEndpoint(row: IndexedEndpoint, merchant: SearchableMerchant): SearchableEndpoint {
  const { serviceName, extensions } = row.extras
  const tags = row.tags.map(fold)
  const service = typeof serviceName === 'string' ? [fold(serviceName)] : []
  const title = fold(row.title)
  const named = [...tags, ...service].join(' ')
  const titleStart = merchant.text.length + 1
  const tagsStart = merchant.labels.length + 1
  merchant.text += ['', title, fold(row.description)].join('\n')
  merchant.labels += ['', named, foldUrl(row.url)].join('\n')
  const terms = { network: merchant.network, asset: row.asset }
  return {
    id: row.id,
    isListed: row.status === 'live' || (row.status === 'unverified' && !merchant.mustBeLive),
    isLive: row.status === 'live',
    usageRank: NO_USAGE_RANK,
    merchant,
    titleStart,
    descriptionStart: titleStart + title.length + 1,
    descriptionEnd: merchant.text.length,
    tagsStart,
    urlStart: tagsStart + named.length + 1,
    urlEnd: merchant.labels.length,
    method: row.method,
    pricing: row.pricing,
    hasSchema: row.hasSchema,
    isDelivered: row.isDelivered,
    deliveredShare: row.deliveredShare,
    tags,
    extensions: isObject(extensions) ? Object.keys(extensions) : NOTHING,
    quotes: quotesOf(row, merchant.endpoints.at(-1)?.quotes),
    price: Number(dearestAsked(row.accepts, terms) ?? row.price),
    asset: shared(row.asset),
    currency: currencyOf(row.symbol),
  }
}

const NOTHING: readonly string[] = []

/** Tokens are few, and endpoints many: one text each saves memory. */
const assets = new Map<string, string>()

function shared(asset: string): string {
  const known = assets.get(asset)
  if (known === undefined) assets.set(asset, asset)
  return known ?? asset
}

/** Returns the quotes of an endpoint; those of the endpoint before, when they are the same, to save memory. */
function quotesOf(
  { accepts }: IndexedEndpoint,
  before: readonly PaymentOption[] = [],
): readonly PaymentOption[] {
  const quotes = accepts.flatMap(({ scheme, network, payTo, asset }) =>
    typeof scheme === 'string' && typeof network === 'string' && typeof payTo === 'string'
      ? [{ scheme, network, payTo: payTo.toLowerCase(), asset: String(asset).toLowerCase() }]
      : [],
  )
  const names = ['scheme', 'network', 'payTo', 'asset'] as const
  const isSame = (quote: PaymentOption, i: number) =>
    names.every((name) => before[i]?.[name] === quote[name])
  return quotes.length === before.length && quotes.every(isSame) ? before : quotes
}
