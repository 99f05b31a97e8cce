import type { Address } from 'viem'

/** Who looks at private figures; never enough to change anything. */
export interface Session {
  /** Lower-case. */
  address: Address
  /** Unix milliseconds. */
  expiresAt: number
}

/** From where somebody asks. */
export interface Origin {
  /** As the rate limit counts it. */
  caller: string
  /** The addresses that one party usually has at hand. */
  block: string
}

/** Sessions of signed-in readers by the id in their cookie, and the words that were given out to be signed. */
export interface SessionStore {
  /** The oldest of the same origin give way when it has too many, then the oldest of all. */
  addNonce(nonce: string, expiresAt: number, from: Origin): Promise<void>
  /** When the word ends, or `undefined` for one never given out; it is used up by asking. */
  takeNonce(nonce: string): Promise<number | undefined>
  /** The oldest of the same address, then of the same origin, give way when it has too many, then the oldest of all. */
  addSession(id: string, session: Session, from: Origin): Promise<void>
  findSession(id: string): Promise<Session | undefined>
  removeSession(id: string): Promise<void>
}

/** Asking for a word costs nothing: what few callers may hold is far below what there is for all. */
export const nonceBounds = { inAll: 10_000, ofBlock: 100, ofCaller: 20 }
/** Nor does signing in with a key that was made for it. */
export const sessionBounds = { inAll: 10_000, ofBlock: 200, ofCaller: 50, ofAddress: 20 }
