import type { Session, SessionStore } from './sessions.js'

/** Asking for a nonce costs nothing, so the oldest give way. */
const MAX_NONCES = 10_000
const MAX_SESSIONS = 10_000

/** Sessions of the only process: a restart asks for another signature. */
export function createMemorySessions(): SessionStore {
  const nonces = new Map<string, number>()
  const sessions = new Map<string, Session>()
  return {
    async addNonce(nonce, expiresAt) {
      remember(nonces, nonce, expiresAt, MAX_NONCES)
    },
    async takeNonce(nonce) {
      const expiresAt = nonces.get(nonce)
      nonces.delete(nonce)
      return expiresAt
    },
    async addSession(id, session) {
      remember(sessions, id, session, MAX_SESSIONS)
    },
    findSession: async (id) => sessions.get(id),
    async removeSession(id) {
      sessions.delete(id)
    },
  }
}

function remember<Value>(into: Map<string, Value>, key: string, value: Value, max: number): void {
  into.set(key, value)
  if (into.size > max) into.delete(into.keys().next().value as string)
}
