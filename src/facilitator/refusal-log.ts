interface LeveledLog {
  info(details: object, message: string): void
  debug(details: object, message: string): void
}

/** Refused settles that have a line at info within a minute. Anybody can cause any number of them. */
const LINES_A_MINUTE = 60
const MINUTE_MS = 60_000

/**
 * Makes what logs a refused settle: the first ones of a minute at info, all others at debug. The first line after that minute
 * says how many there were. Metrics count all of them by reason.
 */
export function createRefusalLog(
  log: LeveledLog,
  /** Milliseconds. */
  now: () => number = performance.now.bind(performance),
): (requestLog: LeveledLog, details: object) => void {
  let began = now()
  let lines = 0
  let others = 0

  return (requestLog, details) => {
    if (now() - began >= MINUTE_MS) {
      if (others > 0) log.info({ count: others }, 'more settles were refused, logged at debug')
      began = now()
      lines = 0
      others = 0
    }
    if (lines < LINES_A_MINUTE) {
      lines++
      requestLog.info(details, 'settle refused')
    } else {
      others++
      requestLog.debug(details, 'settle refused')
    }
  }
}
