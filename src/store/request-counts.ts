/** Requests of one caller that a process counted since it told them last; below 0 where it took counts back. */
export interface CallerCount {
  caller: string
  count: number
}

/** What all processes together counted of a caller. */
export interface CallerTotal extends CallerCount {
  /** Unix milliseconds at which the caller's window ends. */
  endsAt: number
}

/** Where processes add up what each of them counts. */
export interface RequestCountStore {
  /** Adds to the window of each caller, which begins anew when it has ended; resolves with the totals. */
  add(counts: readonly CallerCount[], now: number, windowMs: number): Promise<CallerTotal[]>
  /** Windows not over yet in which a caller was counted so often, the most counted first. */
  busiest(atLeast: number, now: number): Promise<CallerTotal[]>
  /** Drops windows that ended before. */
  forget(now: number): Promise<void>
}
