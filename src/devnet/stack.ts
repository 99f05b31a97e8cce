import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  devnetBuyback,
  devnetHost,
  devnetMerchant,
  devnetPayer,
  devnetRelayers,
} from './accounts.js'
import { startAnvil } from './anvil-process.js'
import { describeExit, startArcus } from './arcus-process.js'
import { startBlockProducer } from './block-producer.js'
import type { ChildExit } from './child.js'
import { buildDashboard, type DashboardBuild } from './dashboard-build.js'
import { DevnetError } from './devnet-error.js'
import { clearCode, devnetContracts, fundNative, mintUsdc, placeContracts } from './fixtures.js'
import { requireFreePort } from './ports.js'
import { startSampleApi } from './sample-api.js'

export type StackOptions = {
  port: number
  rpcPort: number
  apiPort: number
  /** A live chain to fork, with the mock placed over its stablecoin. */
  forkUrl?: string
  /** What the person exported; goes on to Arcus. */
  env: NodeJS.ProcessEnv
}

export type Stack = {
  /** Ends everything, last started first. */
  stop(): Promise<void>
  /** Resolves with the reason when a part of it ends that nobody stopped. */
  failed: Promise<DevnetError>
  dashboard: DashboardBuild
  /** Settings with which a command of the operator finds what this Arcus keeps. */
  operatorEnv: Record<'DATABASE_URL' | 'MAINNET_RPC_URLS' | 'BUYBACK_ADDRESS', string>
}

// Gas for some 40,000 settlements each at 20 gwei.
const relayerFundsWei = 100n * 10n ** 18n
const payerFundsAtomic = 100n * 10n ** 6n
// For what metered calls did not use.
const hostFundsAtomic = 10n * 10n ** 6n
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
    const [chain, dashboard] = await Promise.all([startChain(options, stops), buildDashboard()])
    const arcus = await startService(options, chain.url, stops)
    await startMerchant(options.apiPort, host, arcus.url, stops)
    const failed = Promise.race([failure('anvil', chain.exited), failure('Arcus', arcus.exited)])
    const operatorEnv = {
      DATABASE_URL: arcus.databaseUrl,
      MAINNET_RPC_URLS: chain.url,
      BUYBACK_ADDRESS: options.env.BUYBACK_ADDRESS || devnetBuyback.address,
    }
    return { stop, failed, dashboard, operatorEnv }
  } catch (error) {
    await stop()
    throw error
  }
}

type Stops = (() => Promise<void> | void)[]

async function requireFreePorts(options: StackOptions, host: string): Promise<void> {
  const hint = (flag: string) => `stop the program that holds it, or choose another with ${flag}.`
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
  // On live chains somebody has delegated these public keys (EIP-7702) to code that sweeps them.
  const accounts = [...devnetRelayers, devnetPayer, devnetMerchant, devnetBuyback, devnetHost]
  await clearCode(
    url,
    accounts.map(({ address }) => address),
  )
  for (const { address } of devnetRelayers) await fundNative(url, address, relayerFundsWei)
  // A payer of x402 needs no gas; without any it shows.
  await fundNative(url, devnetPayer.address, 0n)
  await mintUsdc(url, devnetPayer.address, payerFundsAtomic)
  await mintUsdc(url, devnetHost.address, hostFundsAtomic)
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

async function startMerchant(port: number, host: string, facilitatorUrl: string, stops: Stops) {
  const api = await startSampleApi({
    port,
    host,
    facilitatorUrl,
    payTo: devnetMerchant.address,
    asset: devnetContracts.usdc,
    network: 'eip155:5042',
  })
  stops.push(api.stop)
}

async function failure(name: string, exited: Promise<ChildExit>): Promise<DevnetError> {
  const exit = await exited
  return new DevnetError(
    `${name} ended by itself (${describeExit(exit)}), so the rest was stopped.`,
  )
}
