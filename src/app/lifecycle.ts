import type { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { inTime } from '../async/in-time.js'

/** Interval at which idle connections are closed during the drain; they would linger as keep-alive. */
const IDLE_SWEEP_MS = 50
/** The number and length, in milliseconds, of looks without a request after which nothing more is accepted: a quarter of a second. */
const QUIET_TURNS = 5
const TURN_MS = 50
/** The most looks that a stop waits for: two seconds. */
const MAX_TURNS = 40
/** The time that `onClose` gets beyond the grace. */
const CLOSE_TIMEOUT_MS = 10_000
/** The same signal within this time is one signal: that of a process group reaches this process directly and through npm. */
const ONE_SIGNAL_MS = 1_000
/** The event of a process whose parent is gone, which `cli/serve` looks out for. */
const ORPHANED = 'orphaned'

/**
 * Stops in order on SIGTERM and SIGINT, and when the process that started this one is gone ("orphaned"): show balancers and
 * serve on for the delay and until nobody asks any more, accept nothing new, finish the requests in flight within the grace,
 * close the resources, exit 0. A person at a terminal does not wait for the first two.
 * The same signal more than a second later exits 1 at once. An uncaught exception leaves the state unknown, so it drains and
 * exits 1.
 */
export function installDrain(options: {
  app: FastifyInstance
  /** Closes the resources of the routes after the last answer was sent. It gets 10 s. */
  onClose: () => Promise<void>
  /** Shows balancers that the process stops soon. */
  leave?: () => void
  /** How long to serve on after that on SIGTERM; 0 if absent. */
  delayMs?: number
  /** Longest wait for requests in flight. */
  graceMs: number
  log: Logger
  /** Default `process.exit`. */
  exit?: (code: number) => void
  /** The emitter of signals and uncaught errors; default `process`. */
  source?: EventEmitter
}) {
  const { app, onClose, graceMs, log, delayMs = 0 } = options
  const exit = options.exit ?? ((code: number) => process.exit(code))
  const source = options.source ?? process
  let draining: Promise<void> | undefined
  let worstExitCode = 0

  /** Drains and exits with `exitCode`; a second call joins the first, and the worse code counts. */
  const drain = (reason: string, exitCode = 0): Promise<void> => {
    worstExitCode = Math.max(worstExitCode, exitCode)
    draining ??= leave(reason)
    return draining
  }

  const leave = async (reason: string) => {
    options.leave?.()
    if (reason === 'SIGTERM' || reason === ORPHANED) {
      if (delayMs > 0) {
        log.info({ reason, delayMs }, 'not ready any more; serving on until balancers know')
        await sleep(delayMs)
      }
      await untilQuiet(app.server)
    }
    log.info({ reason, graceMs }, 'draining')
    const isIdle = await closeServer(app, graceMs)
    if (!isIdle) log.warn('the grace period is over; requests in flight were cut off')
    let isClosed = false
    try {
      const closing = onClose().then(() => true)
      isClosed = await inTime(closing, CLOSE_TIMEOUT_MS, () => false)
      if (!isClosed) log.error({ timeoutMs: CLOSE_TIMEOUT_MS }, 'closing failed: it takes too long')
    } catch (err) {
      log.error({ err }, 'closing failed')
    }
    log.info('drained')
    exit(isClosed ? worstExitCode : 1)
  }

  let first: { signal: string; at: number } | undefined
  const onSignal = (signal: string) => {
    first ??= { signal, at: performance.now() }
    // The other signal is ignored: npm may pass another one on than it got.
    if (first.signal !== signal || performance.now() - first.at < ONE_SIGNAL_MS) {
      void drain(signal)
      return
    }
    log.warn({ signal }, 'the same signal again; leaving at once')
    exit(1)
  }
  const onException = (err: unknown) => {
    log.fatal({ err }, 'uncaught exception')
    void drain('uncaught exception', 1)
  }

  source.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  source.on(ORPHANED, () => void drain(ORPHANED)).on('uncaughtException', onException)
  return { drain }
}

/**
 * Logs unhandled rejections; the service survives them. A package may start a read in the background and answer
 * without it, as x402's does: that read may fail alone.
 */
export function surviveRejections(log: Logger, source: EventEmitter = process): void {
  source.on('unhandledRejection', (err) => log.error({ err }, 'unhandled rejection'))
}

/**
 * Resolves when no connection and no request has come for a while. The kernel accepts connections before this process
 * reads them, and closing the server would reset those. Ticks of the event loop count, because a thread that was busy
 * has not looked.
 */
async function untilQuiet(server: Server): Promise<void> {
  let quietTurns = 0
  const note = () => {
    quietTurns = 0
  }
  server.on('connection', note).on('request', note)
  for (let turn = 0; turn < MAX_TURNS && quietTurns < QUIET_TURNS; turn++) {
    quietTurns++
    await sleep(TURN_MS)
  }
  server.off('connection', note).off('request', note)
}

/** Resolves with whether every request in flight was answered; those left after `graceMs` are cut. */
async function closeServer(app: FastifyInstance, graceMs: number): Promise<boolean> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
  const closed = app.close().then(
    () => true,
    () => false,
  )
  const isIdle = await inTime(closed, graceMs, () => false)
  if (!isIdle) app.server.closeAllConnections()
  clearInterval(sweep)
  return isIdle
}
