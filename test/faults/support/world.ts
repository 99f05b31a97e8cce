import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { expect } from 'vitest'
import { devnetPayer, devnetRelayers } from '../../../src/devnet/accounts.js'
import { startAnvil, startBlockProducer } from '../../../src/devnet/anvil.js'
import { mintToken, placeContracts } from '../../../src/devnet/fixtures.js'
import { freePort } from '../../../src/devnet/process.js'
import { call } from '../../../src/devnet/rpc.js'
import { type Audit, audit } from './audit.js'
import { pause } from './behaviours.js'
import { type Client, createClient } from './client.js'
import { allowPayments, asset, type SignedPayment } from './payments.js'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.js'
import { type Service, startService } from './service.js'

/** A chain, proxies before it, a service behind them and a client of the service. */
export interface World {
  chainUrl: string
  proxy: RpcProxy
  /** A second way to the same chain, if asked for. */
  spare: RpcProxy | undefined
  client: Client
  databasePath: string
  service(): Service
  /** Starts the service again on the same database and port; with other relayer keys, if given. */
  restart(relayerKeys?: readonly Hex[]): Promise<void>
  /** Stops making blocks; gives how to go on. */
  holdBlocks(): Promise<() => Promise<void>>
  close(): Promise<void>
}

export interface WorldOptions {
  relayers?: number
  /** Two proxies to the one chain instead of one. */
  hasSpare?: boolean
  blockMs?: number
  env?: NodeJS.ProcessEnv
  databaseFolder?: string
  /** Another database than a file of its own. */
  databaseUrl?: string
}

/** Shorter than usual, so that merchants ask again while a fault lasts. */
const SETTLE_WAIT_SECONDS = '6'
const BLOCK_MS = 250
const BASE_FEE_WEI = 20n * 10n ** 9n
const PAYER_MONEY = 1_000_000_000_000n
/** How long a case waits for what takes a few seconds on a machine with nothing else to do. */
const PATIENCE_MS = 30_000

/** Starts everything afresh, so that no case inherits the trouble of another. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { relayers = 1, blockMs = BLOCK_MS } = options
  const anvil = await startAnvil({ mining: 'manual', baseFeeWei: BASE_FEE_WEI })
  await placeContracts(anvil.url)
  await mintToken(anvil.url, asset, devnetPayer.address, PAYER_MONEY)
  let producer = await startBlockProducer({ url: anvil.url, intervalMs: blockMs })
  await allowPayments(anvil.url)
  const proxy = await startRpcProxy(anvil.url)
  const spare = options.hasSpare === true ? await startRpcProxy(anvil.url) : undefined
  const folder = mkdtempSync(join(options.databaseFolder ?? tmpdir(), 'arcus-faults-'))
  const databasePath = join(folder, 'arcus.db')
  const port = await freePort()
  const keys = devnetRelayers.slice(0, relayers).map(({ privateKey }) => privateKey)
  const start = (relayerKeys: readonly Hex[] = keys) =>
    startService({
      port,
      rpcUrls: [proxy, ...(spare === undefined ? [] : [spare])].map(({ url }) => url),
      relayerKeys,
      databaseUrl: options.databaseUrl ?? `sqlite:${databasePath}`,
      env: { SETTLE_WAIT_SECONDS, ...options.env },
    })
  let service = await start()
  const client = createClient(service.url)
  return {
    chainUrl: anvil.url,
    proxy,
    spare,
    client,
    databasePath,
    service: () => service,
    async restart(relayerKeys) {
      service = await start(relayerKeys)
    },
    async holdBlocks() {
      await producer.stop()
      return async () => {
        producer = await startBlockProducer({ url: anvil.url, intervalMs: blockMs })
      }
    },
    async close() {
      await client.close()
      // What is under way is nobody's any more; SIGTERM has tests of its own.
      await service.crash()
      await Promise.all([proxy.close(), spare?.close(), producer.stop()])
      await anvil.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The parts of a world that an audit reads. */
export type AuditedWorld = Pick<World, 'client' | 'chainUrl' | 'proxy' | 'spare'>

export interface Expectation {
  /** A crash may repeat a success; nothing else may. */
  mayRepeat?: boolean
}

/**
 * Checks the promise after every fault: each payment comes on chain exactly once, each is told as success exactly once
 * with its hash, and `GET /payments` says so too. It takes a few seconds; the limit is for a machine that stands still.
 */
export async function expectAllSettledAndTrue(
  world: AuditedWorld,
  payments: readonly SignedPayment[],
  { mayRepeat = false }: Expectation = {},
): Promise<void> {
  const { client } = world
  await client.settleUntilTold(payments, PATIENCE_MS)
  const report = await auditWorld(world, payments)
  if (mayRepeat) report.repeatedSuccesses = []
  expect(report).toEqual({
    onChain: everyPayment(world, payments).length,
    falseSuccesses: [],
    paidButToldFailed: [],
    falseHashes: [],
    repeatedSuccesses: [],
    swallowedSuccesses: [],
    falseTransfers: [],
  })
  const views = await Promise.all(payments.map((payment) => client.findPayment(payment)))
  const stuck = views.filter((view) => view?.state !== 'confirmed')
  expect(stuck).toEqual([])
}

/** Compares chain and answers for these payments and for all that were ever settled here. */
export function auditWorld(
  world: AuditedWorld,
  payments: readonly SignedPayment[] = [],
): Promise<Audit> {
  const { client, chainUrl, proxy, spare } = world
  const sentAt = new Map([...(spare?.sentAt ?? []), ...proxy.sentAt])
  const { answers } = client
  return audit({ payments: everyPayment(world, payments), answers, sentAt, chainUrl })
}

function everyPayment(
  { client }: AuditedWorld,
  payments: readonly SignedPayment[],
): SignedPayment[] {
  return [...new Set([...client.answers.map(({ payment }) => payment), ...payments])]
}

export async function chainHead(url: string): Promise<number> {
  return Number(await call<string>(url, 'eth_blockNumber'))
}

/** Waits for something to come true, a few milliseconds at a time. */
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for: ${what}`)
    await pause(5)
  }
}

/**
 * Does something between the claim of a payment and the signature of its transaction, once. The gas money of the wallet is
 * the last thing that is asked for before. Returns how to lift the hold.
 */
export function betweenClaimAndSignature(
  { proxy, client }: World,
  payment: SignedPayment,
  act: () => Promise<void>,
): () => void {
  const actOnceClaimed = async () => {
    await until('it is claimed', async () => (await client.findPayment(payment)) !== undefined)
    await act()
  }
  let acted: Promise<void> | undefined
  return proxy.onCall('eth_getBalance', 'before', () => {
    acted ??= actOnceClaimed()
    return acted
  })
}
