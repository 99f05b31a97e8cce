interface PollingOptions {
  /** Runs again and again, one run at a time, until the signal aborts. */
  poll: (signal: AbortSignal) => Promise<unknown>
  /** Pause between two runs, in milliseconds; it may depend on the milliseconds that the last run took. */
  everyMs: number | ((tookMs: number) => number)
  /** Receives the error of a failed run; the next run comes at its time. */
  onError: (error: unknown) => void
}

/** Creates work that looks into the store again and again. */
export function createPolling({ poll, everyMs, onError }: PollingOptions) {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    const startedAt = performance.now()
    await poll(stopping.signal).catch(onError)
    if (stopping.signal.aborted) return
    const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(performance.now() - startedAt)
    timer = setTimeout(begin, pauseMs)
  }

  function begin(): void {
    if (!stopping.signal.aborted) running = run()
  }

  return {
    /** Begins with a run at once; does nothing once it was stopped. */
    start: begin,
    /** Starts no further run; resolves when the last one has ended. */
    async stop(): Promise<void> {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
