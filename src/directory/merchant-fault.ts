import { getAddress } from 'viem'
import type { Merchant } from '../store/listings.js'
import { asSentence } from './sentence.js'
import { WriteFault } from './write-codes.js'

/**
 * The answer of every route about a merchant that is not there: 404 where there never was one, 410 where its owner
 * deleted it, with the revision with which he may list it again.
 */
export function missingFault(merchant: Merchant | undefined): WriteFault {
  if (merchant === undefined) {
    return new WriteFault('merchantNotFound', 'There is no merchant with this id.')
  }
  const { revision, payTo, deletedAt } = merchant
  const details = { revision, payTo: getAddress(payTo), deletedAt }
  return new WriteFault('merchantDeleted', 'The merchant was deleted by its owner.', details)
}

/** The merchant, if it is there. Throws a `WriteFault` (404 or 410). */
export function present(merchant: Merchant | undefined): Merchant {
  if (merchant === undefined || merchant.deletedAt !== null) throw missingFault(merchant)
  return merchant
}

/** The merchant, if everybody may read of it. Throws a `WriteFault` (404, 410, or 403 with the operator's reason). */
export function presentInPublic(merchant: Merchant | undefined): Merchant {
  const found = present(merchant)
  if (found.hiddenReason === null) return found
  const text = asSentence(`The operator hides this merchant: ${found.hiddenReason}`)
  throw new WriteFault('merchantHidden', text)
}
