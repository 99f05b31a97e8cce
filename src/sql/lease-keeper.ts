import type { ClockAhead, LeaseStore } from './leases.js'

const BEAT_MS = 1_000
/** Clocks and answers are late by less than this. */
const SAFETY_MS = 500

/**
 * Renews leases while the process lives, and knows which of them it holds at this moment and the time by the store's clock. A
 * beat that is late or unanswered ends the leases here, before they end anywhere else.
 */
export class LeaseKeeper {
  /** True when leases can pass to other processes at all. */
  readonly isShared: boolean
  readonly #store: LeaseStore
  readonly #log: { warn(o: object, m: string): void }
  readonly #clock = createSharedClock()
  /**
   * Returns the time by the store's clock, Unix milliseconds: the same on every process, within the time that a beat
   * takes. Before the first beat it is the time of this process. It is handed on without the keeper.
   */
  readonly now: () => number = this.#clock.now
  #groups: readonly (readonly string[])[] = []
  #epochs: ReadonlyMap<string, number> = new Map()
  #elsewhere: ReadonlySet<string> = new Set()
  #replicas = 1
  #renewedAt = performance.now()
  #endsAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #beating: Promise<void> = Promise.resolve()

  constructor(store: LeaseStore, log: { warn(o: object, m: string): void }) {
    this.#store = store
    this.#log = log
    this.isShared = store.durationMs !== undefined
  }

  /** Returns the epoch under which this process surely holds the lease; `undefined` once it was not renewed in time. */
  held(name: string): number | undefined {
    return this.isRenewed() ? this.#epochs.get(name) : undefined
  }

  /** Returns the epoch as of the last beat that was answered; `undefined` when another process has the lease. */
  known(name: string): number | undefined {
    return this.#epochs.get(name)
  }

  /** Returns where the lease is held, as far as this process knows. */
  holder(name: string): 'here' | 'elsewhere' | 'nobody' {
    if (this.held(name) !== undefined) return 'here'
    return this.isRenewed() && this.#elsewhere.has(name) ? 'elsewhere' : 'nobody'
  }

  /** Returns the number of processes that live, this one included. */
  replicas(): number {
    return this.#replicas
  }

  /** Returns how long ago the leases were last renewed, milliseconds; `undefined` where they need no renewal. */
  ageMs(): number | undefined {
    return this.isShared ? performance.now() - this.#renewedAt : undefined
  }

  /** Returns whether the leases were renewed in time, so that this process may work under them. */
  isRenewed(): boolean {
    return performance.now() < this.#endsAt
  }

  clockAhead(): ClockAhead {
    return this.#clock.ahead()
  }

  /** Begins to hold these, each group divided evenly among the processes that live. Rejects when the store does not answer. */
  async start(groups: readonly (readonly string[])[]): Promise<void> {
    this.#groups = groups
    await this.#beat()
    this.#schedule()
  }

  /** Returns the names of the group that this process should give up, because others have too few. */
  surplus(group: readonly string[]): string[] {
    return this.#ownOf(group).slice(this.#share(group))
  }

  async release(name: string): Promise<void> {
    // A beat under way would bring the lease back.
    await this.#beating.catch(() => {})
    const next = new Map(this.#epochs)
    next.delete(name)
    this.#epochs = next
    await this.#store.release(name)
  }

  /** Gives everything up at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#beating.catch(() => {})
    this.#epochs = new Map()
    await this.#store.leave()
  }

  #schedule(): void {
    if (!this.isShared || this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#beat()
        .catch((err) => this.#log.warn({ err }, 'leases could not be renewed'))
        .finally(() => this.#schedule())
    }, BEAT_MS)
  }

  #beat(): Promise<void> {
    this.#beating = this.#renew().then(() => this.#takeFree())
    return this.#beating
  }

  /** Renews what is held. This counts at once, whatever becomes of the leases that are free. */
  async #renew(): Promise<void> {
    const store = this.#store
    const askedAt = performance.now()
    const answer = await store.beat()
    this.#epochs = answer.epochs
    this.#elsewhere = answer.elsewhere
    this.#replicas = answer.replicas
    this.#clock.note(answer.clockAhead)
    this.#renewedAt = askedAt
    this.#endsAt =
      store.durationMs === undefined
        ? Number.POSITIVE_INFINITY
        : askedAt + store.durationMs - SAFETY_MS
  }

  /** Takes leases that nobody holds, up to an even share, and stops when the next beat is due. */
  async #takeFree(): Promise<void> {
    const nextBeatAt = performance.now() + BEAT_MS
    for (const group of this.#groups) {
      for (const name of group) {
        if (this.#ownOf(group).length >= this.#share(group)) break
        if (this.#epochs.has(name) || this.#elsewhere.has(name)) continue
        if (performance.now() >= nextBeatAt) return
        this.#epochs = new Map([...this.#epochs, ...(await this.#store.take([name]))])
      }
    }
  }

  /** Returns how many leases of the group an even share is. */
  #share(group: readonly string[]): number {
    return Math.ceil(group.length / this.#replicas)
  }

  #ownOf(group: readonly string[]): string[] {
    return group.filter((name) => this.#epochs.has(name))
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
