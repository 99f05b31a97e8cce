import type { ExploreAnswer } from '../../api/explore.js'
import { shareReads } from '../../http/cached-reply.js'
import type { ActivityStore } from '../../store/activity.js'
import { markedName } from '../../store/listing-warnings.js'
import type { ListingReader } from '../../store/listings.js'
import { isPublicPayee } from '../../store/ownership.js'
import { spanOf } from '../activity/period.js'
import { sales, toSeries } from '../activity/summary.js'

type Figures = Omit<ExploreAnswer, 'settlements'>

interface FiguresOptions {
  activity: Pick<ActivityStore, 'sums' | 'payers'>
  listings: Pick<ListingReader, 'findMerchants'>
  /** The tags that most merchants use, and the merchants that may have the most payers. */
  readOverview(): Promise<Pick<ExploreAnswer, 'categories'> & { mostPaid: readonly string[] }>
  /** Unix milliseconds. */
  now: () => number
}

const TOP = 5
const DAYS = 30
const DAY_SECONDS = 86_400
/** Anybody may ask, and counting payers reads them all: a read that took long is kept for so many times as long. */
const CACHE_MS = 30_000
const KEPT_TIMES = 20

/** Creates the read of the figures of the home page. It reads at most once in half a minute, however many ask. */
export function createExploreFigures(options: FiguresOptions): () => Promise<Figures> {
  const { activity, listings, readOverview, now } = options

  async function read(): Promise<Figures> {
    const { span, since } = spanOf('30d', now())
    const { categories, mostPaid } = await readOverview()
    const sums = await activity.sums({ merchantId: undefined, span, since })
    const known = new Map(
      toSeries(sums.filter(({ isSelf }) => !isSelf)).map((point) => [point.at, point]),
    )
    const days = Array.from({ length: DAYS }, (_, i) => {
      const at = since + i * DAY_SECONDS
      const { settled = 0, usd = '0' } = known.get(at) ?? {}
      return { at, settled, usd }
    })
    return { days, merchants: await readTop(mostPaid), categories }
  }

  /** Counts each payer of a merchant once, whatever they paid for. */
  async function readTop(ids: readonly string[]): Promise<Figures['merchants']> {
    const { span, since } = spanOf('30d', now())
    const found: Figures['merchants'][number][] = []
    const merchants = ids.length === 0 ? [] : await listings.findMerchants(ids)
    for (const merchant of merchants.filter(isPublicPayee)) {
      const { id } = merchant
      const name = markedName(merchant)
      const scope = { merchantId: id, span, since }
      const { unique } = await activity.payers(scope)
      const sums = await activity.sums(scope)
      const calls = sales(sums.filter(({ isSelf }) => !isSelf))
      if (unique > 0) found.push({ id, name, payers: unique, calls })
    }
    return found.sort((a, b) => b.payers - a.payers || b.calls - a.calls).slice(0, TOP)
  }

  return shareReads(CACHE_MS, now, read, { keptTimes: KEPT_TIMES })
}
