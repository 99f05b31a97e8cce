interface TurnsOptions {
  /** Pieces of work that run at once. */
  atOnce: number
  /** Pieces that may wait, of one party and of all. */
  waitingOfParty: number
  waitingInAll: number
}

/** Runs work of several parties a few pieces at a time. Parties take turns, and each has its oldest piece first. */
export interface Turns {
  /** Runs a piece of work when its turn comes; `undefined` when too many wait already. */
  run<Value>(party: string, work: () => Promise<Value>): Promise<Value> | undefined
}

export function createTurns({ atOnce, waitingOfParty, waitingInAll }: TurnsOptions): Turns {
  /** The starts of pieces that wait, by party; the party whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>()
  let count = 0
  let running = 0

  function startNext(): void {
    const [next] = waiting
    if (next === undefined) return
    const [party, starts] = next
    waiting.delete(party)
    starts.shift()?.()
    if (starts.length > 0) waiting.set(party, starts)
  }

  /** Waits for the turn of a party. Returns at once where nothing waits and a piece more may run. */
  async function turnOf(party: string): Promise<void> {
    if (running < atOnce) {
      running++
      return
    }
    const starts = waiting.get(party) ?? []
    waiting.set(party, starts)
    count++
    // The piece before hands its slot on.
    await new Promise<void>((resolve) => starts.push(resolve))
    count--
  }

  async function run<Value>(party: string, work: () => Promise<Value>): Promise<Value> {
    await turnOf(party)
    try {
      return await work()
    } finally {
      if (waiting.size === 0) running--
      else startNext()
    }
  }

  return {
    run(party, work) {
      const own = waiting.get(party)?.length ?? 0
      const isCrowded = own >= waitingOfParty || count >= waitingInAll
      return running >= atOnce && isCrowded ? undefined : run(party, work)
    },
  }
}
