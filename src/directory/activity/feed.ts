import type { ActivityStore } from '../../store/activity.js'
import { createPolling } from '../../store/polling.js'

export type ActivityFeed = ReturnType<typeof createActivityFeed>

/** Creates the feed that announces new activity of a merchant to the open pages of its owner. */
export function createActivityFeed() {
  const listeners = new Map<string, Set<() => void>>()
  return {
    /** For the recorder's `onRecorded`. */
    announce(merchantIds: ReadonlySet<string>): void {
      for (const merchantId of merchantIds) {
        for (const listener of listeners.get(merchantId) ?? []) listener()
      }
    },
    /** Returns the merchants with a listener. */
    subscribed: () => [...listeners.keys()],
    /** Calls `listener` after each announcement of the merchant. Returns how to stop that. */
    subscribe(merchantId: string, listener: () => void): () => void {
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

/** Creates the announcements of activity that other processes kept. Reads nothing while nobody listens. */
export function createActivityFollower({
  store,
  feed,
  log,
}: {
  store: Pick<ActivityStore, 'latestOf'>
  feed: ActivityFeed
  log: { warn(details: object, message: string): void }
}) {
  let known: ReadonlyMap<string, number> = new Map()
  return createPolling({
    everyMs: FOLLOW_MS,
    async poll() {
      const merchantIds = feed.subscribed()
      const latest = merchantIds.length === 0 ? new Map() : await store.latestOf(merchantIds)
      const news = [...latest].filter(([id, row]) => (known.get(id) ?? row) !== row)
      known = latest
      feed.announce(new Set(news.map(([id]) => id)))
    },
    onError: (err) => log.warn({ err }, 'activity of other replicas could not be read'),
  })
}
