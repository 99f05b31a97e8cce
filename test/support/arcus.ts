import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from '../../src/app/compose.js'
import { readSettings } from '../../src/app/config/config.js'
import { installDrain } from '../../src/app/lifecycle.js'
import { createLogger } from '../../src/app/logger.js'
import { devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { startAnvil } from '../../src/devnet/anvil.js'
import { devnetContracts, mintToken, mintUsdc, placeContracts } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are what the tests look into
  body: any
  headers: Headers
}

export interface World {
  chainUrl: string
  url: string
  /** Path of the service's SQLite file. */
  databasePath: string
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string): Promise<Answer>
  /** Every answer that was given, as text. */
  said: string[]
  /** Ends the service and leaves the chain; `startService` starts it again on the same port and database. */
  stopService(): Promise<void>
  startService(): Promise<void>
  stop(): Promise<void>
}

/** Requests in flight at the end of a test get this long. */
const STOP_GRACE_MS = 5_000

/** A chain that mines at once, with a rich payer. */
export async function startChain() {
  const anvil = await startAnvil({ mining: 'auto' })
  await placeContracts(anvil.url)
  await mintUsdc(anvil.url, devnetPayer.address, 1_000_000_000_000n)
  await mintToken(anvil.url, devnetContracts.eurc, devnetPayer.address, 1_000_000_000_000n)
  return anvil
}

/**
 * The whole service over HTTP beside a fresh chain, in the process of the test: started from the same values as
 * `main.ts`, without the seconds that a process of its own takes. `between` lets something stand between the two, and
 * `env` is read at each start of the service.
 */
export async function startWorld(
  options: {
    env?: Record<string, string>
    between?: (chainUrl: string) => Promise<string>
    /** The chain of another world, which ends it; one of its own if absent. */
    chainUrl?: string
    /** Receives each line of the log, parsed; `LOG_LEVEL` must let some through. */
    onLine?: (line: Record<string, unknown>) => void
    /** Names the chain to wallets. */
    tellsWallets?: boolean
  } = {},
): Promise<World> {
  const anvil =
    options.chainUrl === undefined
      ? await startChain()
      : { url: options.chainUrl, stop: async () => {} }
  const rpcUrl = options.between === undefined ? anvil.url : await options.between(anvil.url)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'arcus-test-'))
  const databasePath = join(folder, 'arcus.db')
  const env = () => ({
    HOST: '127.0.0.1',
    PORT: String(port),
    MAINNET_RPC_URLS: rpcUrl,
    RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
    DATABASE_URL: `sqlite:${databasePath}`,
    LOG_LEVEL: 'silent',
    SETTLE_WAIT_SECONDS: '30',
    ...options.env,
  })
  const url = `http://127.0.0.1:${port}`
  let stopService = async () => {}
  async function startService(): Promise<void> {
    const { config: read, secrets } = readSettings(env())
    const named = read.networks.map((it) => ({ ...it, publicRpcUrls: [anvil.url] }))
    const config = options.tellsWallets ? { ...read, networks: named } : read
    const { onLine } = options
    const destination = onLine && { write: (line: string) => onLine(JSON.parse(line)) }
    const log = createLogger({ level: config.logLevel, ...(destination && { destination }) })
    const { app, close } = await compose(config, secrets, log)
    const { drain } = installDrain({
      app,
      onClose: close,
      graceMs: STOP_GRACE_MS,
      log,
      exit: () => {},
      source: new EventEmitter(),
    })
    stopService = () => drain('end of test')
    await app.listen({ host: config.host, port })
  }
  async function stop(): Promise<void> {
    await stopService()
    await anvil.stop()
    rmSync(folder, { recursive: true })
  }
  try {
    await startService()
  } catch (error) {
    await stop()
    throw error
  }
  const said: string[] = []
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(url + path, init)
    const text = await response.text()
    said.push(text)
    return { status: response.status, body: JSON.parse(text), headers: response.headers }
  }
  return {
    chainUrl: anvil.url,
    url,
    databasePath,
    said,
    get: (path) => ask(path, {}),
    post: (path, body, headers = {}) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    stopService: () => stopService(),
    startService,
    stop,
  }
}
