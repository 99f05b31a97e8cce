/** Tells those who look at a merchant's activity that there is more of it. */
export interface ActivityFeed {
  /** For the recorder's `onRecorded`. */
  announce(merchantIds: ReadonlySet<string>): void
  /** Calls `listener` after each announcement of the merchant, until the answer is called. */
  subscribe(merchantId: string, listener: () => void): () => void
  /** Merchants somebody listens for. */
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
