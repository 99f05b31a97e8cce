/** Requests of a caller that a process counted since its last report; below 0 where it took counts back. */
export interface CallerCount {
  caller: string
  count: number
}

/** The requests of a caller in all processes together. */
export interface CallerTotal extends CallerCount {
  /** Unix milliseconds at which the caller's window ends. */
  endsAt: number
}

/** Adds up the counts of all processes. */
export interface RequestCountStore {
  /** Adds to the window of each caller and begins a new one where it has ended; resolves with the totals. */
  add(counts: readonly CallerCount[], now: number, windowMs: number): Promise<CallerTotal[]>
  /** Returns the callers with at least so many requests in a window that has not ended, busiest first. */
  busiest(atLeast: number, now: number): Promise<CallerTotal[]>
  /** Drops windows that ended before. */
  forget(now: number): Promise<void>
}
