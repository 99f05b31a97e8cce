/** Shares the event loop between long reads and everything else. */
export interface ReadTurns {
  /** Resolves when it is this reader's turn, with the `performance.now()` at which it must ask again. */
  next(): Promise<number>
}

/** Longest that a reader works before others are let in. */
const TURN_MS = 1

/** One reader a round of the event loop, in the order in which they asked: a crowd of them waits for each other alone. */
export function createReadTurns(): ReadTurns {
  const waiting: ((endsAt: number) => void)[] = []

  function wake(): void {
    waiting.shift()?.(performance.now() + TURN_MS)
    if (waiting.length > 0) setImmediate(wake)
  }

  return {
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 1) setImmediate(wake)
      }),
  }
}
