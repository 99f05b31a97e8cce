/**
 * Starts work that is done at once, at each interval, and whenever `run` is called: never twice at a time, and once more if
 * it was called meanwhile. The interval does not keep the process alive. `work` must not reject.
 */
export function startRounds(work: () => Promise<void>, everySeconds: number) {
  let running: Promise<void> | undefined
  let isAskedAgain = false

  async function run(): Promise<void> {
    isAskedAgain = true
    running ??= (async () => {
      while (isAskedAgain) {
        isAskedAgain = false
        await work()
      }
      running = undefined
    })()
    return running
  }

  const timer = setInterval(run, everySeconds * 1000).unref()
  void run()
  return {
    run,
    /** Resolves when nothing is under way. */
    async close(): Promise<void> {
      clearInterval(timer)
      await running
    },
  }
}
