import { hash } from 'node:crypto'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { ListingReader, Merchant, QuotedRequirement } from '../store/listings.js'
import { type PayToProof, payToProofOf, speaksForPayTo } from '../store/ownership.js'
import { isAskedFor, type PaidTerms } from '../store/published.js'

/** The merchant and the endpoint that an answer is about. */
export interface Attribution {
  merchantId: string
  /** `null` when only the recipient is known. */
  endpointId: number | null
  owner: Address | null
}

/** The facts about a payment apart from its recipient and its URL. */
interface PaidCall {
  toolName?: string | undefined
  /** The digest of the URL's query, by `digestQuery`. It is absent where the URL was kept without its query. */
  query?: readonly string[]
  /** Without it, a payment that names no URL is of no endpoint. */
  paid?: PaidTerms | undefined
}

interface PaidMerchant {
  id: string
  owner: Address | null
  /** The number of its last change. */
  change: number
}

/** Recipients and endpoints that are remembered; bounded, because a stranger may name any payTo. */
const MAX_RECIPIENTS = 5_000
const MAX_ENDPOINTS = 50_000
/** Listings of one recipient that are searched. */
const MAX_MERCHANTS = 20

export type Attributor = ReturnType<typeof createAttributor>

/** Creates the attributor. The URL comes from a stranger: it names an endpoint only if its merchant is the one who is paid. */
export function createAttributor(
  listings: Pick<ListingReader, 'merchantsPaidTo' | 'indexedOf' | 'changeOf' | 'lastChange'>,
) {
  /** As they were at the change `seen`. */
  const found = new LRUCache<Address, PaidMerchant[]>({ max: MAX_RECIPIENTS })
  const paths = new LRUCache<string, { change: number; index: PathIndex; endpoints: number }>({
    maxSize: MAX_ENDPOINTS,
    sizeCalculation: ({ endpoints }) => endpoints + 1,
  })
  let seen = 0

  async function merchantsOf(payTo: Address): Promise<PaidMerchant[]> {
    const known = found.get(payTo)
    if (known !== undefined) return known
    const listed = (await listings.merchantsPaidTo(payTo))
      // Others who list the address get none of its payments.
      .filter(speaksForPayTo)
      .sort((a, b) => rankOf(a) - rankOf(b))
      .slice(0, MAX_MERCHANTS)
    const paid: PaidMerchant[] = []
    for (const { id, owner } of listed) {
      paid.push({ id, owner, change: await listings.changeOf(id) })
    }
    found.set(payTo, paid)
    return paid
  }

  async function pathsOf({ id, change }: PaidMerchant): Promise<PathIndex> {
    const known = paths.get(id)
    if (known?.change === change) return known.index
    const listed = await listings.indexedOf(id)
    const index = createPathIndex(listed)
    paths.set(id, { change, index, endpoints: listed.length })
    return index
  }

  /** Finds the one endpoint of all these merchants that asks for what was paid; `undefined` where there are several. */
  async function findOnly(
    merchants: readonly PaidMerchant[],
    { paid, toolName }: PaidCall,
  ): Promise<Attribution | undefined> {
    if (paid === undefined) return undefined
    const asking: Attribution[] = []
    for (const merchant of merchants) {
      for (const endpointId of (await pathsOf(merchant)).askingFor(paid, toolName)) {
        asking.push({ merchantId: merchant.id, owner: merchant.owner, endpointId })
      }
    }
    return asking.length === 1 ? asking[0] : undefined
  }

  return {
    /**
     * Finds by the paid URL, its tool and the recipient, or by the recipient alone. A payment that names no URL is for the
     * one listed endpoint of its recipient that asks for what was paid.
     */
    async find(
      payTo: Address,
      url: URL | undefined,
      call: PaidCall = {},
    ): Promise<Attribution | undefined> {
      const merchants = await merchantsOf(payTo)
      if (url !== undefined) {
        for (const merchant of merchants) {
          const endpointId = (await pathsOf(merchant)).find(url, call.toolName, call.query)
          if (endpointId !== undefined) {
            return { merchantId: merchant.id, owner: merchant.owner, endpointId }
          }
        }
      }
      const only = url === undefined ? await findOnly(merchants, call) : undefined
      const [first] = merchants
      return only ?? (first && { merchantId: first.id, owner: first.owner, endpointId: null })
    },
    /** Forgets the recipients if any listing has changed since. */
    async refresh(): Promise<void> {
      const last = await listings.lastChange()
      if (last !== seen) found.clear()
      seen = last
    },
  }
}

/** Ranks listings: that of the key itself first, then those it confirmed, then unclaimed ones; hidden ones come last. */
function rankOf(merchant: Merchant): number {
  const order: (PayToProof | null)[] = ['owner', 'confirmation', 'operator', null]
  const rank = order.indexOf(payToProofOf(merchant))
  return merchant.hiddenReason === null ? rank : rank + order.length
}

/** Reads a web address; `undefined` for anything else. */
export function readResource(url: string | undefined): URL | undefined {
  const read = url === undefined ? undefined : parseUrl(url)
  return read?.protocol === 'https:' || read?.protocol === 'http:' ? read : undefined
}

/** Longest resource that is kept; a longer one is cut. */
const MAX_RESOURCE_CHARS = 256

/** Returns origin and path of a paid URL; its query is private to the buyer. */
export function canonicalResource(url: URL | undefined): string | null {
  if (url === undefined) return null
  const resource = url.origin + url.pathname
  return resource.length <= MAX_RESOURCE_CHARS
    ? resource
    : `${resource.slice(0, MAX_RESOURCE_CHARS - 1)}…`
}

/** Parameters of a query that are compared; longer queries are rare, and each costs a hash. */
const MAX_PARAMETERS = 50

/**
 * Returns a digest of each parameter of a URL. A payment is found to be one for a listed URL by them, and what the buyer
 * wrote there is not kept.
 */
export function digestQuery({ searchParams }: URL): string[] {
  return [...searchParams]
    .slice(0, MAX_PARAMETERS)
    .map(([name, value]) => hash('sha256', JSON.stringify([name, value]), 'base64url'))
}

type PathIndex = ReturnType<typeof createPathIndex>

interface Candidate {
  id: number
  toolName: string | undefined
  /** The digests of the query of the listed URL; a call may carry more. */
  query: readonly string[]
}

/**
 * Creates the index of endpoints by origin and path, which finds the endpoint that a paid URL belongs to. If several share
 * them, the one with the longest listed query that is part of the call's query is found; of the tools at one URL the one
 * that the payment names. A listed path such as `/weather/:city` covers every path of its form that is not listed itself.
 * A paid URL that has lost its query is of no endpoint where a listed one has a query.
 */
export function createPathIndex(
  endpoints: readonly {
    id: number
    url: string
    toolName?: string
    accepts?: readonly QuotedRequirement[]
  }[],
) {
  const asked = endpoints.map(({ id, toolName, accepts = [] }) => {
    const terms = accepts.map(({ scheme, network, asset, amount }) => {
      return { scheme, network, asset, amount }
    })
    return { id, toolName, accepts: terms }
  })
  const exact = new Map<string, Candidate[]>()
  const templates: { id: number; origin: string; segments: string[] }[] = []
  for (const { id, url: listed, toolName } of endpoints) {
    const url = new URL(listed)
    const place = url.origin + url.pathname
    exact.set(place, [...(exact.get(place) ?? []), { id, toolName, query: digestQuery(url) }])
    if (url.pathname.includes('/:')) {
      templates.push({ id, origin: url.origin, segments: url.pathname.split('/') })
    }
  }
  for (const candidates of exact.values()) {
    candidates.sort((a, b) => b.query.length - a.query.length)
  }

  return {
    /** Returns the endpoints that ask for what was paid, of those with a tool the ones of this name. */
    askingFor: (paid: PaidTerms, toolName: string | undefined): number[] =>
      asked
        .filter((it) => toolName === undefined || it.toolName === toolName)
        .filter(({ accepts }) => isAskedFor(paid, accepts))
        .map(({ id }) => id),
    find(url: URL, toolName?: string, called?: readonly string[]): number | undefined {
      const candidates = exact.get(url.origin + url.pathname)
      // Without the query of the call nobody knows which of the listed ones it had.
      if (called === undefined && candidates?.some(({ query }) => query.length > 0))
        return undefined
      const same = candidates?.filter(({ query }) => isPartOf(query, called ?? [])) ?? []
      if (toolName !== undefined) {
        // A payment for a tool that is not listed counts for no other tool.
        const named = same.find((it) => it.toolName === toolName)
        return (named ?? same.find((it) => it.toolName === undefined))?.id
      }
      const [first, next] = same
      if (first?.toolName !== undefined && next?.toolName !== undefined) return undefined
      if (first !== undefined) return first.id
      if (templates.length === 0) return undefined
      const segments = url.pathname.split('/')
      return templates.find(
        (template) => template.origin === url.origin && isOfForm(segments, template.segments),
      )?.id
    },
  }
}

function isPartOf(query: readonly string[], called: readonly string[]): boolean {
  return query.every((digest) => called.includes(digest))
}

function isOfForm(segments: readonly string[], template: readonly string[]): boolean {
  return (
    segments.length === template.length &&
    template.every((part, i) => (part.startsWith(':') ? segments[i] !== '' : part === segments[i]))
  )
}
