import type { Address } from 'viem'
import { ListingError } from './listing-error.js'
import type { ListingDomain } from './listing-write.js'

/** What `GET /api/signing` tells a client; more is there for people. */
export interface SigningTerms {
  domain: ListingDomain
  audience: string
  /** Unix seconds, and seconds. */
  time: { now: number; skewSeconds: number; maxDeadlineSeconds: number }
}

/** What the next signed message must know of the last. */
export interface MerchantState {
  revision: number
  payTo: Address
  /** False for what was deleted, and for what was found in payments and nobody claimed. */
  isListed: boolean
}

/** A merchant as its owner sees it, with what was found odd; the rest is there as the directory answers it. */
export interface SavedListing {
  id: string
  owner: Address | null
  payTo: Address
  revision: number
  endpoints: { url: string; method: string; state: { status: string } & Record<string, unknown> }[]
  warnings: { path: string; code: string; message: string }[]
  [member: string]: unknown
}

/** Speaks the directory's REST for the client. All functions reject with `ListingError`. */
export function createDirectoryReader(directoryUrl: string, fetch: typeof globalThis.fetch) {
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
    /** `undefined` when the id was never used. */
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
