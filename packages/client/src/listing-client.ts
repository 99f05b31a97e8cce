import type { Listing } from '@arcus/protocol/listing/listing'
import {
  hashBody,
  type ListingAction,
  type ListingTypedData,
  listingTypedData,
  toListingWriteJson,
} from '@arcus/protocol/listing/listing-write'
import { type Address, bytesToHex, type Hex } from 'viem'
import { type Answer, ArcusError, type Call, createCall, type Input } from './calls.js'

/** A viem account fits as it is; for a wallet client give `{ address: client.account.address, signTypedData: client.signTypedData }`. */
export interface ListingSigner {
  address: Address
  signTypedData(typedData: ListingTypedData): Promise<Hex>
}

/** A merchant as its owner sees it, with warnings. */
export type SavedListing = Answer<'PUT /api/merchants/{id}'>

/** Each call signs and sends one message. All reject with `ArcusError`; errors of the signer pass through. */
export interface ListingClient {
  /** Creates the listing, or replaces it. */
  save(merchantId: string, listing: Listing): Promise<SavedListing>
  delete(merchantId: string): Promise<SavedListing>
  /** Offers the listing to another owner; `null` takes an offer back. */
  offerOwner(merchantId: string, to: Address | null): Promise<SavedListing>
  /** Accepts an offer; the signer is the address it was offered to. */
  acceptOwner(merchantId: string): Promise<SavedListing>
  /** Links the merchant to an ERC-8004 agent, in decimal digits; `null` removes the link. */
  linkAgent(merchantId: string, agentId: string | null): Promise<SavedListing>
  /**
   * Confirms the owner of the listing with the key that is paid, so that the owner sees the payments; `null` takes the
   * confirmation back.
   */
  confirmPayTo(merchantId: string, owner: Address | null): Promise<SavedListing>
  /** Makes a webhook (`id` is `null`) or changes one. The secret of a new one is shown only in this answer. */
  setHook(merchantId: string, hook: HookSettings): Promise<{ id: string; secret: string | null }>
  deleteHook(merchantId: string, id: string): Promise<{ id: string }>
  /** Asks for a paid check of an endpoint, by its id; three a day. */
  requestCheck(merchantId: string, endpoint: number): Promise<{ endpoint: number; left: number }>
}

/** A webhook as its owner sets it; deliveries go on after the event `since`, or where they are if it is `null`. */
export type HookSettings = Input<'PUT /api/merchants/{id}/hooks'>['body']['body']

/** Creates the client with which scripts and browsers write listings. */
export function createListingClient(options: {
  directoryUrl: string
  signer: ListingSigner
  /** The global `fetch` by default. */
  fetch?: typeof fetch
  /**
   * The origin that signatures are for; the origin of `directoryUrl` by default. Give it when the directory is reached
   * at another address than its own. Otherwise a directory could collect messages that work at a different one.
   */
  audience?: string
}): ListingClient {
  const { signer } = options
  const call = createCall(options.directoryUrl, options.fetch)
  const expectedAudience = options.audience ?? new URL(options.directoryUrl).origin

  /** Signs what the next write of the merchant says. */
  async function sign<Body>(
    action: Exclude<ListingAction, 'listing.create' | 'listing.update'> | 'save',
    merchantId: string,
    body: Body,
  ) {
    const [signing, merchant] = await Promise.all([
      call('GET /api/signing'),
      readMerchant(call, merchantId),
    ])
    if (signing.audience !== expectedAudience) {
      const message = `The directory signs for ${signing.audience}, not for ${expectedAudience}: name that audience if it is right.`
      throw new ArcusError('wrong_audience', message)
    }
    const saving = merchant?.isListed === true ? 'listing.update' : 'listing.create'
    const payTo = action === 'save' ? (body as unknown as Listing).payTo : merchant?.payTo
    if (payTo === undefined) {
      throw new ArcusError('merchant_not_found', `There is no merchant ${merchantId}.`, 404)
    }
    const issuedAt = BigInt(signing.time.now)
    const typedData = listingTypedData(signing.domain.chainId, {
      action: action === 'save' ? saving : action,
      audience: signing.audience,
      merchantId,
      owner: signer.address,
      payTo,
      bodyHash: hashBody(body),
      revision: BigInt((merchant?.revision ?? 0) + 1),
      nonce: bytesToHex(crypto.getRandomValues(new Uint8Array(32))),
      issuedAt,
      deadline: issuedAt + BigInt(signing.time.maxDeadlineSeconds),
    })
    const signature = await signer.signTypedData(typedData)
    return {
      path: { id: merchantId },
      body: { message: toListingWriteJson(typedData.message), signature, body },
    }
  }

  return {
    save: async (id, listing) => call('PUT /api/merchants/{id}', await sign('save', id, listing)),
    delete: async (id) => call('DELETE /api/merchants/{id}', await sign('listing.delete', id, {})),
    offerOwner: async (id, to) =>
      call('POST /api/merchants/{id}/owner-offer', await sign('owner.offer', id, { to })),
    acceptOwner: async (id) =>
      call('POST /api/merchants/{id}/owner-acceptance', await sign('owner.accept', id, {})),
    linkAgent: async (id, agentId) =>
      call('PUT /api/merchants/{id}/agent', await sign('agent.link', id, { agentId })),
    confirmPayTo: async (id, owner) =>
      call(
        'POST /api/merchants/{id}/payto-confirmation',
        await sign('payto.confirm', id, { owner }),
      ),
    setHook: async (id, hook) =>
      call('PUT /api/merchants/{id}/hooks', await sign('hook.set', id, hook)),
    deleteHook: async (id, hook) =>
      call('DELETE /api/merchants/{id}/hooks', await sign('hook.delete', id, { id: hook })),
    requestCheck: async (id, endpoint) =>
      call('POST /api/merchants/{id}/check-request', await sign('check.request', id, { endpoint })),
  }
}

/** Facts about the merchant that the next signed message must repeat. */
interface MerchantState {
  revision: number
  payTo: Address
  /** False for a deleted merchant, and for one that was found in payments and is unclaimed. */
  isListed: boolean
}

/** Returns `undefined` for an id that was never used. */
async function readMerchant(call: Call, id: string): Promise<MerchantState | undefined> {
  try {
    const { revision, payTo, owner } = await call('GET /api/merchants/{id}', { path: { id } })
    return { revision, payTo, isListed: owner !== null }
  } catch (error) {
    if (!(error instanceof ArcusError)) throw error
    if (error.code === 'merchant_not_found') return undefined
    if (error.code !== 'merchant_deleted') throw error
    return { ...(error.details as { revision: number; payTo: Address }), isListed: false }
  }
}
