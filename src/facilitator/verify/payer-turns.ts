/** Runs work of one payer a few at a time, in the order it came; work of others does not wait for it. */
type PayerTurns = <Value>(payer: string, run: () => Promise<Value>) => Promise<Value>

/**
 * Pieces of one payer's work that run at once. A thousand at once would make every step of everybody else wait for theirs,
 * because the process has one thread.
 */
const MAX_AT_ONCE = 8
/** Nobody is held up while no other payer is seen, and larger groups cost less each. */
const MAX_AT_ONCE_ALONE = 64
/** A payer who was seen this recently counts as there. */
const SEEN_MS = 1_000

export function createPayerTurns(
  now: () => number = performance.now.bind(performance),
): PayerTurns {
  /** By payer: how many run, and the starts of those that wait. */
  const lines = new Map<string, { running: number; waiting: (() => void)[] }>()
  /** The payers seen last, the newest first. */
  let seen: { payer: string; at: number }[] = []

  function see(payer: string): void {
    seen = [{ payer, at: now() }, ...seen.filter((it) => it.payer !== payer).slice(0, 1)]
  }

  function mostOf(payer: string): number {
    const isShared = seen.some((it) => it.payer !== payer && now() - it.at < SEEN_MS)
    return isShared ? MAX_AT_ONCE : MAX_AT_ONCE_ALONE
  }

  return async (payer, run) => {
    see(payer)
    const line = lines.get(payer) ?? { running: 0, waiting: [] }
    lines.set(payer, line)
    if (line.running < mostOf(payer)) line.running++
    else await new Promise<void>((resolve) => line.waiting.push(resolve))
    try {
      return await run()
    } finally {
      line.running--
      while (line.running < mostOf(payer) && line.waiting.length > 0) {
        line.running++
        line.waiting.shift()?.()
      }
      if (line.running === 0) lines.delete(payer)
    }
  }
}
