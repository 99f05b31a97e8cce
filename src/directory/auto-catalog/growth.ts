const HOUR_MS = 3_600_000

/** How many entries of strangers the catalog takes in. */
export interface GrowthLimit {
  /** Whether one more may be added now; counts it. */
  take(): boolean
}

/** `maxPerHour` in each hour from the first; `now` in Unix milliseconds. */
export function createGrowthLimit(maxPerHour: number, now: () => number): GrowthLimit {
  let since = Number.NEGATIVE_INFINITY
  let taken = 0
  return {
    take() {
      if (now() - since >= HOUR_MS) {
        since = now()
        taken = 0
      }
      return ++taken <= maxPerHour
    },
  }
}
