import type { FastifyRequest } from 'fastify'
import { RequestFault } from '../../http/request-fault.js'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { requireSession } from '../session/session-routes.js'
import type { Sessions } from '../session/sessions.js'

export type WithId = { Params: { id: string } }

export interface OwnerCheckOptions {
  listings: Pick<ListingReader, 'findMerchant'>
  sessions: Sessions
}

/** Throws 401 unless somebody is signed in, 404 without such a merchant, 403 when it is not theirs. */
export async function requireOwner(
  request: FastifyRequest<WithId>,
  { listings, sessions }: OwnerCheckOptions,
): Promise<Merchant> {
  const session = requireSession(request, sessions)
  const merchant = await listings.findMerchant(request.params.id)
  if (merchant === undefined) throw unknownMerchant()
  if (merchant.owner === session.address) return merchant
  throw new RequestFault({
    statusCode: 403,
    code: 'not_owner',
    message: 'Only the owner of this listing may read its activity.',
  })
}

export function unknownMerchant(): RequestFault {
  return new RequestFault({
    statusCode: 404,
    code: 'not_found',
    message: 'There is no merchant of this id.',
  })
}
