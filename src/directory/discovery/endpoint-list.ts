import { currencyOf } from '@arcus/protocol/x402/currencies'
import { isObject } from '@arcus/protocol/x402/json'
import type { IndexedEndpoint, Merchant, UsageChange } from '../store/listings.js'
import { isUnclaimed, speaksForPayTo, waitsForProbe } from '../store/ownership.js'
import { dearestAsked, isPublished } from '../store/published.js'
import { NO_USAGE_RANK, type UsageRank, usageRankOf } from '../store/usage-rank.js'
import { type FindInText, findAnywhere, TIERS } from './finders.js'
import { createWordIndex, lowerBound } from './word-index.js'
import { fold, foldUrl, urlPieces } from './words.js'

/** The searchable parts of a merchant that is neither hidden nor deleted. */
export interface SearchableMerchant {
  id: string
  /** The number of its texts in the index of words. */
  place: number
  /** The folded name and description, then title and description of each endpoint, with line breaks between them. */
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
  /** The number of its texts in the index of words. A removed endpoint leaves it to a later one. */
  place: number
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
  /** The same by their places; `undefined` where a place is free. */
  readonly places: readonly (SearchableEndpoint | undefined)[]
  /**
   * Returns the best tier of a word in each endpoint, by place. Unless the search is wide, names and texts count, and tags
   * and URLs do not.
   */
  tiersOf(word: string, find: FindInText, isWide: boolean): Uint8Array
  merchants(): Iterable<SearchableMerchant>
  findMerchant(id: string): SearchableMerchant | undefined
  /** Adds endpoints after all others. Endpoints without a listed merchant are left out. */
  append(endpoints: readonly IndexedEndpoint[], merchants: readonly Merchant[]): void
  /** Replaces a merchant and all its endpoints in the list. */
  replace(now: MerchantNow): void
  /** Takes over figures of endpoints and merchants, listed or not. */
  applyUsage(changes: readonly UsageChange[]): void
}

/** The texts in which a word stands. The place of the last two is that of the merchant, of the others that of the endpoint. */
const FIELDS = { title: 0, tags: 1, description: 2, url: 3, name: 4, about: 5 } as const
const tierOfField: readonly number[] = [
  TIERS.title,
  TIERS.tags,
  TIERS.description,
  TIERS.url,
  TIERS.provider,
  TIERS.description,
]
/** A text is noted under its place times this, plus its field. */
const FIELDS_A_PLACE = 8

/** Creates an empty list that contains every change up to `sequence`. */
export function createEndpointList(sequence: number): EndpointList {
  const endpoints: SearchableEndpoint[] = []
  const merchants = new Map<string, SearchableMerchant>()
  const places = createPlaces<SearchableEndpoint>()
  const placesOfMerchants = createPlaces<SearchableMerchant>()
  const words = createWordIndex()
  /** By id of the endpoint, or of the merchant. */
  const ranks = new Map<number | string, UsageRank>()

  function addMerchant(merchant: Merchant): SearchableMerchant {
    const listed = toListedMerchant(merchant)
    if (listed.isCounted) listed.usageRank = ranks.get(listed.id) ?? NO_USAGE_RANK
    merchants.set(listed.id, listed)
    placesOfMerchants.take(listed)
    eachTextOfMerchant(listed, words.add)
    return listed
  }

  function addEndpoint(row: IndexedEndpoint, merchant: SearchableMerchant): void {
    const endpoint = toListedEndpoint(row, merchant)
    if (merchant.isCounted) endpoint.usageRank = ranks.get(row.id) ?? NO_USAGE_RANK
    merchant.endpoints.push(endpoint)
    places.take(endpoint)
    eachText(endpoint, words.add)
    const at = lowerBound(endpoints, endpoint.id, idOf)
    if (endpoints[at]?.id === endpoint.id) endpoints[at] = endpoint
    else endpoints.splice(at, 0, endpoint)
  }

  function removeWords(merchant: SearchableMerchant): void {
    eachTextOfMerchant(merchant, words.remove)
    placesOfMerchants.leave(merchant)
    for (const endpoint of merchant.endpoints) {
      eachText(endpoint, words.remove)
      places.leave(endpoint)
    }
  }

  /** Returns the best tier of all words that a search finds, among the fields that count. */
  function mark(find: FindInText, counts: (field: number) => boolean): Uint8Array {
    const tiers = new Uint8Array(places.all.length).fill(TIERS.nowhere)
    const better = (place: number, tier: number) => {
      if (tier < (tiers[place] as number)) tiers[place] = tier
    }
    for (const numbers of words.find(find)) {
      for (const number of numbers) {
        const field = number % FIELDS_A_PLACE
        if (!counts(field)) continue
        const place = (number - field) / FIELDS_A_PLACE
        const tier = tierOfField[field] as number
        if (field < FIELDS.name) better(place, tier)
        else for (const it of placesOfMerchants.all[place]?.endpoints ?? []) better(it.place, tier)
      }
    }
    return tiers
  }

  return {
    sequence,
    usageVersion: 0,
    endpoints,
    places: places.all,
    tiersOf(word, find, isWide) {
      const tiers = mark(find, isWide ? () => true : isProse)
      const pieces = urlPieces(word)
      // A word that is a single piece of a URL was found there as it stands.
      if (!isWide || (pieces.length === 1 && pieces[0] === word)) return tiers
      const inUrl = pieces.map((piece) => mark(findAnywhere(piece), isUrl))
      for (let place = 0; place < tiers.length; place++) {
        if ((tiers[place] as number) < TIERS.url) continue
        if (inUrl.every((found) => found[place] === TIERS.url)) tiers[place] = TIERS.url
      }
      return tiers
    },
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
      if (before !== undefined) removeWords(before)
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

const isProse = (field: number) => field !== FIELDS.tags && field !== FIELDS.url
const isUrl = (field: number) => field === FIELDS.url

function eachText(
  { merchant, place, ...at }: SearchableEndpoint,
  visit: (text: string, number: number) => void,
): void {
  const { text, labels } = merchant
  const first = place * FIELDS_A_PLACE
  visit(text.slice(at.titleStart, at.descriptionStart), first + FIELDS.title)
  visit(text.slice(at.descriptionStart, at.descriptionEnd), first + FIELDS.description)
  visit(labels.slice(at.tagsStart, at.urlStart), first + FIELDS.tags)
  visit(labels.slice(at.urlStart, at.urlEnd), first + FIELDS.url)
}

function eachTextOfMerchant(
  { text, place, aboutStart, aboutEnd }: SearchableMerchant,
  visit: (text: string, number: number) => void,
): void {
  visit(text.slice(0, aboutStart), place * FIELDS_A_PLACE + FIELDS.name)
  visit(text.slice(aboutStart, aboutEnd), place * FIELDS_A_PLACE + FIELDS.about)
}

/** Numbers members from 0 on. The number of one that left is given to a later one. */
function createPlaces<Member extends { place: number }>() {
  const all: (Member | undefined)[] = []
  const free: number[] = []
  return {
    all,
    take(member: Member): void {
      member.place = free.pop() ?? all.length
      all[member.place] = member
    },
    leave({ place }: Member): void {
      all[place] = undefined
      free.push(place)
    },
  }
}

const idOf = ({ id }: SearchableEndpoint) => id

function toListedMerchant(merchant: Merchant): SearchableMerchant {
  const name = fold(merchant.name)
  const text = [name, fold(merchant.description)].join('\n')
  return {
    id: merchant.id,
    place: 0,
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
    place: 0,
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
