import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { compose } from './app/compose.js'
import { explainStart, installDrain, surviveRejections } from './app/lifecycle.js'
import { createLogger } from './app/logger.js'
import { RpcUnavailableError } from './chain/rpc-errors.js'
import { gasWarnings, readSettings } from './config/config.js'
import { StoreUnavailableError } from './store/errors.js'

/** The time that a settle may still take after the longest wait. */
const DRAIN_MARGIN_MS = 5_000
/** The time that a node or a database gets if it starts together with the service. */
const START_PATIENCE_MS = 15_000
const START_RETRY_MS = 500
/** The time after which a failed start ends the process, whatever is still open. */
const CLOSE_PATIENCE_MS = 1_000

// Most memory of a payment is garbage within a second. If the collector runs when the heap has grown by half, instead of
// by V8's own measure, 54,000 payments leave 196 MB resident instead of 247.
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
  for (const warning of [...config.warnings, ...gasWarnings(config)]) log.warn(warning)
  surviveRejections(log)
  const arcus = await patiently(() => compose(config, secrets, log), log)
  installDrain({
    app: arcus.app,
    onClose: arcus.close,
    graceMs: config.settleWaitSeconds * 1000 + DRAIN_MARGIN_MS,
    log,
  })
  try {
    await arcus.app.listen({ host: config.host, port: config.port })
  } catch (error) {
    // Nobody could reach the service, and its relayers would go on.
    await arcus.app.close()
    await arcus.close()
    throw error
  }
  log.info(
    { baseUrl: config.baseUrl, networks: config.networks.map(({ network }) => network) },
    'serving',
  )
}

async function patiently<Value>(build: () => Promise<Value>, log: Logger): Promise<Value> {
  const deadline = Date.now() + START_PATIENCE_MS
  for (;;) {
    try {
      return await build()
    } catch (error) {
      const mayPass = error instanceof RpcUnavailableError || error instanceof StoreUnavailableError
      if (!mayPass || Date.now() > deadline) throw error
      log.warn({ reason: error.message }, 'chain or database does not answer yet; trying again')
      await new Promise((resolve) => setTimeout(resolve, START_RETRY_MS))
    }
  }
}
