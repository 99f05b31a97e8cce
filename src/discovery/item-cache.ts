import type { ListingReader } from '../store/listings.js'
import type { PublishedEntry } from '../store/published.js'
import { itemJson } from './item.js'
import { createLru } from './lru.js'

/** Items as JSON, made once for each change of their merchant. */
export interface ItemCache {
  /** In the order of `ids`; what is hidden or deleted meanwhile is left out. As of `sequence` or later. */
  read(ids: readonly number[], sequence: number): Promise<string[]>
}

export type ItemSource = Pick<ListingReader, 'publishedById' | 'changesAfter'>

interface Kept {
  merchantId: string
  /** `undefined` for what is not public. */
  json: string | undefined
}

const MAX_BYTES = 32 * 1024 * 1024
/** More changes at once than these are not worth looking through. */
const MAX_CHANGES = 1_000
/** Whose items are known by name. */
const MAX_MERCHANTS = 50_000

export function createItemCache(source: ItemSource): ItemCache {
  const kept = createLru<Kept>(MAX_BYTES, ({ json }) => (json ?? '').length)
  const idsOf = new Map<string, Set<string>>()
  let upTo = 0

  function forgetAll(): void {
    kept.clear()
    idsOf.clear()
  }

  async function follow(sequence: number): Promise<void> {
    if (sequence <= upTo) return
    const changes = await source.changesAfter(upTo, MAX_CHANGES)
    if (changes.length === MAX_CHANGES) forgetAll()
    for (const { merchantId } of changes) {
      for (const key of idsOf.get(merchantId) ?? []) kept.delete(key)
      idsOf.delete(merchantId)
    }
    upTo = Math.max(sequence, changes.at(-1)?.sequence ?? 0)
  }

  function keep(entry: PublishedEntry): Kept {
    const { endpoint, merchant } = entry
    const isPublic = merchant.hiddenReason === null && merchant.deletedAt === null
    const made = {
      merchantId: merchant.id,
      json: isPublic ? itemJson(entry) : undefined,
    }
    const key = String(endpoint.id)
    kept.set(key, made)
    const ids = idsOf.get(merchant.id)
    if (ids === undefined) idsOf.set(merchant.id, new Set([key]))
    else ids.add(key)
    // Merchants whose items were dropped for room stay named; all begins anew before they are many.
    if (idsOf.size > MAX_MERCHANTS) forgetAll()
    return made
  }

  return {
    async read(ids, sequence) {
      await follow(sequence)
      const found = new Map<number, Kept>()
      const missing: number[] = []
      for (const id of ids) {
        const known = kept.get(String(id))
        if (known === undefined) missing.push(id)
        else found.set(id, known)
      }
      if (missing.length > 0) {
        for (const entry of await source.publishedById(missing))
          found.set(entry.endpoint.id, keep(entry))
      }
      return ids.flatMap((id) => found.get(id)?.json ?? [])
    },
  }
}
