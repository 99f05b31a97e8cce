import type { LeaseStore } from '../store/leases.js'

/** Knows which leases this process holds at this moment. */
export interface LeaseKeeper {
  /** Returns the epoch under which this process surely holds the lease; `undefined` once it was not renewed in time. */
  held(name: string): number | undefined
  /** Returns the epoch as of the last beat that was answered; `undefined` when another process has the lease. */
  known(name: string): number | undefined
  /** Returns the number of processes that live, this one included. */
  replicas(): number
  /** True when leases can pass to other processes at all. */
  isShared: boolean
  /** Begins to hold these, each group divided evenly among the processes that live. Rejects when the store does not answer. */
  start(groups: readonly (readonly string[])[]): Promise<void>
  /** Returns the names of the group that this process should give up, because others have too few. */
  surplus(group: readonly string[]): string[]
  release(name: string): Promise<void>
  /** Gives everything up at once. */
  stop(): Promise<void>
}

const BEAT_MS = 1_000
/** Clocks and answers are late by less than this. */
const SAFETY_MS = 500

/**
 * Renews leases while the process lives. A beat that is late or unanswered ends the leases here, before they end
 * anywhere else.
 */
export function createLeaseKeeper(
  store: LeaseStore,
  log: { warn(o: object, m: string): void },
): LeaseKeeper {
  const isShared = store.durationMs !== undefined
  let groups: readonly (readonly string[])[] = []
  let epochs: ReadonlyMap<string, number> = new Map()
  let replicas = 1
  let endsAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let beating: Promise<void> = Promise.resolve()

  const share = (group: readonly string[]) => Math.ceil(group.length / replicas)
  const ownOf = (group: readonly string[]) => group.filter((name) => epochs.has(name))

  function beat(): Promise<void> {
    beating = renew()
    return beating
  }

  async function renew(): Promise<void> {
    const startedAt = performance.now()
    const held = await store.beat()
    const next = new Map(held.epochs)
    replicas = held.replicas
    for (const group of groups) {
      let own = group.filter((name) => next.has(name)).length
      for (const name of group.filter((it) => !next.has(it))) {
        if (own >= share(group)) break
        for (const [got, epoch] of await store.take([name])) next.set(got, epoch)
        if (next.has(name)) own++
      }
    }
    epochs = next
    endsAt =
      store.durationMs === undefined
        ? Number.POSITIVE_INFINITY
        : startedAt + store.durationMs - SAFETY_MS
  }

  function schedule(): void {
    if (!isShared || isStopped) return
    timer = setTimeout(() => {
      beat()
        .catch((err) => log.warn({ err }, 'leases could not be renewed'))
        .finally(schedule)
    }, BEAT_MS)
  }

  return {
    isShared,
    held: (name) => (performance.now() < endsAt ? epochs.get(name) : undefined),
    known: (name) => epochs.get(name),
    replicas: () => replicas,
    async start(wanted) {
      groups = wanted
      await beat()
      schedule()
    },
    surplus: (group) => ownOf(group).slice(share(group)),
    async release(name) {
      // A beat under way would bring the lease back.
      await beating.catch(() => {})
      const next = new Map(epochs)
      next.delete(name)
      epochs = next
      await store.release(name)
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await beating.catch(() => {})
      epochs = new Map()
      await store.leave()
    },
  }
}
