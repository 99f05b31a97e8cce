import type { ActivityStore } from '../../store/activity.js'
import type { ActivityFeed } from './activity-feed.js'

/** News that other processes keep are told within about this. */
const LOOK_MS = 1_000

/** Tells the feed of rows that other processes kept; gives how to stop. Asks nothing while nobody listens. */
export function followActivity(options: {
  store: Pick<ActivityStore, 'latestOf'>
  feed: ActivityFeed
  log: { warn(details: object, message: string): void }
}): () => void {
  const { store, feed, log } = options
  let known: ReadonlyMap<string, number> = new Map()
  let timer: NodeJS.Timeout
  let isStopped = false

  async function look(): Promise<void> {
    const merchantIds = feed.subscribed()
    const latest = merchantIds.length === 0 ? new Map() : await store.latestOf(merchantIds)
    const news = [...latest].filter(([id, row]) => (known.get(id) ?? row) !== row)
    known = latest
    feed.announce(new Set(news.map(([id]) => id)))
  }

  function schedule(): void {
    if (isStopped) return
    timer = setTimeout(() => {
      look()
        .catch((err) => log.warn({ err }, 'news of other replicas could not be read'))
        .finally(schedule)
    }, LOOK_MS)
    timer.unref()
  }
  schedule()

  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
