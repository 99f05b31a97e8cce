import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createListingClient } from '@arcus/client/listing-client'
import type { Hex } from 'viem'
import { CONSOLE_FOLDER } from '../http/console-folder.js'
import {
  devnetAttester,
  devnetBuyback,
  devnetCheckers,
  devnetHost,
  devnetMerchant,
  devnetPayer,
  devnetRelayers,
} from './accounts.js'
import { startAnvil, startBlockProducer } from './anvil.js'
import {
  clearCode,
  deployRelayerMulticall,
  devnetContracts,
  fundNative,
  mintToken,
  mintUsdc,
  placeContracts,
} from './fixtures.js'
import {
  type Child,
  type ChildExit,
  DevnetError,
  requireFreePort,
  superviseChild,
} from './process.js'
import { quotePrice, startSampleApi } from './sample-api.js'

type StackOptions = {
  port: number
  rpcPort: number
  apiPort: number
  /** RPC address of a live chain to fork. The mock replaces its stablecoin. */
  forkUrl?: string
  /** The environment of the caller, which is passed on to Arcus. */
  env: NodeJS.ProcessEnv
  /** Receives what begins, in words for the terminal. */
  onStep?: (step: string) => void
}

export type Stack = {
  /** Ends every part, the last started first. */
  stop(): Promise<void>
  /** Resolves with the reason when a part ends by itself. */
  failed: Promise<DevnetError>
  console: Build
  sample: SampleListing
  /** Settings with which a command of the operator finds the database of this Arcus. */
  operatorEnv: Record<'DATABASE_URL' | 'MAINNET_RPC_URLS' | 'BUYBACK_ADDRESS', string>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Something that `npm run build` makes. */
interface BuildTask {
  /** A file that is written last. */
  product: string
  /** Folders and files of the project. */
  sources: readonly string[]
  command: readonly string[]
}

const consoleBuild: BuildTask = {
  product: join(CONSOLE_FOLDER, 'index.html'),
  // Its code, and the pages that it shows.
  sources: ['src/console', 'docs/quickstarts'],
  command: ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn'],
}
const packages = ['protocol', 'client', 'merchant'].map((name) => `packages/${name}/src`)
const rooms = ['app', 'async', 'chain', 'cli', 'directory', 'facilitator', 'hosted', 'http', 'sql']
const serviceBuild: BuildTask = {
  product: 'dist/main.js',
  sources: [...rooms.map((room) => `src/${room}`), ...packages, 'src/main.ts', 'package-lock.json'],
  command: ['--import', 'tsx', 'scripts/bundle.ts'],
}

// Gas for some 40,000 settlements each at 20 gwei.
const relayerFundsWei = 100n * 10n ** 18n
const payerFundsAtomic = 100n * 10n ** 6n
// For refunds of metered calls.
const hostFundsAtomic = 10n * 10n ** 6n
const checkFundsAtomic = 5n * 10n ** 6n
const minBaseFeeWei = 20n * 10n ** 9n
const blockGasLimit = 30_000_000n

/** Starts chain, Arcus and sample API; when one fails to start, stops the others and rejects with a `DevnetError`. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const host = options.env.HOST || '127.0.0.1'
  await requireFreePorts(options, host)
  const stops: (() => Promise<void> | void)[] = []
  const stop = async () => {
    for (let end = stops.pop(); end !== undefined; end = stops.pop()) await end()
  }
  try {
    const { onStep = () => {} } = options
    onStep('local chain with play money')
    if (!isFresh(consoleBuild) || !isFresh(serviceBuild)) {
      onStep('build of Arcus and its console, which takes some seconds after each change')
    }
    const [chain, builtConsole, builtService] = await Promise.all([
      startChain(options, stops),
      build(consoleBuild),
      build(serviceBuild),
    ])
    if (builtService.state === 'failed') {
      throw new DevnetError(`Arcus could not be built:\n${builtService.complaint}`)
    }
    onStep('Arcus')
    const arcus = await startService(options, chain.url, stops)
    onStep('sample API')
    const sampleUrl = await startMerchant(options.apiPort, host, arcus.url, stops)
    const sample = await listSampleApi(arcus.url, sampleUrl)
    const failed = Promise.race([failure('anvil', chain.exited), failure('Arcus', arcus.exited)])
    const operatorEnv = {
      DATABASE_URL: arcus.databaseUrl,
      MAINNET_RPC_URLS: chain.url,
      BUYBACK_ADDRESS: options.env.BUYBACK_ADDRESS || devnetBuyback.address,
    }
    return { stop, failed, console: builtConsole, sample, operatorEnv }
  } catch (error) {
    await stop()
    throw error
  }
}

type Stops = (() => Promise<void> | void)[]

async function requireFreePorts(options: StackOptions, host: string): Promise<void> {
  const hint = (flag: string) =>
    `stop the program that holds it, such as another devnet, or choose another with ${flag}.`
  await requireFreePort(options.rpcPort, 'anvil', '127.0.0.1', hint('--rpc-port'))
  await requireFreePort(options.port, 'Arcus', host, hint('--port'))
  await requireFreePort(options.apiPort, 'the sample API', host, hint('--api-port'))
}

async function startChain({ rpcPort, forkUrl }: StackOptions, stops: Stops) {
  const anvil = await startAnvil({
    port: rpcPort,
    mining: 'manual',
    baseFeeWei: minBaseFeeWei,
    blockGasLimit,
    ...(forkUrl === undefined ? {} : { forkUrl }),
  })
  stops.push(anvil.stop)
  const { url } = anvil
  await placeContracts(url)
  // On live chains these public keys are delegated (EIP-7702) to code that takes their money.
  const paid = [devnetPayer, devnetMerchant, devnetBuyback, devnetHost, ...devnetCheckers]
  const accounts = [...devnetRelayers, ...paid]
  await clearCode(
    url,
    accounts.map(({ address }) => address),
  )
  const relayers = devnetRelayers.map(({ address }) => address)
  for (const address of relayers) await fundNative(url, address, relayerFundsWei)
  await deployRelayerMulticall(url, relayers)
  // A payer of x402 needs no gas, so the devnet's payer has none.
  await fundNative(url, devnetPayer.address, 0n)
  await mintUsdc(url, devnetPayer.address, payerFundsAtomic)
  await mintToken(url, devnetContracts.eurc, devnetPayer.address, payerFundsAtomic)
  await mintUsdc(url, devnetHost.address, hostFundsAtomic)
  for (const { address } of devnetCheckers) await mintUsdc(url, address, checkFundsAtomic)
  const producer = await startBlockProducer({ url })
  stops.push(producer.stop)
  return anvil
}

async function startService(options: StackOptions, rpcUrl: string, stops: Stops) {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-devnet-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  stops.push(removeFolder)
  const databaseUrl = `sqlite:${join(folder, 'arcus.db')}`
  const arcus = await startArcus({
    port: options.port,
    rpcUrl,
    relayerKeys: devnetRelayers.map(({ privateKey }) => privateKey),
    databaseUrl,
    env: options.env,
  })
  stops.push(arcus.stop)
  return { ...arcus, databaseUrl }
}

/** Starts the sample API. Resolves to its URL. */
async function startMerchant(port: number, host: string, facilitatorUrl: string, stops: Stops) {
  const api = await startSampleApi({
    port,
    host,
    facilitatorUrl,
    payTo: devnetMerchant.address,
    assets: { usdc: devnetContracts.usdc, eurc: devnetContracts.eurc },
    network: 'eip155:5042',
  })
  stops.push(api.stop)
  return api.url
}

/** Why the sample API is not in the directory; nothing where it is. */
type SampleListing = { complaint?: string }

/** Lists the sample API, so that what a newcomer pays for has a name. Never rejects: everything else works without. */
async function listSampleApi(arcusUrl: string, sampleUrl: string): Promise<SampleListing> {
  try {
    const answer = await fetch(`${arcusUrl}/api/signing`)
    const { audience } = (await answer.json()) as { audience: string }
    const signer = devnetMerchant.account
    const client = createListingClient({ directoryUrl: arcusUrl, signer, audience })
    const { endpoints } = await client.save('sample-api', {
      name: 'Sample API',
      description: 'The paid API that npm run dev starts, to try a payment with.',
      payTo: devnetMerchant.address,
      endpoints: [
        {
          url: `${sampleUrl}/quote`,
          method: 'GET',
          title: 'A line worth a cent',
          description: 'Returns a proverb about money.',
          price: quotePrice,
          tags: ['sample'],
        },
        {
          url: `${sampleUrl}/weather`,
          method: 'GET',
          title: 'Weather of a city',
          description: 'Returns a forecast that is made up.',
          price: quotePrice,
          tags: ['sample'],
          example: { queryParams: { city: 'Lisbon' } },
        },
        {
          url: `${sampleUrl}/mcp`,
          method: 'MCP',
          toolName: 'tides',
          title: 'Tides of a port',
          description: 'A tool that returns when the next high tide is, made up too.',
          price: quotePrice,
          tags: ['sample'],
          example: { arguments: { port: 'Faro' } },
        },
        {
          url: `${sampleUrl}/broken`,
          method: 'GET',
          title: 'A line that never comes',
          description: 'Takes the payment and fails, to show what a paid check says of it.',
          price: quotePrice,
          tags: ['sample'],
        },
      ],
    })
    // One is bought a minute, unless the caller has turned checks off; first the one that does not deliver, so that buyers
    // are warned. Tools are not bought.
    const ask = async ({ state }: (typeof endpoints)[number]) => {
      await client.requestCheck('sample-api', state.id).catch(() => undefined)
    }
    const [broken, ...others] = endpoints.toReversed()
    if (broken !== undefined) await ask(broken)
    // Requests of the same second have no order, so the others wait for the next one.
    setTimeout(() => others.map(ask), 1_000).unref()
    return {}
  } catch (error) {
    return { complaint: error instanceof Error ? error.message : String(error) }
  }
}

async function failure(name: string, exited: Promise<ChildExit>): Promise<DevnetError> {
  const exit = await exited
  return new DevnetError(
    `${name} ended by itself (${describeExit(exit)}), so the rest was stopped.`,
  )
}

const readyTimeoutMs = 90_000
const pollMs = 50
// Long enough for a settlement that waits for its block.
const arcusStopGraceMs = 5_000

type ArcusProcessOptions = {
  port: number
  rpcUrl: string
  relayerKeys: readonly Hex[]
  /** `sqlite:PATH`. */
  databaseUrl: string
  /** The environment of the caller. The settings above take precedence over it. */
  env: NodeJS.ProcessEnv
}

type ArcusProcess = { url: string; stop(): Promise<void>; exited: Promise<ChildExit> }

/** Starts the service as it was built, in a process of its own. Resolves when `/health` and `/ready` answer 200. */
async function startArcus(options: ArcusProcessOptions): Promise<ArcusProcess> {
  // A process that loads a few files starts several times as fast as one that loads the sources.
  const script = join(root, serviceBuild.product)
  const child = spawn(process.execPath, ['--enable-source-maps', script], {
    cwd: root,
    env: settingsOf(options),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const supervised = superviseChild(child, arcusStopGraceMs)
  const url = `http://127.0.0.1:${options.port}`
  try {
    await becomesReady(url, supervised)
  } catch (error) {
    await supervised.stop()
    throw error
  }
  return { url, ...supervised }
}

function settingsOf(options: ArcusProcessOptions): NodeJS.ProcessEnv {
  return {
    HOST: '127.0.0.1',
    // A slow machine keeps the chain waiting now and then. Such warnings would stand above the welcome.
    LOG_LEVEL: 'error',
    // APIs on this machine may be listed, such as the sample API.
    PROBE_ALLOW_PRIVATE_HOSTS: 'true',
    HOSTED_PRIVATE_KEY: devnetHost.privateKey,
    BUYBACK_ADDRESS: devnetBuyback.address,
    HOSTED_CLAIM_SECONDS: '10',
    ATTESTATION_PRIVATE_KEY: devnetAttester.privateKey,
    CHECK_PRIVATE_KEYS: devnetCheckers.map(({ privateKey }) => privateKey).join(','),
    // A blank value hides the setting of a `.env` that is meant for production.
    TESTNET_RPC_URLS: '',
    DEVNET: 'true',
    MAINNET_ASSETS: `${devnetContracts.usdc},${devnetContracts.eurc}`,
    ...options.env,
    PORT: String(options.port),
    MAINNET_RPC_URLS: options.rpcUrl,
    RELAYER_PRIVATE_KEYS: options.relayerKeys.join(','),
    RELAYER_PRIVATE_KEYS_FILE: '',
    DATABASE_URL: options.databaseUrl,
  }
}

async function becomesReady(url: string, { exited, isGone }: Child): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  let complaint = 'no answer'
  while (!isGone() && Date.now() < deadline) {
    const answer = (await problemAt(`${url}/health`)) ?? (await problemAt(`${url}/ready`))
    if (answer === undefined) return
    complaint = answer
    await sleep(pollMs)
  }
  if (isGone())
    throw new DevnetError(`Arcus stopped while starting (${describeExit(await exited)}).`)
  throw new DevnetError(
    `Arcus was not ready within ${readyTimeoutMs / 1000} seconds: ${complaint}.`,
  )
}

async function problemAt(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
    const text = await response.text()
    return response.status === 200 ? undefined : text.slice(0, 500)
  } catch {
    return 'no answer'
  }
}

/** Describes the end of a process as a part of a sentence. */
function describeExit({ code, signal }: ChildExit): string {
  if (signal !== null) return `killed by ${signal}`
  return code === null ? 'it could not be started' : `exit code ${code}`
}

type Build =
  | { state: 'fresh' | 'built' }
  /** `complaint` holds the last lines of the build's output. */
  | { state: 'failed'; complaint: string }

/** Builds the console as `build` does. */
export const buildConsole = (): Promise<Build> => build(consoleBuild)

/** Builds what was never built or has newer sources, which takes some seconds. Never rejects. */
async function build(task: BuildTask): Promise<Build> {
  if (isFresh(task)) return { state: 'fresh' }
  const { code, output } = await run(process.execPath, [...task.command])
  if (code === 0) return { state: 'built' }
  return { state: 'failed', complaint: output.trim().split('\n').slice(-5).join('\n') }
}

function isFresh({ product, sources }: BuildTask): boolean {
  const paths = sources.map((path) => join(root, path))
  // An image may hold the build without its sources.
  if (!paths.every((path) => existsSync(path))) return true
  if (!existsSync(join(root, product))) return false
  const builtAt = statSync(join(root, product)).mtimeMs
  return paths.flatMap(filesOf).every((file) => statSync(file).mtimeMs <= builtAt)
}

function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))
}

function run(command: string, args: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    // A process group of its own, so that every process of the build ends with it.
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      // The NODE_ENV of a test runner would build React for development, three times as large and over the size budget.
      env: { ...process.env, NODE_ENV: 'production' },
    })
    const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGTERM')
    process.once('exit', end)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.once('error', (error) => resolve({ code: null, output: error.message }))
    child.once('close', (code) => {
      process.removeListener('exit', end)
      resolve({ code, output })
    })
  })
}
