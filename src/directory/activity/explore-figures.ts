import type { ExploreAnswer } from '@arcus/protocol/answers/explore'
import { shareReads } from '../../http/cached-reply.js'
import type { ActivityStore } from '../store/activity.js'
import { spanOf } from './period.js'
import { type PublicTotalsReader, toSeries } from './summary.js'

type Figures = Omit<ExploreAnswer, 'settlements'>

interface FiguresOptions {
  activity: Pick<ActivityStore, 'sums'>
  readTotals: PublicTotalsReader
  /** Unix milliseconds. */
  now: () => number
}

const DAYS = 30
const DAY_SECONDS = 86_400
/** Anybody may ask: a read that took long is kept for so many times as long. */
const CACHE_MS = 30_000
const KEPT_TIMES = 20

/** Creates the read of what was paid in 30 days. It reads at most once in half a minute, however many ask. */
export function createExploreFigures({
  activity,
  readTotals,
  now,
}: FiguresOptions): () => Promise<Figures> {
  async function read(): Promise<Figures> {
    const { span, since } = spanOf('30d', now())
    const sums = await activity.sums({ merchantId: undefined, span, since })
    const known = new Map(
      toSeries(sums.filter(({ isSelf }) => !isSelf)).map((point) => [point.at, point]),
    )
    const days = Array.from({ length: DAYS }, (_, i) => {
      const at = since + i * DAY_SECONDS
      const { settled = 0, usd = '0' } = known.get(at) ?? {}
      return { at, settled, usd }
    })
    const { '30d': month } = await readTotals(undefined)
    return { month, days }
  }

  return shareReads(CACHE_MS, now, read, { keptTimes: KEPT_TIMES })
}
