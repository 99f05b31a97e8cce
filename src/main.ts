import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { compose } from './app/compose.js'
import { readSettings } from './app/config/config.js'
import { explainStart } from './app/doctor/explain-start.js'
import { startWarnings } from './app/doctor/settings-checks.js'
import { installDrain, surviveRejections } from './app/lifecycle.js'
import { createLogger } from './app/logger.js'
import { persist } from './async/persist.js'
import { RpcUnavailableError } from './chain/rpc-errors.js'
import { openStartupServer, type StartupServer } from './http/startup-server.js'
import { StoreUnavailableError } from './sql/errors.js'

/** The time that a settle may still take after the longest wait. */
const DRAIN_MARGIN_MS = 5_000
/** The waits for a node or a database that is away. */
const retries = { firstMs: 500, lastMs: 15_000 }
/** The time after which a failed start ends the process, even if something is still open. */
const CLOSE_PATIENCE_MS = 1_000

// Most memory of a payment is garbage within a second. If the collector runs when the heap has grown by half, instead of
// by V8's own measure, 46,000 payments leave 259 MB resident instead of 376 (measured 2026-11-26).
setFlagsFromString('--heap-growing-percent=50')

try {
  await serve()
} catch (error) {
  process.stderr.write(`${explainStart(error)}\n`)
  process.exitCode = 1
  setTimeout(() => process.exit(), CLOSE_PATIENCE_MS).unref()
}

async function serve(): Promise<void> {
  const { config, secrets } = readSettings(process.env)
  const log = createLogger({ level: config.logLevel })
  for (const warning of config.warnings) log.warn(warning)
  for (const { name, detail, fix } of startWarnings(config, secrets, process.env)) {
    log.warn(`${name} is ${detail}. ${fix}`)
  }
  surviveRejections(log)
  const startupServer = await openStartupServer(config)
  try {
    const arcus = await patiently(() => compose(config, secrets, log), startupServer, log)
    installDrain({
      app: arcus.app,
      leave: arcus.leave,
      delayMs: config.drainDelaySeconds * 1000,
      onClose: arcus.close,
      graceMs: config.settleWaitSeconds * 1000 + DRAIN_MARGIN_MS,
      log,
    })
    await startupServer.handOver(arcus.app)
  } catch (error) {
    startupServer.close()
    throw error
  }
  const { baseUrl, only = 'both halves' } = config
  log.info({ serves: only, baseUrl, networks: config.networks.map((it) => it.network) }, 'serving')
}

/** Builds the service, again and again while a node or the database is away. Any other error is for the operator. */
function patiently<Value>(
  build: () => Promise<Value>,
  startupServer: StartupServer,
  log: Logger,
): Promise<Value> {
  return persist(build, {
    ...retries,
    onFailure(error, nextTryMs) {
      const what = awaitedAfter(error)
      if (what === undefined) throw error
      startupServer.explain(`the service starts and waits for ${what}`)
      const reason = (error as Error).message
      log.warn({ reason, nextTryMs }, `${what} cannot be reached yet; trying again`)
    },
  })
}

/** Returns what is away; `undefined` for an error that waiting does not cure. */
function awaitedAfter(error: unknown): string | undefined {
  if (error instanceof RpcUnavailableError) return 'the chain nodes'
  return error instanceof StoreUnavailableError ? 'the database' : undefined
}
