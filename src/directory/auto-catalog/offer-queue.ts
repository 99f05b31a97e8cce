/** Work that waits its turn, one piece at a time, each in a slice of its own. */
export interface OfferQueue<Work> {
  /** Newer work of the same key takes the place of what waits; `false` when there is no room. */
  add(key: string, group: string, work: Work): boolean
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>
  /** Drops what waits; resolves when what is under way has ended. */
  stop(): Promise<void>
}

export interface OfferQueueOptions<Work> {
  max: number
  /** So that one group cannot fill the queue. */
  maxPerGroup: number
  run(work: Work): Promise<void>
  onError(error: unknown, work: Work): void
}

export function createOfferQueue<Work>(options: OfferQueueOptions<Work>): OfferQueue<Work> {
  const waiting = new Map<string, { group: string; work: Work }>()
  const groups = new Map<string, number>()
  let running: Promise<void> | undefined
  let isStopped = false

  function count(group: string, change: number): void {
    const size = (groups.get(group) ?? 0) + change
    if (size === 0) groups.delete(group)
    else groups.set(group, size)
  }

  async function drain(): Promise<void> {
    for (;;) {
      // A slice of its own: requests that came meanwhile go first.
      await new Promise((resolve) => setImmediate(resolve))
      const [next] = waiting
      if (next === undefined) break
      const [key, { group, work }] = next
      waiting.delete(key)
      count(group, -1)
      await options.run(work).catch((error) => options.onError(error, work))
    }
    running = undefined
  }

  return {
    add(key, group, work) {
      if (isStopped) return false
      const isKnown = waiting.has(key)
      const isFull = waiting.size >= options.max || (groups.get(group) ?? 0) >= options.maxPerGroup
      if (!isKnown && isFull) return false
      if (!isKnown) count(group, 1)
      waiting.set(key, { group, work })
      running ??= drain()
      return true
    },
    idle: async () => running,
    async stop() {
      isStopped = true
      waiting.clear()
      groups.clear()
      await running
    },
  }
}
