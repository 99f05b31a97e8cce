import type { ReadinessAnswer } from '../api/service.js'
import type { ServiceHistory, ServiceMinute, Standing } from '../store/service-history.js'

interface ServiceWatchOptions {
  readReadiness(): Promise<ReadinessAnswer>
  history: Pick<ServiceHistory, 'note'>
  /** Whether this process is the one of all that notes minutes. */
  isKeeper: () => boolean
  /** Unix milliseconds. */
  now: () => number
  log: { warn(details: object, message: string): void }
}

interface ServiceWatch {
  start(): void
  /** Looks once. Never rejects. */
  look(): Promise<void>
  /** Resolves when nothing is written any more. */
  stop(): Promise<void>
}

const MINUTE_MS = 60_000
/** Minutes that wait for a database that is away. */
const MAX_WAITING = 24 * 60
const MAX_REASON_CHARS = 300

/**
 * Creates the watch that notes once a minute whether payments can settle. Minutes in which the database is away are noted
 * when it is back.
 */
export function createServiceWatch(options: ServiceWatchOptions): ServiceWatch {
  const { readReadiness, history, isKeeper, now, log } = options
  const waiting: ServiceMinute[] = []
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> = Promise.resolve()
  let isStopped = false

  async function look(): Promise<void> {
    try {
      const minute = minuteOf(await readReadiness(), now())
      waiting.push(minute)
      if (waiting.length > MAX_WAITING) waiting.shift()
      if (!isKeeper()) {
        // Another process notes what happens, unless this one lost its right because nothing works.
        if (minute.standing !== 'down') waiting.length = 0
        return
      }
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        await history.note(next)
        waiting.shift()
      }
    } catch (err) {
      log.warn({ err }, 'the state of the service could not be noted; trying again')
    }
  }

  function schedule(): void {
    if (isStopped) return
    timer = setTimeout(
      () => {
        underWay = look().finally(schedule)
      },
      MINUTE_MS - (now() % MINUTE_MS),
    )
    timer.unref()
  }

  return {
    start: schedule,
    look,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await underWay
    },
  }
}

function minuteOf({ status, checks }: ReadinessAnswer, now: number): ServiceMinute {
  const seconds = Math.floor(now / 1_000)
  const failing = checks.filter(({ ok }) => !ok)
  const told = failing.length > 0 ? failing : checks.filter(({ warning }) => warning)
  const standing: Standing =
    status === 'not_ready' ? 'down' : told.length > 0 ? 'degraded' : 'ready'
  const reason = told.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  return { at: seconds - (seconds % 60), standing, reason: shorten(reason) }
}

function shorten(text: string): string {
  return text.length <= MAX_REASON_CHARS ? text : `${text.slice(0, MAX_REASON_CHARS - 1)}…`
}
