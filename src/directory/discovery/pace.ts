/** Until when payments are being made. One thread may say so and another heed it. */
interface Urgency {
  raise(): void
  isRaised(): boolean
}

/** Shares the processor between searches and payments. */
export interface Pace {
  /** Runs searches one after another, with a pause after each while payments are being made. Rejects with `SearchOverload`. */
  search<Found>(search: () => Found): Promise<Found>
  /** Does a piece of longer work, and lets others go on before it resolves. */
  share<Done>(work: () => Promise<Done>): Promise<Done>
}

/** Thrown when too many searches wait for their turn. */
export class SearchOverload extends Error {
  override readonly name = 'SearchOverload'
}

/** The time after a payment during which searches make way for payments. */
const RAISED_MS = 50
/** The pause after a search is this many times as long as the search was. */
const PAUSE_SHARE = 4
/** A thread that had to wait for a processor must not pause for all of that time again. */
const MAX_PAUSE_MS = 200
const MAX_WAITING = 100

/** Milliseconds of a clock that all threads of a process read alike. */
const processClock = () => performance.timeOrigin + performance.now()

/** Creates an urgency in `shared`, the memory of one number. */
export function createUrgency(shared = new SharedArrayBuffer(8), now = processClock): Urgency {
  const until = new Float64Array(shared)
  return {
    raise() {
      until[0] = now() + RAISED_MS
    },
    isRaised: () => now() < (until[0] as number),
  }
}

export function createPace({ isRaised }: Urgency): Pace {
  let turn: Promise<void> = Promise.resolve()
  let waiting = 0

  /** Lets others go on, for longer while payments are being made. */
  function pauseAfter(ms: number, share: number): Promise<void> {
    if (!isRaised()) return new Promise((resolve) => setImmediate(resolve))
    return new Promise((resolve) => setTimeout(resolve, Math.min(ms * share, MAX_PAUSE_MS)))
  }

  return {
    async search(search) {
      if (waiting >= MAX_WAITING) throw new SearchOverload()
      const before = turn
      let end = () => {}
      turn = new Promise((resolve) => {
        end = resolve
      })
      waiting++
      await before
      waiting--
      const startedAt = performance.now()
      try {
        return search()
      } finally {
        void pauseAfter(performance.now() - startedAt, PAUSE_SHARE).then(end)
      }
    },
    async share(work) {
      const startedAt = performance.now()
      const done = await work()
      await pauseAfter(performance.now() - startedAt, 1)
      return done
    },
  }
}
