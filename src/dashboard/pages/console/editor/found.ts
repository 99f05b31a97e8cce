import type { Listing } from 'arcus-client/listing'
import { atomicToUsd, exactAmount, usdToAtomic } from '../../../format/amounts.js'
import { sameAddress, shortHex } from '../../../format/untrusted-text.js'
import type { EndpointDraft } from './draft.js'
import { words } from './words.js'

/** Warnings that concern the listing as it was, or what the owner may have written since. */
const answered = (draft: Pick<EndpointDraft, 'inputSchema'>, code: string) =>
  code === 'price_drift' || (code === 'schema_missing' && draft.inputSchema.trim() !== '')

/** Returns the codes of a check that still concern the endpoint as it stands in the form. */
export function openWarnings(draft: EndpointDraft): readonly string[] {
  return draft.found?.warnings.filter((code) => !answered(draft, code)) ?? []
}

/** Says in sentences how the endpoint in the form differs from its 402. */
export function differences(draft: EndpointDraft, payTo: Listing['payTo'] | string): string[] {
  const { found, price, asset } = draft
  if (found === null) return []
  const typed = usdToAtomic(price)
  const isOtherToken = asset !== '' && !sameAddress(asset, found.asset)
  const asks = exactAmount(atomicToUsd(found.price), found.symbol)
  return [
    ...(typed !== undefined && (typed !== found.price || isOtherToken)
      ? [words.found.otherPrice(asks)]
      : []),
    ...(payTo.trim() !== '' && !sameAddress(payTo.trim(), found.payTo)
      ? [words.found.otherPayTo(shortHex(found.payTo), shortHex(payTo.trim()))]
      : []),
  ]
}
