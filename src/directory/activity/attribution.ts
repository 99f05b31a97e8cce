import type { Address } from 'viem'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { type PayToProof, payToProofOf, speaksForPayTo } from '../../store/ownership.js'
import { parseUrl } from '../../x402/parse-url.js'
import { createPathIndex, type PathIndex } from './path-index.js'

/** Whom an answer is about. */
export interface Attribution {
  merchantId: string
  /** `null` when only the recipient tells. */
  endpointId: number | null
  owner: Address | null
}

export interface Attributor {
  /** By the paid URL and the recipient; by the recipient alone; or nobody. */
  find(payTo: Address, url: URL | undefined): Promise<Attribution | undefined>
  /** Forgets what it found of listings that have changed since. */
  refresh(): Promise<void>
}

interface PaidMerchant {
  id: string
  owner: Address | null
  /** Read when somebody is paid there. */
  paths: PathIndex | undefined
}

/** Recipients and endpoints that are remembered: anybody may name any payTo. */
const MAX_RECIPIENTS = 5_000
const MAX_ENDPOINTS = 50_000
/** Listings of one recipient that are looked through. */
const MAX_MERCHANTS = 20
/** More changes than these at once, and everything is forgotten. */
const MAX_CHANGES = 500

/** The URL is a stranger's word: it names an endpoint only where its merchant is the one who is paid. */
export function createAttributor(
  listings: Pick<
    ListingReader,
    'merchantsPaidTo' | 'indexedOf' | 'findMerchant' | 'lastChange' | 'changesAfter'
  >,
): Attributor {
  const found = new Map<Address, PaidMerchant[]>()
  const payTos = new Map<string, Address>()
  let endpoints = 0
  let seen = 0

  function forgetAll(): void {
    found.clear()
    payTos.clear()
    endpoints = 0
  }

  async function merchantsOf(payTo: Address): Promise<PaidMerchant[]> {
    const known = found.get(payTo)
    if (known !== undefined) return known
    if (found.size >= MAX_RECIPIENTS || endpoints >= MAX_ENDPOINTS) forgetAll()
    const paid = (await listings.merchantsPaidTo(payTo))
      // Whoever else lists the address gets nothing of what it was paid, now or later.
      .filter(speaksForPayTo)
      .sort((a, b) => rankOf(a) - rankOf(b))
      .slice(0, MAX_MERCHANTS)
      .map(({ id, owner }) => ({ id, owner, paths: undefined }))
    found.set(payTo, paid)
    for (const { id } of paid) payTos.set(id, payTo)
    return paid
  }

  async function pathsOf(merchant: PaidMerchant): Promise<PathIndex> {
    if (merchant.paths !== undefined) return merchant.paths
    const listed = await listings.indexedOf(merchant.id)
    endpoints += listed.length
    merchant.paths = createPathIndex(listed)
    return merchant.paths
  }

  async function forgetMerchant(id: string): Promise<void> {
    const before = payTos.get(id)
    if (before !== undefined) found.delete(before)
    payTos.delete(id)
    const merchant = await listings.findMerchant(id)
    if (merchant !== undefined) found.delete(merchant.payTo)
  }

  return {
    async find(payTo, url) {
      const merchants = await merchantsOf(payTo)
      if (url !== undefined) {
        for (const merchant of merchants) {
          const endpointId = (await pathsOf(merchant)).find(url)
          if (endpointId !== undefined) {
            return { merchantId: merchant.id, owner: merchant.owner, endpointId }
          }
        }
      }
      const [first] = merchants
      return first && { merchantId: first.id, owner: first.owner, endpointId: null }
    },
    async refresh() {
      const last = await listings.lastChange()
      if (last === seen) return
      const changes = found.size === 0 ? [] : await listings.changesAfter(seen, MAX_CHANGES)
      if (changes.length === MAX_CHANGES) forgetAll()
      else for (const { merchantId } of changes) await forgetMerchant(merchantId)
      seen = last
    },
  }
}

/** The listing of the key itself comes first, then those it confirmed, then what nobody claimed; hidden ones come last. */
function rankOf(merchant: Merchant): number {
  const order: (PayToProof | null)[] = ['owner', 'confirmation', 'operator', null]
  const rank = order.indexOf(payToProofOf(merchant))
  return merchant.hiddenReason === null ? rank : rank + order.length
}

/** `undefined` for what is no web address. */
export function readResource(url: string | undefined): URL | undefined {
  const read = url === undefined ? undefined : parseUrl(url)
  return read?.protocol === 'https:' || read?.protocol === 'http:' ? read : undefined
}

/** Longest resource that is kept; the end of a longer one is left out. */
const MAX_RESOURCE_CHARS = 256

/** Origin and path of a paid URL: its query is the buyer's own business. */
export function canonicalResource(url: URL | undefined): string | null {
  if (url === undefined) return null
  const resource = url.origin + url.pathname
  return resource.length <= MAX_RESOURCE_CHARS
    ? resource
    : `${resource.slice(0, MAX_RESOURCE_CHARS - 1)}…`
}
