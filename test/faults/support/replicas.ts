import { devnetPayer, devnetRelayers } from '../../../src/devnet/accounts.js'
import { startAnvil, startBlockProducer } from '../../../src/devnet/anvil.js'
import { mintToken, placeContracts } from '../../../src/devnet/fixtures.js'
import { freePort } from '../../../src/devnet/process.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import { pause } from './behaviours.js'
import { type Client, createClient } from './client.js'
import { allowPayments, aSignedPayment, asset, type SignedPayment } from './payments.js'
import { startRpcProxy } from './rpc-proxy.js'
import { type Service, startService } from './service.js'
import type { AuditedWorld } from './world.js'

/** Several replicas on one PostgreSQL and one chain, and a client that asks any of them. */
export interface Replicas extends AuditedWorld {
  postgres: PostgresServer
  databaseUrl: string
  service(i: number): Service
  /** Starts a replica again on its port. */
  restart(i: number): Promise<void>
  close(): Promise<void>
}

const BASE_FEE_WEI = 20n * 10n ** 9n
const BLOCK_MS = 250
const PAYER_MONEY = 1_000_000_000_000n

export async function startReplicas(options: {
  replicas: number
  relayers: number
  env?: NodeJS.ProcessEnv
  /** Where they listen; free ports unless given. */
  ports?: readonly number[]
  /** The address that the client asks, of a balancer; each of them unless given. */
  frontUrl?: string
  /** Settings of one replica beside those of all. */
  envOf?: (replica: number, databaseUrl: string) => NodeJS.ProcessEnv | Promise<NodeJS.ProcessEnv>
}): Promise<Replicas> {
  const ends: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end()
  }
  try {
    return { ...(await build(options, ends)), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Notes how to end each part, last started last. */
async function build(
  options: Parameters<typeof startReplicas>[0],
  ends: (() => Promise<unknown>)[],
): Promise<Omit<Replicas, 'close'>> {
  const postgres = await startPostgres({ isDurable: true })
  ends.push(postgres.close)
  const databaseUrl = await postgres.createDatabase({ isEmpty: true })
  const anvil = await startAnvil({ mining: 'manual', baseFeeWei: BASE_FEE_WEI })
  ends.push(anvil.stop)
  await placeContracts(anvil.url)
  await mintToken(anvil.url, asset, devnetPayer.address, PAYER_MONEY)
  const producer = await startBlockProducer({ url: anvil.url, intervalMs: BLOCK_MS })
  ends.push(producer.stop)
  await allowPayments(anvil.url)
  const proxy = await startRpcProxy(anvil.url)
  ends.push(proxy.close)
  const relayerKeys = devnetRelayers.slice(0, options.relayers).map(({ privateKey }) => privateKey)
  const env = { SETTLE_WAIT_SECONDS: '6', ...options.env }
  const start = async (port: number, i: number) => {
    const own = await options.envOf?.(i, databaseUrl)
    const rpcUrls = [proxy.url]
    return startService({ port, rpcUrls, relayerKeys, databaseUrl, env: { ...env, ...own } })
  }
  const ports = [...(options.ports ?? [])]
  while (ports.length < options.replicas) ports.push(await freePort())
  const services: Service[] = []
  ends.push(() => Promise.all(services.map((service) => service.crash())))
  // At once: all of them find an empty database, one makes the schema.
  const started = await Promise.allSettled(ports.map(start))
  for (const result of started) if (result.status === 'fulfilled') services.push(result.value)
  const failed = started.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  const urls = options.frontUrl === undefined ? services.map(({ url }) => url) : [options.frontUrl]
  const client = createClient(...(urls as [string]))
  ends.push(client.close)
  return {
    postgres,
    databaseUrl,
    chainUrl: anvil.url,
    proxy,
    spare: undefined,
    client,
    service: (i) => services[i] as Service,
    async restart(i) {
      services[i] = await start(ports[i] as number, i)
    },
  }
}

/** Payments that are made one after another, each asked for until it is told. */
export interface Load {
  payments: SignedPayment[]
  /** Returns how many were asked for until they were told or given up. */
  countTold(): number
  /** Returns the longest time from the first question to success, milliseconds, of the payments since the last call. */
  worstMs(): number
  /** Stops beginning payments. Resolves when all are told or given up. */
  end(): Promise<void>
}

/** Begins a payment every so many milliseconds. */
export function startLoad(client: Client, everyMs: number, patienceMs: number): Load {
  const payments: SignedPayment[] = []
  const told: Promise<void>[] = []
  let worst = 0
  let count = 0
  let isOver = false

  async function pay(): Promise<void> {
    const payment = await aSignedPayment()
    payments.push(payment)
    const askedAt = performance.now()
    await client.settleUntilTold([payment], patienceMs)
    worst = Math.max(worst, performance.now() - askedAt)
    count++
  }

  const load = (async () => {
    while (!isOver) {
      told.push(pay())
      await pause(everyMs)
    }
  })()
  return {
    payments,
    countTold: () => count,
    worstMs() {
      const found = worst
      worst = 0
      return found
    },
    async end() {
      isOver = true
      await load
      await Promise.all(told)
    },
  }
}
