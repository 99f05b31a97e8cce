import { randomBytes } from 'node:crypto'
import type { Address } from 'viem'

/** Who looks at private figures; never enough to change anything. */
export interface Session {
  /** Lower-case. */
  address: Address
  /** Unix milliseconds. */
  expiresAt: number
}

export interface Sessions {
  /** A word to be signed, good once and for five minutes. */
  issueNonce(): { nonce: string; expiresAt: number }
  /** Whether it was issued here and not used yet; it is used up by asking. */
  takeNonce(nonce: string): boolean
  open(address: Address): { id: string; session: Session }
  find(id: string | undefined): Session | undefined
  close(id: string): void
}

export const SESSION_SECONDS = 3_600
const NONCE_MS = 300_000
/** Asking for a nonce costs nothing, so the oldest give way. */
const MAX_NONCES = 10_000
const MAX_SESSIONS = 10_000

/** Sessions live in memory: a restart asks for another signature. */
export function createSessions(now: () => number): Sessions {
  const nonces = new Map<string, number>()
  const sessions = new Map<string, Session>()

  return {
    issueNonce() {
      const nonce = randomBytes(16).toString('hex')
      const expiresAt = now() + NONCE_MS
      remember(nonces, nonce, expiresAt, MAX_NONCES)
      return { nonce, expiresAt }
    },
    takeNonce(nonce) {
      const expiresAt = nonces.get(nonce)
      nonces.delete(nonce)
      return expiresAt !== undefined && expiresAt > now()
    },
    open(address) {
      const id = randomBytes(32).toString('base64url')
      const session = { address, expiresAt: now() + SESSION_SECONDS * 1000 }
      remember(sessions, id, session, MAX_SESSIONS)
      return { id, session }
    },
    find(id) {
      const session = id === undefined ? undefined : sessions.get(id)
      return session !== undefined && session.expiresAt > now() ? session : undefined
    },
    close(id) {
      sessions.delete(id)
    },
  }
}

function remember<Value>(into: Map<string, Value>, key: string, value: Value, max: number): void {
  into.set(key, value)
  if (into.size > max) into.delete(into.keys().next().value as string)
}
