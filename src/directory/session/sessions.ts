import { randomBytes } from 'node:crypto'
import type { Address } from 'viem'
import type { Origin, Session, SessionStore } from '../../store/sessions.js'

export interface Sessions {
  /** A word to be signed, good once and for five minutes. */
  issueNonce(from: Origin): Promise<{ nonce: string; expiresAt: number }>
  /** Whether it was issued here and not used yet; it is used up by asking. */
  takeNonce(nonce: string): Promise<boolean>
  open(address: Address, from: Origin): Promise<{ id: string; session: Session }>
  find(id: string | undefined): Promise<Session | undefined>
  close(id: string): Promise<void>
}

export const SESSION_SECONDS = 3_600
const NONCE_MS = 300_000

/** Gives out nonces and sessions, and ends them in time. `now` is in Unix milliseconds. */
export function createSessions(store: SessionStore, now: () => number): Sessions {
  return {
    async issueNonce(from) {
      const nonce = randomBytes(16).toString('hex')
      const expiresAt = now() + NONCE_MS
      await store.addNonce(nonce, expiresAt, from)
      return { nonce, expiresAt }
    },
    async takeNonce(nonce) {
      const expiresAt = await store.takeNonce(nonce)
      return expiresAt !== undefined && expiresAt > now()
    },
    async open(address, from) {
      const id = randomBytes(32).toString('base64url')
      const session = { address, expiresAt: now() + SESSION_SECONDS * 1000 }
      await store.addSession(id, session, from)
      return { id, session }
    },
    async find(id) {
      const session = id === undefined ? undefined : await store.findSession(id)
      return session !== undefined && session.expiresAt > now() ? session : undefined
    },
    close: (id) => store.removeSession(id),
  }
}
