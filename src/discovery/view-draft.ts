import type { IndexedEndpoint, Merchant } from '../store/listings.js'
import { hasBit, setBit } from './bits.js'
import { type CatalogView, createView, type OverlayDocument } from './catalog-view.js'
import { type IndexMerchant, toIndexDocument, toIndexMerchant } from './index-document.js'

/** Changes on their way into the next view. */
export interface ViewDraft {
  /** Puts the merchant as it is now in place of what the view knows of it; `undefined` is a merchant that is gone. */
  put(id: string, merchant: Merchant | undefined, endpoints: readonly IndexedEndpoint[]): void
  finish(sequence: number): CatalogView
}

/** Only what changed in a way that a search could see goes into the overlay. */
export function createDraft(view: CatalogView): ViewDraft {
  const { base } = view
  const replaced = view.replaced.slice()
  const overlay = new Map(view.overlay)
  const merchants = new Map(view.merchants)
  const overlayOf = new Map<string, Set<number>>()
  for (const [id, entry] of overlay) noteOf(entry.merchant.id).add(id)

  function noteOf(merchantId: string): Set<number> {
    const ids = overlayOf.get(merchantId) ?? new Set()
    overlayOf.set(merchantId, ids)
    return ids
  }

  function signatureNow(endpointId: number, number: number): number | undefined {
    const changed = overlay.get(endpointId)
    if (changed !== undefined) return changed.document.signature
    return number === -1 || hasBit(replaced, number) ? undefined : base.signatures.at(number)
  }

  function remove(endpointId: number): void {
    overlay.delete(endpointId)
    const number = base.find(endpointId)
    if (number !== -1) setBit(replaced, number)
  }

  function place(entry: OverlayDocument, isMerchantChanged: boolean): void {
    const { id, signature, merchantId } = entry.document
    const number = base.find(id)
    if (!isMerchantChanged && signatureNow(id, number) === signature) return
    overlay.set(id, entry)
    noteOf(merchantId).add(id)
    if (number !== -1) setBit(replaced, number)
  }

  /** Whether the merchant itself changed, which all its documents show. */
  function noteMerchant(merchant: IndexMerchant): boolean {
    const known = merchants.get(merchant.id)?.signature ?? base.merchantSignature(merchant.id)
    if (known === merchant.signature) return false
    merchants.set(merchant.id, merchant)
    return true
  }

  return {
    put(id, listed, endpoints) {
      const merchant = toIndexMerchant(id, listed)
      const isChanged = noteMerchant(merchant)
      const shown = merchant.isPublic ? endpoints : []
      const gone = new Set(noteOf(id))
      for (const number of base.documentsOf(id)) gone.add(base.ids.at(number))
      for (const endpoint of shown) gone.delete(endpoint.id)
      for (const endpointId of gone) {
        remove(endpointId)
        noteOf(id).delete(endpointId)
      }
      for (const endpoint of shown) {
        place({ document: toIndexDocument(endpoint), merchant }, isChanged)
      }
    },
    finish: (sequence) =>
      createView({
        base,
        sequence,
        replaced,
        overlay,
        merchants,
      }),
  }
}
