import { devnetPayer, devnetRelayers } from '../../../src/devnet/accounts.js'
import { startAnvil, startBlockProducer } from '../../../src/devnet/anvil.js'
import { mintUsdc, placeContracts } from '../../../src/devnet/fixtures.js'
import { freePort } from '../../../src/devnet/process.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import { createClient } from './client.js'
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
const PAYER_USDC = 1_000_000_000_000n

export async function startReplicas(options: {
  replicas: number
  relayers: number
  env?: NodeJS.ProcessEnv
  /** Settings of one replica beside those of all. */
  envOf?: (replica: number) => NodeJS.ProcessEnv
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
  await mintUsdc(anvil.url, devnetPayer.address, PAYER_USDC)
  const producer = await startBlockProducer({ url: anvil.url, intervalMs: BLOCK_MS })
  ends.push(producer.stop)
  const proxy = await startRpcProxy(anvil.url)
  ends.push(proxy.close)
  const relayerKeys = devnetRelayers.slice(0, options.relayers).map(({ privateKey }) => privateKey)
  const env = { SETTLE_WAIT_SECONDS: '6', ...options.env }
  const start = (port: number, i: number) =>
    startService({
      port,
      rpcUrls: [proxy.url],
      relayerKeys,
      databaseUrl,
      env: { ...env, ...options.envOf?.(i) },
    })
  const ports: number[] = []
  for (let i = 0; i < options.replicas; i++) ports.push(await freePort())
  const services: Service[] = []
  ends.push(() => Promise.all(services.map((service) => service.stop())))
  // At once: all of them find an empty database, one makes the schema.
  const started = await Promise.allSettled(ports.map(start))
  for (const result of started) if (result.status === 'fulfilled') services.push(result.value)
  const failed = started.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  const client = createClient(...(services.map(({ url }) => url) as [string]))
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
