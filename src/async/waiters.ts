/** Callers that wait for news, by the key of what it is about. */
export function createWaiters<News>() {
  const waiting = new Map<string, Set<(news: News) => void>>()
  return {
    /** Returns every key that somebody waits for. */
    keys: () => [...waiting.keys()],
    /** Gives the news to all callers that wait for the key. */
    wake(key: string, news: News): void {
      for (const take of waiting.get(key) ?? []) take(news)
    },
    /** Resolves with the next news of the key that is meant, or with `undefined` after `ms`, if given. */
    until(
      key: string,
      { ms, isMeant = () => true }: { ms?: number; isMeant?(news: News): boolean } = {},
    ): Promise<News | undefined> {
      return new Promise((resolve) => {
        const takers = waiting.get(key) ?? new Set()
        waiting.set(key, takers)
        const timer = ms === undefined ? undefined : setTimeout(end, ms)
        function end(news?: News): void {
          clearTimeout(timer)
          takers.delete(take)
          if (takers.size === 0 && waiting.get(key) === takers) waiting.delete(key)
          resolve(news)
        }
        function take(news: News): void {
          if (isMeant(news)) end(news)
        }
        takers.add(take)
      })
    },
  }
}
