import type { BaseIndex } from './base-index.js'
import { type Bits, createBits, dropBits, setBit } from './bits.js'
import { lowerBound } from './document-set.js'
import { facet, type IndexDocument, type IndexMerchant } from './index-document.js'

/** A document that changed since the base was built. */
export interface OverlayDocument {
  document: IndexDocument
  merchant: IndexMerchant
}

/**
 * The catalog at one moment: the base, and over it what changed since. Never changes itself, so a search that takes
 * long sees one catalog from beginning to end.
 */
export interface CatalogView {
  readonly base: BaseIndex
  /** The last change that is in it. */
  readonly sequence: number
  /** Documents that are gone from the base or stand in the overlay instead. */
  readonly replaced: Bits
  /** By endpoint id. */
  readonly overlay: ReadonlyMap<number, OverlayDocument>
  /** Merchants that changed, by id. */
  readonly merchants: ReadonlyMap<string, IndexMerchant>
  /** Numbers go on after those of the base for endpoints that are not in it. */
  readonly size: number
  /** The overlay by number. */
  readonly changed: readonly (OverlayDocument & { number: number })[]
  /** Everything that may be found, and of that what is shown unasked: see `BaseIndex`. */
  readonly isPublic: Bits
  readonly isShown: Bits
  idOf(number: number): number
  /** Number of the first document whose endpoint id is `endpointId` or above. */
  firstFrom(endpointId: number): number
}

export type ViewState = Pick<
  CatalogView,
  'base' | 'sequence' | 'replaced' | 'overlay' | 'merchants'
>

/** A view of the base alone. */
export function firstView(base: BaseIndex, sequence: number): CatalogView {
  const replaced = createBits(base.size)
  return createView({ base, sequence, replaced, overlay: new Map(), merchants: new Map() })
}

export function createView(state: ViewState): CatalogView {
  const { base, overlay, replaced } = state
  const added = [...overlay.keys()].filter((id) => base.find(id) === -1).sort((a, b) => a - b)
  const numberOf = new Map(added.map((id, i) => [id, base.size + i]))
  const changed = [...overlay].map(([id, entry]) => ({
    ...entry,
    number: numberOf.get(id) ?? base.find(id),
  }))
  const size = base.size + added.length
  const isPublic = grown(base.isPublic, replaced, size)
  const isShown = grown(base.isShown, replaced, size)
  for (const { document, merchant, number } of changed) {
    setBit(isPublic, number)
    const closed = merchant.isUnclaimed ? ['failing', 'unverified'] : ['failing']
    if (!closed.some((status) => document.facets.includes(facet.status(status)))) {
      setBit(isShown, number)
    }
  }
  return {
    ...state,
    size,
    changed,
    isPublic,
    isShown,
    idOf: (number) =>
      number < base.size ? base.ids.at(number) : (added[number - base.size] as number),
    firstFrom(endpointId) {
      const inBase = lowerBound(base.size, base.ids.at, endpointId)
      if (inBase < base.size) return inBase
      return base.size + lowerBound(added.length, (i) => added[i] as number, endpointId)
    },
  }
}

/** A copy with room for more, without what was replaced. */
function grown(bits: Bits, replaced: Bits, size: number): Bits {
  const copy = createBits(size)
  copy.set(bits)
  dropBits(copy, replaced)
  return copy
}
