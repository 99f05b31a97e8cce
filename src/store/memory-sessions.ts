import {
  nonceBounds,
  type Origin,
  type Session,
  type SessionStore,
  sessionBounds,
} from './sessions.js'

/** What something counts among, and how much of that there may be. */
type Group = readonly [name: string, most: number]

/** Sessions of the only process: a restart asks for another signature. */
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

/** A map in which the oldest of a full group gives way to a new one of it, and the oldest of all when there are too many. */
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
