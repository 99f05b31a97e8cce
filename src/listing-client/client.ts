import { type Address, bytesToHex, type Hex } from 'viem'
import { hashBody } from './canonical-json.js'
import { createDirectoryReader, type SavedListing } from './directory-reader.js'
import type { Listing } from './listing.js'
import { ListingError } from './listing-error.js'
import {
  type ListingAction,
  type ListingTypedData,
  listingTypedData,
  toListingWriteJson,
} from './listing-write.js'

/** A viem account as it is; of a wallet client `{ address: client.account.address, signTypedData: client.signTypedData }`. */
export interface ListingSigner {
  address: Address
  signTypedData(typedData: ListingTypedData): Promise<Hex>
}

export interface ListingClientOptions {
  directoryUrl: string
  signer: ListingSigner
  /** The global one unless given. */
  fetch?: typeof fetch
  /**
   * The origin that signatures are for, where the directory is reached at another address than its own. Unless given it
   * must be that of `directoryUrl`: a directory could else have messages signed that work at a different one.
   */
  audience?: string
}

/** Each call is one signed message. All reject with `ListingError`; what the signer throws goes through. */
export interface ListingClient {
  /** Creates the listing, or puts this one in its place. */
  save(merchantId: string, listing: Listing): Promise<SavedListing>
  delete(merchantId: string): Promise<SavedListing>
  /** The first of two steps; `null` takes an offer back. */
  offerOwner(merchantId: string, to: Address | null): Promise<SavedListing>
  /** The second, by the one it was offered to. */
  acceptOwner(merchantId: string): Promise<SavedListing>
  /** Says which ERC-8004 agent the merchant is, in decimal digits; `null` says none. */
  linkAgent(merchantId: string, agentId: string | null): Promise<SavedListing>
  /** By the key that is paid: vouches for the owner of the listing, who then sees what was paid; `null` no longer does. */
  confirmPayTo(merchantId: string, owner: Address | null): Promise<SavedListing>
}

/** Makes what scripts and browsers write listings with. */
export function createListingClient(options: ListingClientOptions): ListingClient {
  const { signer } = options
  const directory = createDirectoryReader(options.directoryUrl, options.fetch ?? fetch)
  const expectedAudience = options.audience ?? new URL(options.directoryUrl).origin

  async function write(
    action: Exclude<ListingAction, 'listing.create' | 'listing.update'> | 'save',
    merchantId: string,
    route: { method: string; path: string },
    body: unknown,
  ): Promise<SavedListing> {
    const [signing, merchant] = await Promise.all([
      directory.readSigning(),
      directory.readMerchant(merchantId),
    ])
    if (signing.audience !== expectedAudience) {
      const message = `The directory signs for ${signing.audience}, not for ${expectedAudience}: name that audience if it is right.`
      throw new ListingError('wrong_audience', message)
    }
    const saving = merchant?.isListed === true ? 'listing.update' : 'listing.create'
    const payTo = action === 'save' ? (body as Listing).payTo : merchant?.payTo
    if (payTo === undefined) {
      throw new ListingError('merchant_not_found', `There is no merchant ${merchantId}.`, 404)
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
      nonce: randomNonce(),
      issuedAt,
      deadline: issuedAt + BigInt(signing.time.maxDeadlineSeconds),
    })
    const signature = await signer.signTypedData(typedData)
    return directory.send(`/api/merchants/${encodeURIComponent(merchantId)}${route.path}`, {
      method: route.method,
      body: { message: toListingWriteJson(typedData.message), signature, body },
    })
  }

  return {
    save: (id, listing) => write('save', id, { method: 'PUT', path: '' }, listing),
    delete: (id) => write('listing.delete', id, { method: 'DELETE', path: '' }, {}),
    offerOwner: (id, to) =>
      write('owner.offer', id, { method: 'POST', path: '/owner-offer' }, { to }),
    acceptOwner: (id) =>
      write('owner.accept', id, { method: 'POST', path: '/owner-acceptance' }, {}),
    linkAgent: (id, agentId) =>
      write('agent.link', id, { method: 'PUT', path: '/agent' }, { agentId }),
    confirmPayTo: (id, owner) =>
      write('payto.confirm', id, { method: 'POST', path: '/payto-confirmation' }, { owner }),
  }
}

function randomNonce(): Hex {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(32)))
}
