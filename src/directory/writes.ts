import type { Address } from 'viem'
import type { ListingChange, ListingStore, Merchant } from '../store/listings.js'
import { type ListingBody, listingFault, parseListing } from './listing-body.js'
import { listingLimits as limits } from './listing-limits.js'
import { missingFault } from './merchant-fault.js'
import { merchantIdKind } from './merchant-id.js'
import type { SaveAllowance } from './save-allowance.js'
import type { LookedAt } from './save-looks.js'
import { checkSchemas } from './schema-agreement.js'
import type { SchemaCheck } from './schema-check.js'
import {
  parseAcceptance,
  parseConfirmation,
  parseDeletion,
  parseLink,
  parseOffer,
} from './small-bodies.js'
import {
  type CheckedWrite,
  offerFault,
  ownerFault,
  payToFault,
  replayFault,
  staleFault,
  type WriteCheck,
} from './write-check.js'
import { WriteFault } from './write-codes.js'
import type { WriteRoom } from './write-room.js'

/** Every write an owner can make; each takes the request as it was sent, and from which IP, and throws a `WriteFault`. */
export interface Writes {
  save(
    merchantId: string,
    request: unknown,
    ip: string,
  ): Promise<{ merchant: Merchant; isNew: boolean }>
  delete(merchantId: string, request: unknown): Promise<Merchant>
  offerOwner(merchantId: string, request: unknown, ip: string): Promise<Merchant>
  acceptOwner(merchantId: string, request: unknown, ip: string): Promise<Merchant>
  linkAgent(merchantId: string, request: unknown, ip: string): Promise<Merchant>
  confirmPayTo(merchantId: string, request: unknown, ip: string): Promise<Merchant>
}

export interface WritesOptions {
  listings: Pick<ListingStore, 'findMerchant' | 'endpointsOf' | 'applyWrite'>
  check: WriteCheck
  schemas: Pick<SchemaCheck, 'check'>
  look: (
    endpoints: ListingBody['endpoints'],
    payTo: Address,
    known: Awaited<ReturnType<ListingStore['endpointsOf']>>,
  ) => Promise<LookedAt[]>
  allowance: SaveAllowance
  room: WriteRoom
  /** CAIP-2. */
  network: string
  /** Lower case. */
  asset: Address
  /** Unix milliseconds. */
  now: () => number
}

export function createWrites(options: WritesOptions): Writes {
  const { listings, check, schemas, look, allowance, room, network, asset } = options
  const nowSeconds = () => Math.floor(options.now() / 1000)

  /** The store judges owner, revision and nonce once more, in the transaction of the change. */
  async function apply({ write }: CheckedWrite<unknown>, change: ListingChange): Promise<Merchant> {
    const result = await listings.applyWrite({ ...write, acceptedAt: nowSeconds() }, change)
    if (result.state === 'applied') return result.merchant
    if (result.state === 'replayed') throw replayFault()
    if (result.state === 'stale') throw staleFault(result.revision)
    if (result.state === 'notOwner') throw ownerFault(false)
    if (result.state === 'notOffered') throw offerFault()
    if (result.state === 'notPayTo') throw payToFault()
    throw missingFault(await listings.findMerchant(write.merchantId))
  }

  /** Room for what will be kept of it; `undo` where nothing was. */
  async function kept<Result>(
    { write }: CheckedWrite<unknown>,
    ip: string,
    make: () => Promise<Result>,
  ): Promise<Result> {
    const { owner, action, message, body, signature } = write
    const bytes = message.length + Buffer.byteLength(body) + signature.length
    const undo = await room({ owner, bytes, ip, isSave: isSaving(action) })
    try {
      return await make()
    } catch (error) {
      undo()
      throw error
    }
  }

  /** An id nobody may choose can still be there: found in payments, or made by the operator. */
  async function checkId(merchantId: string): Promise<void> {
    const kind = merchantIdKind(merchantId)
    if (kind === 'chosen') return
    if (kind !== 'malformed' && (await listings.findMerchant(merchantId)) !== undefined) return
    const { minChars, maxChars } = limits.merchantId
    const text =
      kind === 'malformed'
        ? `The merchant id must be ${minChars} to ${maxChars} of a-z, 0-9 and inner hyphens.`
        : 'The merchant id is reserved; choose another.'
    throw new WriteFault('invalidMerchantId', text)
  }

  return {
    async save(merchantId, request, ip) {
      await checkId(merchantId)
      const checked = await check(request, {
        merchantId,
        actions: { fresh: 'listing.create', standing: 'listing.update' },
        parseBody: parseListing,
        payToOf: ({ payTo }) => payTo,
      })
      const { endpoints, ...described } = checked.body
      const known = checked.merchant === undefined ? [] : await listings.endpointsOf(merchantId)
      const isOwned = checked.merchant?.owner != null
      await checkSchemas(endpoints, isOwned ? known : [], schemas)
      const waitSeconds = allowance.take(checked.write.owner, endpoints.length)
      if (waitSeconds > 0) throw paceFault(waitSeconds)
      const merchant = await kept(checked, ip, async () => {
        const looked = await look(endpoints, described.payTo, known)
        return apply(checked, {
          kind: 'save',
          merchant: { ...described, network, asset },
          endpoints: looked,
        })
      })
      return { merchant, isNew: checked.write.action === 'listing.create' }
    },

    async delete(merchantId, request) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'listing.delete' },
        parseBody: parseDeletion,
      })
      return apply(checked, { kind: 'delete' })
    },

    async offerOwner(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'owner.offer' },
        parseBody: parseOffer,
      })
      const { to } = checked.body
      const now = nowSeconds()
      // An offer to oneself that is over at once is how one is taken back.
      if (to === checked.write.owner) {
        const text = 'body.to is the owner already; offer to somebody else, or null to take back.'
        throw new WriteFault('offerToSelf', text)
      }
      const offer =
        to === null
          ? { to: checked.write.owner, until: now }
          : { to, until: now + limits.offer.openSeconds }
      return kept(checked, ip, () => apply(checked, { kind: 'offer', ...offer }))
    },

    async acceptOwner(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'owner.accept' },
        parseBody: parseAcceptance,
      })
      return kept(checked, ip, () => apply(checked, { kind: 'accept' }))
    },

    async linkAgent(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'agent.link' },
        parseBody: parseLink,
      })
      const { agentId } = checked.body
      return kept(checked, ip, () => apply(checked, { kind: 'link', agentId }))
    },

    async confirmPayTo(merchantId, request, ip) {
      const checked = await check(request, {
        merchantId,
        actions: { standing: 'payto.confirm' },
        parseBody: parseConfirmation,
      })
      const { owner } = checked.body
      if (checked.merchant?.owner == null) throw ownerFault(true)
      // The revision is signed too, so the owner cannot become another one before the change.
      if (owner !== null && owner !== checked.merchant.owner) {
        throw listingFault([{ path: 'owner', message: 'must be the owner that the merchant has' }])
      }
      return kept(checked, ip, () => apply(checked, { kind: 'confirm', owner }))
    },
  }
}

function isSaving(action: string): boolean {
  return action === 'listing.create' || action === 'listing.update'
}

function paceFault(waitSeconds: number): WriteFault {
  const text = `This owner had many endpoints checked just now; try again in ${waitSeconds} seconds.`
  return new WriteFault('tooManySaves', text, undefined, { 'retry-after': String(waitSeconds) })
}
