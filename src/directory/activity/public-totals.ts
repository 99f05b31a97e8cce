import type { Totals } from '../../api/activity.js'
import type { ActivityStore } from '../../store/activity.js'
import { type ActivityRange, activityRanges, spanOf } from './ranges.js'
import { readActivity } from './summary.js'

export interface PublicTotalsOptions {
  store: Pick<ActivityStore, 'sums' | 'payers' | 'latencies'>
  /** Unix milliseconds. */
  now: () => number
}

/**
 * Counting payers reads them all, and anybody may ask. So an answer is given again for this many times as long as it
 * took to read: what is quickly read is always new, and what is not never takes more than a twentieth of the time.
 */
const KEPT_TIMES = 20
const MAX_KEPT_MS = 60_000
const MAX_KEPT = 1_000

/**
 * Reads what everybody may see of a merchant, or of all together: totals of each range, net of refunds and without those
 * who pay themselves. Nothing in them is of a payment that was never found sound.
 */
export function createPublicTotals({ store, now }: PublicTotalsOptions) {
  const kept = new Map<string | undefined, { totals: ReturnType<typeof readAll>; until: number }>()

  async function readRange(merchantId: string | undefined, range: ActivityRange): Promise<Totals> {
    const { span, since } = spanOf(range, now())
    const { summary } = await readActivity(store, { merchantId, span, since })
    const { settled, successRate, p50Ms, p95Ms } = summary.settle
    const { revenue, refunds, payers } = summary
    return {
      settled,
      successRate,
      settleP50Ms: p50Ms,
      settleP95Ms: p95Ms,
      revenue,
      refunds,
      payers,
    }
  }

  async function readAll(merchantId: string | undefined) {
    const ranges = activityRanges.map(async (range) => [range, await readRange(merchantId, range)])
    return {
      ...(merchantId === undefined ? {} : { merchant: merchantId }),
      ...Object.fromEntries(await Promise.all(ranges)),
    }
  }

  return (merchantId: string | undefined): ReturnType<typeof readAll> => {
    const known = kept.get(merchantId)
    if (known !== undefined && now() < known.until) return known.totals
    const startedAt = now()
    const entry = { totals: readAll(merchantId), until: Number.POSITIVE_INFINITY }
    kept.delete(merchantId)
    kept.set(merchantId, entry)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value)
    entry.totals.then(
      () => {
        const readAt = now()
        entry.until = readAt + Math.min((readAt - startedAt) * KEPT_TIMES, MAX_KEPT_MS)
      },
      () => {
        entry.until = 0
      },
    )
    return entry.totals
  }
}
