import {
  type Background,
  createBackground,
  type MayGoOn,
  type TaskOptions,
} from '../../src/async/background.js'

interface RunEveryOptions extends TaskOptions {
  isKeeper?: () => boolean
  warn?: (details: object, message: string) => void
}

/** Runs what one part does by itself as the list of background work runs it, until it is stopped. */
export function runEvery(
  everyMs: number | (() => number),
  run: (mayGoOn: MayGoOn) => Promise<unknown>,
  { isKeeper = () => true, warn = () => {}, ...options }: RunEveryOptions = {},
): Background {
  const background = createBackground({ isKeeper, log: { warn } })
  background.every('run the part', everyMs, run, options)
  background.start()
  return background
}
