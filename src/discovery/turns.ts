/** Shares the event loop between long searches and everything else. */
export interface Turns {
  /** Whether work must stop here and wait for `next`. Costs a look at the clock. */
  isOver(): boolean
  /** Resolves when it is this caller's turn; turns are given in the order in which they were asked for. */
  next(): Promise<void>
  /** Something more urgent is being done: for a little while searches take a fifth of the time at most. */
  giveWay(): void
  /** Whether that is so: then even what is done within a turn has to wait for one. */
  isUrgent(): boolean
}

/** Until when something more urgent is being done; one thread may raise it and another heed it. */
export interface Urgency {
  raise(): void
  isRaised(): boolean
}

/** Longest that all searches together work before others are let in. */
const TURN_MS = 1
const SHORT_TURN_MS = 0.5
/** After `giveWay` the pause between two turns is this many times as long as the turn was. */
const PAUSE_SHARE = 4
const GIVE_WAY_MS = 50
/** A round of the loop counts as so much of a turn at most: the rest is what others did. */
const MAX_COUNTED_MS = 5

/** `shared` is the memory of one number; `now` must be the same clock wherever it is used. */
export function createUrgency(now: () => number, shared = new SharedArrayBuffer(8)): Urgency {
  const until = new Float64Array(shared)
  return {
    raise() {
      until[0] = now() + GIVE_WAY_MS
    },
    isRaised: () => now() < (until[0] as number),
  }
}

/** Milliseconds of a clock that all threads of a process read alike. */
export const processClock = () => performance.timeOrigin + performance.now()

/**
 * One turn a round of the event loop, however many searches wait: a storm of them lengthens the way of a payment by
 * turns, never by whole searches.
 */
export function createTurns(
  now: () => number = () => performance.now(),
  urgency: Urgency = createUrgency(now),
): Turns {
  const waiting: (() => void)[] = []
  let endsAt: number | undefined
  let startedAt = 0
  let isScheduled = false

  function open(): void {
    startedAt = now()
    endsAt = startedAt + (urgency.isRaised() ? SHORT_TURN_MS : TURN_MS)
    schedule()
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(endRound)
  }

  function endRound(): void {
    const time = now()
    const wasTurn = endsAt !== undefined
    endsAt = undefined
    if (wasTurn && urgency.isRaised()) {
      const pauseMs = Math.min(time - startedAt, MAX_COUNTED_MS) * PAUSE_SHARE
      setTimeout(endRound, Math.ceil(pauseMs))
      return
    }
    isScheduled = false
    const wake = waiting.shift()
    if (wake === undefined) return
    open()
    wake()
  }

  return {
    isOver() {
      if (endsAt === undefined) {
        if (isScheduled) return true
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
    giveWay: urgency.raise,
    isUrgent: urgency.isRaised,
  }
}
