const HOUR_MS = 3_600_000

/** New entries of strangers within an hour: of all together, and of what a single one of them has a hand in. */
export interface GrowthBounds {
  inAll: number
  perPayer: number
  perPayTo: number
  perHost: number
}

/** Whose doing a new entry is. */
export interface Newcomer {
  payer: string
  payTo: string
  host: string
}

/** How many entries of strangers the catalog takes in. */
export interface GrowthLimit {
  /** What stands against one more now, in words that follow "too many new resources were seen"; else counts it. */
  refuse(newcomer: Newcomer): string | undefined
}

/**
 * Counts in each hour from the first. The bounds of one payer, recipient and host are far below that of all, so that
 * nobody uses it up alone: for that it takes many funded payers, recipients and hosts. `now` in Unix milliseconds.
 */
export function createGrowthLimit(bounds: GrowthBounds, now: () => number): GrowthLimit {
  let since = Number.NEGATIVE_INFINITY
  let taken = 0
  // No larger than what was taken: only what counts is noted.
  const counts = new Map<string, number>()

  return {
    refuse({ payer, payTo, host }) {
      if (now() - since >= HOUR_MS) {
        since = now()
        taken = 0
        counts.clear()
      }
      if (taken >= bounds.inAll) return 'within the hour'
      const parts = [
        { key: `payer ${payer}`, max: bounds.perPayer, words: 'of this payer within the hour' },
        { key: `payTo ${payTo}`, max: bounds.perPayTo, words: 'of this payTo within the hour' },
        { key: `host ${host}`, max: bounds.perHost, words: 'of this host within the hour' },
      ]
      const full = parts.find(({ key, max }) => (counts.get(key) ?? 0) >= max)
      if (full !== undefined) return full.words
      taken++
      for (const { key } of parts) counts.set(key, (counts.get(key) ?? 0) + 1)
      return undefined
    },
  }
}
