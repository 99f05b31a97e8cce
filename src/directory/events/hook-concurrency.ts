import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Hook } from '../store/hooks.js'

/**
 * Hooks that this process works for at once, in all, of one owner, and of one host. Those that failed last, are slow, or
 * have not agreed to anything yet have slots of their own and delay nobody.
 */
const limits = {
  quick: { all: 8, ofOwner: 2, ofHost: 4 },
  slow: { all: 4, ofOwner: 1, ofHost: 2 },
  failing: { all: 4, ofOwner: 1, ofHost: 1 },
  unconfirmed: { all: 4, ofOwner: 1, ofHost: 1 },
} as const
export type HookGroup = keyof typeof limits
const groups = Object.keys(limits) as HookGroup[]
/** Bounds the hooks that are known to be slow, and with those that just became so all calls at once. */
const MAX_KNOWN_SLOW = 1_000
const MAX_UNDER_WAY = 64
const MAX_OF_OWNER = 4
/** A round ends after this number of owners, so that new ones who keep coming do not hold up the others. */
const MAX_ROUND = 200
/** Least time between the beginnings of two deliveries of one owner, and to one host. */
const GAP_MS = 50
/** Least time after a challenge until the next one of the same owner, or to the same host. */
const CHALLENGE_GAP_MS = 1_000
const MAX_PACED = 10_000

const byGroup = <Value>(make: () => Value) =>
  Object.fromEntries(groups.map((group) => [group, make()])) as Record<HookGroup, Value>

/**
 * Creates the slots of deliveries. Within a group each owner is served once per round: an owner of many hooks, or of many names for one
 * host, holds up nobody else. A host is the name in the URL with its port: names that share an address are apart, because
 * each must have answered a challenge under a certificate of its own. The clock is that of this process.
 */
export function createHookPlaces() {
  const underWay = new Map<string, { hook: Hook; group: HookGroup; work: Promise<void> }>()
  const slow = new LRUCache<string, true>({ max: MAX_KNOWN_SLOW })
  /** The owners that were served in this round. */
  const served = byGroup(() => new Set<string>())
  const freeAt = new LRUCache<string, number>({ max: MAX_PACED })
  /** When owners and hosts may get the next challenge; few, because challenges have few slots. */
  const resting = { owner: new Map<string, number>(), host: new Map<string, number>() }

  /** Returns the keys of which this number of hooks is under way. */
  function full(member: 'owner' | 'host', most: number, group?: HookGroup): string[] {
    const counts = new Map<string, number>()
    for (const { hook, group: own } of underWay.values()) {
      if (group !== undefined && own !== group) continue
      counts.set(hook[member], (counts.get(hook[member]) ?? 0) + 1)
    }
    return [...counts].filter(([, count]) => count >= most).map(([name]) => name)
  }

  function stillResting(member: 'owner' | 'host'): string[] {
    const now = performance.now()
    for (const [name, until] of resting[member]) if (until <= now) resting[member].delete(name)
    return [...resting[member].keys()]
  }

  return {
    groups,
    /** Returns which hook may be next in a group; `undefined` while no slot is free. */
    filterFor(group: HookGroup) {
      const { all, ofOwner, ofHost } = limits[group]
      const taken = [...underWay.values()].filter((it) => it.group === group).length
      if (taken >= all || underWay.size >= MAX_UNDER_WAY) return undefined
      const isAsked = group === 'unconfirmed'
      const except = [...underWay.keys()]
      const owners = [
        ...full('owner', ofOwner, group),
        ...full('owner', MAX_OF_OWNER),
        ...served[group],
        ...(isAsked ? stillResting('owner') : []),
      ]
      const hosts = [...full('host', ofHost, group), ...(isAsked ? stillResting('host') : [])]
      if (group === 'failing' || group === 'unconfirmed')
        return { part: group, except, owners, hosts }
      const among = { ids: [...slow.keys()], isIn: group === 'slow' }
      return { part: 'sound' as const, among, except, owners, hosts }
    },
    /** Begins another round of a group, in which each owner may be served again; `false` if none was served. */
    endRound(group: HookGroup): boolean {
      const hadTurns = served[group].size > 0
      served[group].clear()
      return hadTurns
    },
    enter(hook: Hook, group: HookGroup, work: Promise<void>): void {
      if (served[group].size >= MAX_ROUND) served[group].clear()
      served[group].add(hook.owner)
      underWay.set(hook.id, { hook, group, work })
    },
    leave(hook: Hook): void {
      const place = underWay.get(hook.id)
      underWay.delete(hook.id)
      if (place?.group !== 'unconfirmed') return
      const until = performance.now() + CHALLENGE_GAP_MS
      for (const member of ['owner', 'host'] as const) resting[member].set(hook[member], until)
    },
    markSlow({ id }: Hook): void {
      const place = underWay.get(id)
      if (place?.group === 'quick') place.group = 'slow'
      slow.set(id, true)
    },
    markQuick: ({ id }: Hook): void => void slow.delete(id),
    /** Waits until the owner and the host of a hook may have the next delivery. */
    async untilTurn({ owner, host }: Hook): Promise<void> {
      const keys = [`of ${owner}`, `to ${host}`]
      const now = performance.now()
      const at = Math.max(now, ...keys.map((key) => freeAt.get(key) ?? 0))
      for (const key of keys) freeAt.set(key, at + GAP_MS)
      if (at > now) await sleep(at - now)
    },
    untilEmpty: () => Promise.all([...underWay.values()].map(({ work }) => work)),
  }
}
