import type { Address } from 'viem'

/** A signed-in reader of private figures. A session never allows a change. */
export interface Session {
  /** Lower-case. */
  address: Address
  /** Unix milliseconds. */
  expiresAt: number
}

/** The origin of a request, for the limits of each caller. */
export interface Origin {
  /** As the rate limit counts it. */
  caller: string
  /** The block of addresses that one party usually has at hand. */
  block: string
}

/** Sessions by the id in the reader's cookie, and the nonces that were given out to be signed. */
export interface SessionStore {
  /** The oldest of the same origin give way when it has too many, then the oldest of all. */
  addNonce(nonce: string, expiresAt: number, from: Origin): Promise<void>
  /** Returns the end of the nonce and uses it up; `undefined` for one that was never given out. */
  takeNonce(nonce: string): Promise<number | undefined>
  /** The oldest of the same address, then of the same origin, give way when it has too many, then the oldest of all. */
  addSession(id: string, session: Session, from: Origin): Promise<void>
  findSession(id: string): Promise<Session | undefined>
  removeSession(id: string): Promise<void>
}

/** Asking for a nonce costs nothing, so few callers may hold far less than all together. */
export const nonceBounds = { inAll: 10_000, ofBlock: 100, ofCaller: 20 }
/** Signing in with a fresh key costs nothing either. */
export const sessionBounds = { inAll: 10_000, ofBlock: 200, ofCaller: 50, ofAddress: 20 }

/** Something that entries have in common, and how many entries it may have. */
type Group = readonly [name: string, most: number]

/** Keeps the sessions of the only process in memory: after a restart readers sign in again. */
export function createMemorySessions(): SessionStore {
  const nonces = createBounded<number>(nonceBounds.inAll)
  const sessions = createBounded<Session>(sessionBounds.inAll)
  return {
    async addNonce(nonce, expiresAt, from) {
      nonces.add(nonce, expiresAt, groupsOf(from, nonceBounds))
    },
    takeNonce: async (nonce) => nonces.remove(nonce),
    async addSession(id, session, from) {
      const ofAddress: Group = [session.address, sessionBounds.ofAddress]
      sessions.add(id, session, [ofAddress, ...groupsOf(from, sessionBounds)])
    },
    findSession: async (id) => sessions.find(id),
    async removeSession(id) {
      sessions.remove(id)
    },
  }
}

function groupsOf(
  { caller, block }: Origin,
  { ofCaller, ofBlock }: { ofCaller: number; ofBlock: number },
): Group[] {
  return [
    [`caller ${caller}`, ofCaller],
    [`block ${block}`, ofBlock],
  ]
}

/** A map in which the oldest entry of a full group gives way to a new one, and the oldest of all when there are too many. */
function createBounded<Value>(inAll: number) {
  const entries = new Map<string, { value: Value; groups: readonly Group[] }>()
  const members = new Map<string, Set<string>>()

  function remove(key: string): Value | undefined {
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    entries.delete(key)
    for (const [name] of entry.groups) {
      const group = members.get(name)
      group?.delete(key)
      if (group?.size === 0) members.delete(name)
    }
    return entry.value
  }

  return {
    add(key: string, value: Value, groups: readonly Group[]): void {
      remove(key)
      entries.set(key, { value, groups })
      for (const [name, most] of groups) {
        const group = members.get(name) ?? new Set()
        members.set(name, group.add(key))
        if (group.size > most) remove(group.values().next().value as string)
      }
      if (entries.size > inAll) remove(entries.keys().next().value as string)
    },
    find: (key: string) => entries.get(key)?.value,
    remove,
  }
}
