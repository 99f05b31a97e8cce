import type { ActivityStore } from '../../store/activity.js'

/** Announces new activity of a merchant to the open pages of its owner. */
export interface ActivityFeed {
  /** For the recorder's `onRecorded`. */
  announce(merchantIds: ReadonlySet<string>): void
  /** Calls `listener` after each announcement of the merchant. Returns how to stop that. */
  subscribe(merchantId: string, listener: () => void): () => void
  /** Returns the merchants with a listener. */
  subscribed(): string[]
}

export function createActivityFeed(): ActivityFeed {
  const listeners = new Map<string, Set<() => void>>()
  return {
    announce(merchantIds) {
      for (const merchantId of merchantIds) {
        for (const listener of listeners.get(merchantId) ?? []) listener()
      }
    },
    subscribed: () => [...listeners.keys()],
    subscribe(merchantId, listener) {
      const all = listeners.get(merchantId) ?? new Set()
      listeners.set(merchantId, all.add(listener))
      return () => {
        all.delete(listener)
        if (all.size === 0 && listeners.get(merchantId) === all) listeners.delete(merchantId)
      }
    },
  }
}

/** Interval of reading the activity that other processes kept. */
const FOLLOW_MS = 1_000

/** Announces activity that other processes kept. Returns how to stop. Reads nothing while nobody listens. */
export function followActivity(options: {
  store: Pick<ActivityStore, 'latestOf'>
  feed: ActivityFeed
  log: { warn(details: object, message: string): void }
}): () => void {
  const { store, feed, log } = options
  let known: ReadonlyMap<string, number> = new Map()
  let timer: NodeJS.Timeout
  let isStopped = false

  async function announceNews(): Promise<void> {
    const merchantIds = feed.subscribed()
    const latest = merchantIds.length === 0 ? new Map() : await store.latestOf(merchantIds)
    const news = [...latest].filter(([id, row]) => (known.get(id) ?? row) !== row)
    known = latest
    feed.announce(new Set(news.map(([id]) => id)))
  }

  function schedule(): void {
    if (isStopped) return
    timer = setTimeout(() => {
      announceNews()
        .catch((err) => log.warn({ err }, 'activity of other replicas could not be read'))
        .finally(schedule)
    }, FOLLOW_MS)
    timer.unref()
  }
  schedule()

  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
