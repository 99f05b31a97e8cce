import type { Address } from 'viem'

/** Who looks at private figures; never enough to change anything. */
export interface Session {
  /** Lower-case. */
  address: Address
  /** Unix milliseconds. */
  expiresAt: number
}

/** Sessions of signed-in readers by the id in their cookie, and the words that were given out to be signed. */
export interface SessionStore {
  /** The oldest give way when there are too many. */
  addNonce(nonce: string, expiresAt: number): Promise<void>
  /** When the word ends, or `undefined` for one never given out; it is used up by asking. */
  takeNonce(nonce: string): Promise<number | undefined>
  addSession(id: string, session: Session): Promise<void>
  findSession(id: string): Promise<Session | undefined>
  removeSession(id: string): Promise<void>
}
