import type { BaseIndex } from './base-index.js'
import { addBits, type Bits, setBit } from './bits.js'
import { facet, type IndexDocument, type IndexMerchant, type Quote } from './index-document.js'

/** Something a document has or has not, beside the words of its texts. */
export interface Condition {
  /** Adds what of the base has it. */
  find(base: BaseIndex, into: Bits): void
  /** The same, asked of a single document. */
  isMet(document: IndexDocument, merchant: IndexMerchant): boolean
}

/** Everything a search can be narrowed by. What is absent narrows nothing. */
export interface CatalogFilter {
  merchant?: string
  /** Of one and the same entry of `accepts`; `payTo` in any case. */
  payTo?: string
  scheme?: string
  network?: string
  /** A key of the item's `extensions`. */
  extension?: string
  tag?: string
  method?: string
  pricing?: string
  /** Atomic units that the cheapest entry of `accepts` must not exceed. */
  maxPrice?: number
  /** Whether its own 402 was seen to be as listed. */
  verified?: boolean
  official?: boolean
  hasSchema?: boolean
}

export function conditionsOf(filter: CatalogFilter): Condition[] {
  const { merchant, extension, tag, method, pricing, maxPrice } = filter
  const conditions: Condition[] = []
  if (merchant !== undefined) conditions.push(isOfMerchant(merchant))
  if (extension !== undefined) conditions.push(hasFacet(facet.extension(extension)))
  if (tag !== undefined) conditions.push(hasFacet(facet.tag(tag)))
  if (method !== undefined) conditions.push(hasFacet(facet.method(method)))
  if (pricing !== undefined) conditions.push(hasFacet(facet.pricing(pricing)))
  if (maxPrice !== undefined) conditions.push(costsAtMost(maxPrice))
  const { payTo, scheme, network } = filter
  if ([payTo, scheme, network].some((part) => part !== undefined)) {
    conditions.push(isQuoted(filter))
  }
  const { verified, official, hasSchema } = filter
  if (verified !== undefined) conditions.push(onlyIf(verified, hasFacet(facet.status('live'))))
  if (official !== undefined) conditions.push(onlyIf(official, isOfficial))
  if (hasSchema !== undefined) conditions.push(onlyIf(hasSchema, hasFacet(facet.hasSchema)))
  return conditions
}

export const isFailing = hasFacet(facet.status('failing'))
export const isLive = hasFacet(facet.status('live'))

const isOfficial: Condition = {
  find: (base, into) => addBits(into, base.isOfficial),
  isMet: (_, merchant) => merchant.isOfficial,
}

function hasFacet(name: string): Condition {
  return {
    find: (base, into) => base.addFacet(into, name),
    isMet: ({ facets }) => facets.includes(name),
  }
}

function isOfMerchant(id: string): Condition {
  return {
    find: (base, into) => base.addMerchant(into, id),
    isMet: (_, merchant) => merchant.id === id,
  }
}

function costsAtMost(atomic: number): Condition {
  return {
    find({ size, prices }, into) {
      for (let number = 0; number < size; number++) {
        if (prices.at(number) <= atomic) setBit(into, number)
      }
    },
    isMet: ({ price }) => price <= atomic,
  }
}

/** One entry of `accepts` has all three, as far as they are given. */
function isQuoted({ payTo, scheme, network }: CatalogFilter): Condition {
  const paid = payTo?.toLowerCase()
  const isPair = (pair: Pick<Quote, 'scheme' | 'network'>) =>
    (scheme === undefined || pair.scheme === scheme) &&
    (network === undefined || pair.network === network)
  return {
    find(base, into) {
      for (const pair of base.pairs) {
        if (!isPair(pair)) continue
        base.addFacet(
          into,
          paid === undefined ? facet.pair(pair) : facet.quote({ ...pair, payTo: paid }),
        )
      }
    },
    isMet: ({ quotes }) =>
      quotes.some((quote) => isPair(quote) && (paid === undefined || quote.payTo === paid)),
  }
}

function onlyIf(isWanted: boolean, condition: Condition): Condition {
  if (isWanted) return condition
  return {
    find(base, into) {
      condition.find(base, into)
      for (let i = 0; i < into.length; i++) into[i] = ~(into[i] as number)
    },
    isMet: (document, merchant) => !condition.isMet(document, merchant),
  }
}
