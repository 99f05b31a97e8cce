import type { EventEmitter } from 'node:events'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** How often connections that fell idle during the drain are closed: they would linger as keep-alive. */
const IDLE_SWEEP_MS = 50
/** What `onClose` gets beyond the grace. */
const CLOSE_TIMEOUT_MS = 10_000

export interface DrainOptions {
  app: FastifyInstance
  /** Closes what the routes use, once the last answer is out; gets 10 s. */
  onClose: () => Promise<void>
  /** Longest wait for requests in flight. */
  graceMs: number
  log: Logger
  /** Default `process.exit`. */
  exit?: (code: number) => void
  /** Where signals and stray errors come from; default `process`. */
  source?: EventEmitter
}

export interface Drain {
  /** Drains and exits with `exitCode`; a second call joins the first, and the worse code counts. */
  drain(reason: string, exitCode?: number): Promise<void>
  /** Takes the listeners off again. */
  uninstall(): void
}

/**
 * Leaves in order on SIGTERM and SIGINT: accept nothing new, finish what is in flight within the grace, close the
 * resources, exit 0. The same signal again exits 1 at once. An unhandled rejection is logged and survived (a node's
 * trouble must not stop the service); an uncaught exception leaves the state unknown, so it drains and exits 1.
 */
export function installDrain(options: DrainOptions): Drain {
  const { app, onClose, graceMs, log } = options
  const exit = options.exit ?? ((code: number) => process.exit(code))
  const source = options.source ?? process
  let draining: Promise<void> | undefined
  let worstExitCode = 0

  const drain = (reason: string, exitCode = 0) => {
    worstExitCode = Math.max(worstExitCode, exitCode)
    draining ??= leave(reason)
    return draining
  }

  const leave = async (reason: string) => {
    log.info({ reason, graceMs }, 'draining')
    const isIdle = await closeServer(app, graceMs)
    if (!isIdle) log.warn('grace is over; requests in flight were cut')
    const isClosed = await settledWithin(onClose, CLOSE_TIMEOUT_MS, (err) =>
      log.error({ err }, 'closing failed'),
    )
    log.info('drained')
    exit(isClosed ? worstExitCode : 1)
  }

  let heard: string | undefined
  const onSignal = (signal: string) => {
    // Another signal is the same wish: a Ctrl-C reaches us, and who started us passes it on in his own way.
    if (heard !== signal) {
      heard ??= signal
      void drain(signal)
      return
    }
    log.warn({ signal }, 'the same signal again; leaving at once')
    exit(1)
  }
  const onRejection = (err: unknown) => log.error({ err }, 'unhandled rejection')
  const onException = (err: unknown) => {
    log.fatal({ err }, 'uncaught exception')
    void drain('uncaught exception', 1)
  }

  const listeners = [
    ['SIGTERM', onSignal],
    ['SIGINT', onSignal],
    ['unhandledRejection', onRejection],
    ['uncaughtException', onException],
  ] as const
  for (const [event, listener] of listeners) source.on(event, listener)
  return {
    drain,
    uninstall() {
      for (const [event, listener] of listeners) source.off(event, listener)
    },
  }
}

/** Resolves with whether every request in flight was answered; those left after `graceMs` are cut. */
async function closeServer(app: FastifyInstance, graceMs: number): Promise<boolean> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
  const closed = app.close().then(
    () => true,
    () => false,
  )
  let timer: NodeJS.Timeout | undefined
  const grace = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), graceMs)
  })
  const isIdle = await Promise.race([closed, grace])
  clearTimeout(timer)
  if (!isIdle) app.server.closeAllConnections()
  clearInterval(sweep)
  return isIdle
}

/** Resolves with whether `work` ended well in time. */
async function settledWithin(
  work: () => Promise<void>,
  timeoutMs: number,
  onError: (error: unknown) => void,
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    await Promise.race([work(), timeout])
    return true
  } catch (error) {
    onError(error)
    return false
  } finally {
    clearTimeout(timer)
  }
}
