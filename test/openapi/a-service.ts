import type { FastifyInstance } from 'fastify'
import { compose } from '../../src/app/compose.js'
import { readSettings } from '../../src/app/config/config.js'
import { createLogger } from '../../src/app/logger.js'
import { devnetMerchant, devnetRelayers } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import type { OpenApiDocument } from '../../src/http/openapi.js'
import { startServer, type TestServer } from '../support/a-server.js'
import { startChain } from '../support/arcus.js'

export interface TestService {
  app: FastifyInstance
  document: OpenApiDocument
  chainUrl: string
  close(): Promise<void>
}

/** The whole service over a real chain, in this process: its answers are read without a network between. */
export async function startService(env: Record<string, string> = {}): Promise<TestService> {
  const chain = await startChain()
  const { config, secrets } = readSettings({
    MAINNET_RPC_URLS: chain.url,
    RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
    DATABASE_URL: 'sqlite::memory:',
    PROBE_ALLOW_PRIVATE_HOSTS: 'true',
    RATE_LIMIT_MAX: '0',
    SETTLE_WAIT_SECONDS: '5',
    ...env,
  })
  const { app, close } = await compose(config, secrets, createLogger({ level: 'silent' }))
  await app.ready()
  return {
    app,
    document: (await app.inject('/openapi.json')).json(),
    chainUrl: chain.url,
    async close() {
      await app.close()
      await close()
      await chain.stop()
    },
  }
}

/** A merchant's server that asks a cent for whatever it is asked. */
export async function startMerchant(): Promise<TestServer> {
  const requirement = {
    scheme: 'exact',
    network: 'eip155:5042',
    amount: '10000',
    asset: devnetContracts.usdc,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  }
  return startServer((request, response) => {
    const required = { x402Version: 2, resource: { url: request.url }, accepts: [requirement] }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
}
