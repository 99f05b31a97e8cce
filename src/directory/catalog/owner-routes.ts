import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { RequestFault } from '../../http/request-fault.js'
import { describedAs } from '../../http/route-config.js'
import { merchantIdKind } from '../../listing-client/listing.js'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { ownerOperation } from '../openapi/read-operations.js'
import { createPause } from './slices.js'

export interface OwnerRoutesOptions {
  store: Pick<
    ListingReader,
    'merchantsOwnedBy' | 'merchantsOfferedTo' | 'merchantsPaidTo' | 'endpointStates'
  >
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

/** What a wallet may do with a listing: `payTo` may claim what nobody owns and pays to it. */
type Role = 'owner' | 'offered' | 'payTo'

/** Listings of one wallet in an answer. */
const MAX_OWNED = 500

/** What the service lists of itself stays the operator's. */
function isClaimable({ id, owner }: Merchant): boolean {
  return owner === null && merchantIdKind(id) !== 'reserved'
}

/** `GET /api/owners/{address}/merchants`: what a wallet owns, what is offered to it, and what it may claim. Nothing in it is secret. */
export function ownerRoutes(
  app: FastifyInstance,
  { store, checksum, now }: OwnerRoutesOptions,
): void {
  async function rolesOf(address: Address): Promise<[Role, Merchant][]> {
    const [owned, offered, paid] = await Promise.all([
      store.merchantsOwnedBy(address, MAX_OWNED),
      store.merchantsOfferedTo(address, Math.floor(now() / 1000)),
      store.merchantsPaidTo(address),
    ])
    const as = (role: Role) => (merchant: Merchant) => [role, merchant] as [Role, Merchant]
    const unclaimed = paid.filter(isClaimable)
    return [...owned.map(as('owner')), ...offered.map(as('offered')), ...unclaimed.map(as('payTo'))]
  }

  async function tell(role: Role, merchant: Merchant) {
    const { id, name, revision, payTo, hiddenReason, offer, updatedAt } = merchant
    const isOffered = offer !== null && offer.until > now() / 1000
    return {
      id,
      name,
      role,
      revision,
      payTo: checksum(payTo),
      hidden: hiddenReason !== null,
      endpoints: await store.endpointStates(id),
      offer: isOffered ? { to: checksum(offer.to), until: offer.until } : null,
      updatedAt,
    }
  }

  app.get<{ Params: { address: string } }>(
    '/api/owners/:address/merchants',
    describedAs(ownerOperation),
    async (request, reply) => {
      const address = request.params.address.toLowerCase()
      if (!/^0x[0-9a-f]{40}$/.test(address)) {
        throw new RequestFault({
          statusCode: 400,
          code: 'invalid_request',
          message: 'address must be a 20-byte hex address with 0x prefix.',
        })
      }
      const pause = createPause()
      const merchants = []
      for (const [role, merchant] of await rolesOf(address as Address)) {
        merchants.push(await tell(role, merchant))
        await pause()
      }
      // An owner who saved must see it.
      return reply
        .header('cache-control', 'no-store')
        .send({ owner: checksum(address as Address), merchants })
    },
  )
}
