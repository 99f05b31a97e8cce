/** Shares the event loop between long searches and everything else. */
export interface Turns {
  /** Whether work must stop here and wait for `next`. Costs a look at the clock. */
  isOver(): boolean
  /** Resolves when it is this caller's turn; turns are given in the order in which they were asked for. */
  next(): Promise<void>
}

/** Longest that all searches together work before others are let in. */
const TURN_MS = 1
/** Others get this much of the loop for each turn of searches, as long as they have something to do. */
const OTHERS_SHARE = 2
/** A round of the loop shorter than this had nothing else to do. */
const IDLE_ROUND_MS = 0.1

/**
 * One turn a round of the event loop, however many searches wait: a storm of them lengthens the way of a payment by
 * turns, never by whole searches, and takes a third of a busy processor at most.
 */
export function createTurns(now: () => number = () => performance.now()): Turns {
  const waiting: (() => void)[] = []
  let endsAt: number | undefined
  let startedAt = 0
  /** What searches owe to the others, in milliseconds. */
  let debt = 0
  let roundStartedAt = 0
  let isScheduled = false

  function open(): void {
    startedAt = now()
    endsAt = startedAt + TURN_MS
    schedule()
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(endRound)
  }

  function endRound(): void {
    isScheduled = false
    const time = now()
    if (endsAt !== undefined) {
      // The round in which searches worked: from now on the time of others counts.
      debt += Math.min(time - startedAt, TURN_MS * 4) * OTHERS_SHARE
      endsAt = undefined
    } else {
      const others = time - roundStartedAt
      debt = others < IDLE_ROUND_MS ? 0 : debt - others
    }
    roundStartedAt = time
    if (waiting.length === 0) {
      debt = 0
      return
    }
    if (debt > 0) {
      schedule()
      return
    }
    const wake = waiting.shift() as () => void
    open()
    wake()
  }

  return {
    isOver() {
      if (endsAt === undefined) {
        if (waiting.length > 0 || isScheduled) return true
        open()
      }
      return now() >= (endsAt as number)
    },
    next() {
      return new Promise((resolve) => {
        waiting.push(resolve)
        schedule()
      })
    },
  }
}
