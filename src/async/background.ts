import { createPolling } from './polling.js'

/** Returns whether a run may take its next step. It may not once the work stops, or once this process may not do it. */
export type MayGoOn = () => boolean

/** When a task runs. Without members it runs in every process, at once and then at intervals. */
export interface TaskOptions {
  /** Runs only in the process that does the work that one process does for all. */
  keeper?: boolean
  /** Does not run while the disk is low, because it adds rows. */
  spareDisk?: boolean
}

/** The runs of a task since the start. */
export interface TaskFigures {
  task: string
  done: number
  failed: number
}

interface BackgroundOptions {
  /** Returns whether this process does the work that one process does for all. */
  isKeeper(): boolean
  isDiskLow?(): boolean
  log: { warn(details: object, message: string): void }
}

/** Creates the list of all that half of the service does by itself, without a request. */
export function createBackground({ isKeeper, isDiskLow, log }: BackgroundOptions) {
  const tasks: { figures: TaskFigures; polling: ReturnType<typeof createPolling> }[] = []
  return {
    /**
     * Adds a task. A failed run is logged and counted, and the next one comes at its time. `everyMs` is the pause between two
     * runs, in milliseconds; it may depend on the milliseconds that the last run took.
     */
    every(
      task: string,
      everyMs: number | ((tookMs: number) => number),
      run: (mayGoOn: MayGoOn) => Promise<unknown>,
      { keeper = false, spareDisk = false }: TaskOptions = {},
    ): void {
      const figures = { task, done: 0, failed: 0 }
      const mayRun = () => !(keeper && !isKeeper()) && !(spareDisk && isDiskLow?.())
      const polling = createPolling({
        everyMs,
        async poll(signal) {
          if (!mayRun()) return
          await run(() => !signal.aborted && mayRun())
          figures.done++
        },
        onError(err) {
          figures.failed++
          log.warn({ err, task }, 'background work failed; it runs again at its time')
        },
      })
      tasks.push({ figures, polling })
    },
    start(): void {
      for (const { polling } of tasks) polling.start()
    },
    /** Starts no further run; resolves when the last runs have ended. */
    async stop(): Promise<void> {
      await Promise.all(tasks.map(({ polling }) => polling.stop()))
    },
    figures: (): TaskFigures[] => tasks.map(({ figures }) => ({ ...figures })),
  }
}

export type Background = ReturnType<typeof createBackground>
