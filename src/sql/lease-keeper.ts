import type { ClockAhead, LeaseStore } from './leases.js'

/** Knows which leases this process holds at this moment, and the time by the store's clock. */
export interface LeaseKeeper {
  /** Returns the epoch under which this process surely holds the lease; `undefined` once it was not renewed in time. */
  held(name: string): number | undefined
  /** Returns the epoch as of the last beat that was answered; `undefined` when another process has the lease. */
  known(name: string): number | undefined
  /** Returns where the lease is held, as far as this process knows. */
  holder(name: string): 'here' | 'elsewhere' | 'nobody'
  /** Returns the number of processes that live, this one included. */
  replicas(): number
  /** Returns how long ago the leases were last renewed, milliseconds; `undefined` where they need no renewal. */
  ageMs(): number | undefined
  /** Returns whether the leases were renewed in time, so that this process may work under them. */
  isRenewed(): boolean
  /**
   * Returns the time by the store's clock, Unix milliseconds: the same on every process, within the time that a beat
   * takes. Before the first beat it is the time of this process.
   */
  now(): number
  clockAhead(): ClockAhead
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
  const clock = createSharedClock()
  let groups: readonly (readonly string[])[] = []
  let epochs: ReadonlyMap<string, number> = new Map()
  let elsewhere: ReadonlySet<string> = new Set()
  let replicas = 1
  let renewedAt = performance.now()
  let endsAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let beating: Promise<void> = Promise.resolve()

  const share = (group: readonly string[]) => Math.ceil(group.length / replicas)
  const ownOf = (group: readonly string[]) => group.filter((name) => epochs.has(name))
  const isRenewed = () => performance.now() < endsAt
  const held = (name: string) => (isRenewed() ? epochs.get(name) : undefined)

  function beat(): Promise<void> {
    beating = renew().then(takeFree)
    return beating
  }

  /** Renews what is held. This counts at once, whatever becomes of the leases that are free. */
  async function renew(): Promise<void> {
    const askedAt = performance.now()
    const answer = await store.beat()
    epochs = answer.epochs
    elsewhere = answer.elsewhere
    replicas = answer.replicas
    clock.note(answer.clockAhead)
    renewedAt = askedAt
    endsAt =
      store.durationMs === undefined
        ? Number.POSITIVE_INFINITY
        : askedAt + store.durationMs - SAFETY_MS
  }

  /** Takes leases that nobody holds, up to an even share, and stops when the next beat is due. */
  async function takeFree(): Promise<void> {
    const nextBeatAt = performance.now() + BEAT_MS
    for (const group of groups) {
      for (const name of group) {
        if (ownOf(group).length >= share(group)) break
        if (epochs.has(name) || elsewhere.has(name)) continue
        if (performance.now() >= nextBeatAt) return
        epochs = new Map([...epochs, ...(await store.take([name]))])
      }
    }
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
    held,
    known: (name) => epochs.get(name),
    holder(name) {
      if (held(name) !== undefined) return 'here'
      return isRenewed() && elsewhere.has(name) ? 'elsewhere' : 'nobody'
    },
    replicas: () => replicas,
    ageMs: () => (isShared ? performance.now() - renewedAt : undefined),
    isRenewed,
    now: clock.now,
    clockAhead: clock.ahead,
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

/** The two clocks may drift apart by this much from one beat to the next. */
const DRIFT_MS = 1

/** Follows the store's clock from the bounds of each beat. Beats that were answered quickly make the bounds narrow. */
function createSharedClock() {
  let bounds: ClockAhead | undefined
  let aheadMs = 0

  return {
    note({ least, most }: ClockAhead): void {
      const narrowed = bounds && {
        least: Math.max(least, bounds.least - DRIFT_MS),
        most: Math.min(most, bounds.most + DRIFT_MS),
      }
      // Bounds that exclude each other mean that one of the clocks was set.
      bounds = narrowed && narrowed.least <= narrowed.most ? narrowed : { least, most }
      // The time moves only if the bounds exclude it, so that it runs evenly.
      aheadMs = Math.min(Math.max(aheadMs, bounds.least), bounds.most)
    },
    now: () => Math.round(Date.now() - aheadMs),
    ahead: (): ClockAhead => bounds ?? { least: 0, most: 0 },
  }
}
