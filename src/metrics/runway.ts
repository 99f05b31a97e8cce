import { type BudgetStore, dayOf } from '../store/budgets.js'

const DAY_MS = 86_400_000
/** A new day's first minutes say little about the whole day. */
const LEAST_SHARE = 1 / 24

/** How many days a sum of gas money (18-decimal units) lasts; `Infinity` while nothing is spent. */
export type ReadRunway = (balance: bigint) => Promise<number>

/**
 * Judges by the gas of the last 24 hours: today's, and of yesterday's the part of the day that is still to come.
 * Where nothing was spent yesterday, today's pace since midnight (UTC) stands for the day.
 */
export function createRunway(options: {
  network: string
  budgets: BudgetStore
  /** Unix milliseconds. */
  now: () => number
}): ReadRunway {
  const { network, budgets } = options
  return async (balance) => {
    const now = options.now()
    const [today, yesterday] = await Promise.all([
      budgets.spentOn(network, dayOf(now)),
      budgets.spentOn(network, dayOf(now - DAY_MS)),
    ])
    const share = (now % DAY_MS) / DAY_MS
    const spentADay =
      yesterday === 0n
        ? Number(today) / Math.max(share, LEAST_SHARE)
        : Number(today) + Number(yesterday) * (1 - share)
    return spentADay === 0 ? Number.POSITIVE_INFINITY : Number(balance) / spentADay
  }
}
