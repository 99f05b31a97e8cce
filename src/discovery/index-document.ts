import type { IndexedEndpoint, Merchant, OutlinedEndpoint } from '../store/listings.js'
import { isUnclaimed } from '../store/unclaimed.js'
import { fold, foldUrl } from './fold.js'
import { signatureOf } from './signature.js'

/** Texts of an endpoint. `tags` are joined; `service` is the name its own 402 gave. */
export const endpointFields = ['title', 'tags', 'service', 'description', 'url'] as const
/** Texts of a merchant, which all its endpoints share: its name and its description. */
export const merchantFields = ['name', 'about'] as const

export type EndpointField = (typeof endpointFields)[number]
export type MerchantField = (typeof merchantFields)[number]
export type Field = EndpointField | MerchantField

/** What of a merchant is searched. */
export interface IndexMerchant {
  id: string
  /** Folded. */
  texts: Record<MerchantField, string>
  isPublic: boolean
  isOfficial: boolean
  /** Found in payments: nothing of it is shown before it was seen live. */
  isUnclaimed: boolean
  signature: number
}

/** What an endpoint asks to be paid with, as far as it is searched. */
export interface Quote {
  scheme: string
  network: string
  /** Lower case. */
  payTo: string
}

/** What of an endpoint is searched. */
export interface IndexDocument {
  id: number
  merchantId: string
  /** Folded. */
  texts: Record<EndpointField, string>
  /** Exact things it can be found by: see `facet`. */
  facets: string[]
  quotes: Quote[]
  /** The least it asks for, in atomic units. */
  price: number
  signature: number
}

/** Names of what a document can be found by exactly. */
export const facet = {
  extension: (key: string) => `extension=${key}`,
  tag: (tag: string) => `tag=${fold(tag)}`,
  method: (method: string) => `method=${method}`,
  pricing: (pricing: string) => `pricing=${pricing}`,
  status: (status: string) => `status=${status}`,
  /** The length keeps `a`, `bc` apart from `ab`, `c`. */
  pair: ({ scheme, network }: Pick<Quote, 'scheme' | 'network'>) =>
    `pair=${scheme.length}:${scheme}${network}`,
  quote: (quote: Quote) => `quote=${quote.payTo}${facet.pair(quote)}`,
  hasSchema: 'schema',
} as const

export function toIndexMerchant(id: string, merchant: Merchant | undefined): IndexMerchant {
  const isPublic =
    merchant !== undefined && merchant.hiddenReason === null && merchant.deletedAt === null
  const isOfficial = merchant?.isOfficial === true
  const isUnproven = merchant !== undefined && isUnclaimed(merchant)
  const texts = { name: fold(merchant?.name ?? ''), about: fold(merchant?.description ?? '') }
  const signature = signatureOf([
    texts.name,
    texts.about,
    `${isPublic} ${isOfficial} ${isUnproven}`,
  ])
  return { id, texts, isPublic, isOfficial, isUnclaimed: isUnproven, signature }
}

export function toIndexDocument(row: IndexedEndpoint): IndexDocument {
  const { serviceName } = row.extras
  const texts = {
    title: fold(row.title),
    tags: fold(row.tags.join(' ')),
    service: typeof serviceName === 'string' ? fold(serviceName) : '',
    description: fold(row.description),
    url: foldUrl(row.url),
  }
  const quotes = quotesOf(row)
  const facets = facetsOf(row, quotes)
  const price = leastPrice(row)
  const signature = signatureOf([...Object.values(texts), ...facets, String(price)])
  return { id: row.id, merchantId: row.merchantId, texts, facets, quotes, price, signature }
}

/** An endpoint before its texts are read; its signature is like no other, so whatever becomes of it is a change. */
export function toOutlineDocument({ id, merchantId, status }: OutlinedEndpoint): IndexDocument {
  return {
    id,
    merchantId,
    texts: { title: '', tags: '', service: '', description: '', url: '' },
    facets: [facet.status(status)],
    quotes: [],
    price: 0,
    signature: Number.NaN,
  }
}

function facetsOf(row: IndexedEndpoint, quotes: Quote[]): string[] {
  const { extensions } = row.extras
  return [
    facet.method(row.method),
    facet.pricing(row.pricing),
    facet.status(row.status),
    ...(row.hasSchema ? [facet.hasSchema] : []),
    ...row.tags.map(facet.tag),
    ...(isObject(extensions) ? Object.keys(extensions).map(facet.extension) : []),
    ...quotes.flatMap((quote) => [facet.pair(quote), facet.quote(quote)]),
  ]
}

function quotesOf({ accepts }: IndexedEndpoint): Quote[] {
  return accepts.flatMap(({ scheme, network, payTo }) =>
    typeof scheme === 'string' && typeof network === 'string' && typeof payTo === 'string'
      ? [{ scheme, network, payTo: payTo.toLowerCase() }]
      : [],
  )
}

function leastPrice({ accepts, price }: IndexedEndpoint): number {
  let least = Number.POSITIVE_INFINITY
  for (const { amount } of accepts) {
    if (typeof amount === 'string' && /^[0-9]{1,78}$/.test(amount)) {
      least = Math.min(least, Number(amount))
    }
  }
  return least === Number.POSITIVE_INFINITY ? Number(price) : least
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
