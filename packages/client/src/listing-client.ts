import { type Address, bytesToHex, type Hex } from 'viem'
import type { Listing } from './listing.js'
import {
  hashBody,
  type ListingAction,
  type ListingDomain,
  type ListingTypedData,
  listingTypedData,
  toListingWriteJson,
} from './listing-write.js'

/** A write that was refused by the directory, or failed before it was sent. */
export class ListingError extends Error {
  override readonly name = 'ListingError'
  /** The code of the directory, or `unreachable`, `unexpected_answer`, `wrong_audience`. */
  readonly code: string
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** Facts of the answer beside its sentence, such as the endpoints that were refused. */
  readonly details: unknown

  constructor(code: string, message: string, status = 0, details?: unknown) {
    super(message)
    this.code = code
    this.status = status
    this.details = details
  }
}

/** A viem account fits as it is; for a wallet client give `{ address: client.account.address, signTypedData: client.signTypedData }`. */
export interface ListingSigner {
  address: Address
  signTypedData(typedData: ListingTypedData): Promise<Hex>
}

export interface ListingClientOptions {
  directoryUrl: string
  signer: ListingSigner
  /** The global `fetch` by default. */
  fetch?: typeof fetch
  /**
   * The origin that signatures are for; the origin of `directoryUrl` by default. Give it when the directory is reached
   * at another address than its own. Otherwise a directory could collect messages that work at a different one.
   */
  audience?: string
}

/** A merchant as its owner sees it, with warnings. All other members are as the directory answers them. */
export interface SavedListing {
  id: string
  owner: Address | null
  payTo: Address
  revision: number
  endpoints: { url: string; method: string; state: { status: string } & Record<string, unknown> }[]
  warnings: { path: string; code: string; message: string }[]
  [member: string]: unknown
}

/** Each call signs and sends one message. All reject with `ListingError`; errors of the signer pass through. */
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
}

/** Creates the client with which scripts and browsers write listings. */
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
      nonce: bytesToHex(crypto.getRandomValues(new Uint8Array(32))),
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

/** The members of `GET /api/signing` that a client needs. */
interface SigningTerms {
  domain: ListingDomain
  audience: string
  /** Unix seconds, and seconds. */
  time: { now: number; skewSeconds: number; maxDeadlineSeconds: number }
}

/** Facts about the merchant that the next signed message must repeat. */
interface MerchantState {
  revision: number
  payTo: Address
  /** False for a deleted merchant, and for one that was found in payments and is unclaimed. */
  isListed: boolean
}

/** Speaks the directory's REST for the client. All functions reject with `ListingError`. */
function createDirectoryReader(directoryUrl: string, fetch: typeof globalThis.fetch) {
  const base = directoryUrl.replace(/\/+$/, '')

  async function request(path: string, init?: RequestInit): Promise<[Response, unknown]> {
    let response: Response
    try {
      response = await fetch(base + path, init)
    } catch (cause) {
      const error = new ListingError('unreachable', `The directory at ${base} does not answer.`)
      error.cause = cause
      throw error
    }
    const answer: unknown = await response.json().catch(() => undefined)
    if (answer === undefined) throw toListingError(response.status, answer)
    return [response, answer]
  }

  async function read<Answer>(path: string, init?: RequestInit): Promise<Answer> {
    const [response, answer] = await request(path, init)
    if (!response.ok) throw toListingError(response.status, answer)
    return answer as Answer
  }

  return {
    readSigning: () => read<SigningTerms>('/api/signing'),
    /** Returns `undefined` for an id that was never used. */
    async readMerchant(id: string): Promise<MerchantState | undefined> {
      const [response, answer] = await request(`/api/merchants/${encodeURIComponent(id)}`)
      if (response.ok) {
        const { revision, payTo, owner } = answer as SavedListing
        return { revision, payTo, isListed: owner !== null }
      }
      const error = toListingError(response.status, answer)
      if (error.code === 'merchant_not_found') return undefined
      if (error.code !== 'merchant_deleted') throw error
      return { ...(error.details as { revision: number; payTo: Address }), isListed: false }
    },
    send: (path: string, { method, body }: { method: string; body: unknown }) =>
      read<SavedListing>(path, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}

function toListingError(status: number, answer: unknown): ListingError {
  const { error, message, details } = (answer ?? {}) as Record<string, unknown>
  if (typeof error === 'string' && typeof message === 'string') {
    return new ListingError(error, message, status, details)
  }
  return new ListingError('unexpected_answer', `The directory answered ${status}.`, status)
}
