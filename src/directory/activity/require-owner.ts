import type { FastifyRequest } from 'fastify'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { payToProofOf } from '../../store/ownership.js'
import { present } from '../merchant-fault.js'
import { howToProve, tellUnproven } from '../pay-to-unproven.js'
import { requireSession } from '../session/session-routes.js'
import type { Sessions } from '../session/sessions.js'
import { WriteFault } from '../write-codes.js'

export type WithId = { Params: { id: string } }

export interface OwnerCheckOptions {
  listings: Pick<ListingReader, 'findMerchant'>
  sessions: Sessions
}

/**
 * Rejects with 401 unless somebody is signed in, 404 or 410 without such a merchant, 403 when it is not theirs, or when the
 * address it is paid at may be a stranger's: what he was paid is not for whoever lists his address.
 */
export async function requireOwner(
  request: FastifyRequest<WithId>,
  { listings, sessions }: OwnerCheckOptions,
): Promise<Merchant> {
  const session = await requireSession(request, sessions)
  const merchant = present(await listings.findMerchant(request.params.id))
  if (merchant.owner !== session.address) {
    throw new WriteFault('notOwner', 'Only the owner of this listing may read its activity.')
  }
  if (payToProofOf(merchant) !== null) return merchant
  throw new WriteFault('payToUnproven', tellUnproven(merchant), howToProve(merchant))
}
