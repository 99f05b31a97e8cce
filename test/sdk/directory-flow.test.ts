import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { withBazaar } from '@x402/extensions/bazaar'
import { createWalletClient, http, publicActions } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, readArtifact } from '../../src/devnet/fixtures.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const network = 'eip155:5042'
const requirement = {
  scheme: 'exact',
  network,
  amount: '10000',
  asset: devnetContracts.usdc,
  payTo: devnetMerchant.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

let world: World
let merchant: Server
let paidUrl: string

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  merchant = createServer((request, response) => {
    const required = { x402Version: 2, resource: { url: request.url }, accepts: [requirement] }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => merchant.listen(0, '127.0.0.1', resolve))
  paidUrl = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`
})

afterAll(async () => {
  merchant.close()
  await world.stop()
})

const client = (signer = devnetMerchant.account) =>
  createListingClient({
    directoryUrl: world.url,
    // The service was told no public name, so it goes by the default one.
    audience: `http://localhost:${new URL(world.url).port}`,
    signer,
  })

/** Signs in, and reads as who did. */
async function signIn({ account } = devnetMerchant) {
  const { nonce, domain, uri, chainId } = (await world.get('/api/session/nonce')).body
  const message = createSiweMessage({
    address: account.address,
    ...{ nonce, domain, uri, chainId, version: '1', issuedAt: new Date() },
  })
  const signed = await world.post('/api/session', {
    message,
    signature: await account.signMessage({ message }),
  })
  const cookie = String(signed.headers.get('set-cookie')).split(';')[0] as string
  return async (path: string) => {
    const answer = await fetch(world.url + path, { headers: { cookie } })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
}

const listing = () => ({
  name: 'Weather house',
  description: 'Skies by the city',
  payTo: devnetMerchant.address,
  endpoints: [
    {
      url: `${paidUrl}/weather`,
      method: 'GET' as const,
      title: 'Weather',
      price: '10000',
      example: { queryParams: { city: 'Lisbon' } },
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      output: { type: 'json' },
    },
  ],
})

async function pay(url: string, extensions?: Record<string, unknown>) {
  const payment = await aSignedPayment()
  Object.assign(payment.paymentPayload, {
    resource: { url },
    ...(extensions === undefined ? {} : { extensions }),
  })
  return world.post('/settle', payment)
}

it('lists what an owner signs, in the very next answer of discovery and catalog', async () => {
  await client().save('weather-house', listing())
  const found = await world.get('/discovery/resources?q=LISBON%20x')
  expect(found.body.pagination.total).toBe(0)
  const { body } = await world.get('/discovery/resources?q=WEATHER%20skies')
  expect(body).toMatchObject({
    x402Version: 2,
    items: [
      {
        resource: `${paidUrl}/weather`,
        accepts: [requirement],
        metadata: {
          provider: 'Weather house',
          merchant: { id: 'weather-house', official: false, identity: null },
          input: { type: 'http', method: 'GET', queryParams: { city: 'Lisbon' } },
        },
      },
    ],
    pagination: { limit: 20, offset: 0, total: 1 },
  })
  const catalog = await world.get('/api/merchants')
  expect(catalog.body.merchants[0]).toMatchObject({
    id: 'weather-house',
    endpoints: [{ method: 'GET', price: '10000', priceUsd: 0.01, params: ['city'] }],
  })
})

it('is read by the official client', async () => {
  const bazaar = withBazaar(new HTTPFacilitatorClient({ url: world.url })).extensions.bazaar
  expect((await bazaar.listResources({ network })).pagination?.total).toBe(1)
  expect((await bazaar.search({ query: 'weather' })).resources).toHaveLength(1)
})

it('counts a payment for its endpoint, once, and shows it to the owner who signs in', async () => {
  expect((await pay(`${paidUrl}/weather?city=Porto`)).body.success).toBe(true)
  const settled = async () =>
    (await world.get('/api/merchants/weather-house/stats')).body.all.settled
  await vi.waitUntil(async () => (await settled()) === 1, { timeout: 15_000, interval: 100 })
  const read = await signIn()
  const { items } = (await read('/api/merchants/weather-house/activity/table')).body
  expect(items).toMatchObject([
    {
      kind: 'settle',
      state: 'settled',
      usd: '0.01',
      payer: devnetPayer.address,
      resource: `${paidUrl}/weather`,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    },
  ])
})

it('shows the income of an address to nobody who lists it, until the key of the address consents', async () => {
  const copyist = devnetPayer
  await client(copyist.account).save('copy-house', { ...listing(), name: 'Copy house' })
  expect((await pay(`${paidUrl}/weather?city=Porto`)).body.success).toBe(true)
  const settled = async (id: string) =>
    (await world.get(`/api/merchants/${id}/stats`)).body.all.settled
  await vi.waitUntil(async () => (await settled('weather-house')) === 2, {
    timeout: 15_000,
    interval: 100,
  })
  expect(await settled('copy-house')).toBe(0)
  const read = await signIn(copyist)
  expect(await read('/api/merchants/copy-house/activity')).toMatchObject({
    status: 403,
    body: { error: 'pay_to_unproven' },
  })
  await client().confirmPayTo('copy-house', copyist.address)
  expect(await read('/api/merchants/copy-house/activity/table')).toMatchObject({
    status: 200,
    body: { items: [] },
  })
  await client(copyist.account).delete('copy-house')
})

it('shows its status to people, and shows their browsers where they are', async () => {
  const { body } = await world.get('/api/status')
  expect(body).toMatchObject({
    status: 'ready',
    networks: [{ network, chainId: 5042, name: 'Arc', queueLength: 0 }],
    settling: { hour: { settled: 2, failed: 0, successRate: 1 }, day: { settled: 2 } },
  })
  const [{ block, lanes }] = body.networks
  expect(block.number).toBeGreaterThan(0)
  for (const lane of lanes) expect(lane).toMatchObject({ state: 'open', inFlight: 0 })
  expect(lanes.map(({ balanceUsd }: { balanceUsd: string }) => Number(balanceUsd))).toEqual(
    expect.arrayContaining([expect.any(Number)]),
  )
  const settings = await world.get('/api/console')
  expect(settings.body).toMatchObject({
    devnet: false,
    networks: [
      {
        listed: true,
        walletRpcUrls: ['https://rpc.mainnet.arc.io'],
        explorerUrl: 'https://explorer.arc.io',
        asset: { address: devnetContracts.usdc, name: 'USDC', version: '2' },
      },
    ],
  })
  for (const text of [JSON.stringify(body), JSON.stringify(settings.body)]) {
    expect(text).not.toContain(new URL(world.chainUrl).host)
  }
})

it('lists the resource of a payment until an owner lists it, and says so to the merchant', async () => {
  const bazaar = {
    info: {
      input: { type: 'http', method: 'GET', queryParams: { star: 'Vega' } },
      output: { type: 'json' },
    },
    schema: {
      type: 'object',
      properties: { input: { type: 'object' }, output: { type: 'object' } },
      required: ['input'],
    },
  }
  expect((await world.get('/supported')).body.extensions).toContain('bazaar')
  const answer = await pay(`${paidUrl}/stars?star=Vega`, { bazaar })
  const header = answer.headers.get('EXTENSION-RESPONSES') as string
  expect(JSON.parse(Buffer.from(header, 'base64').toString())).toEqual({
    bazaar: { status: 'processing' },
  })
  const items = async () => (await world.get('/discovery/resources')).body.items
  await vi.waitUntil(async () => (await items()).length === 2, { timeout: 15_000, interval: 100 })
  const unclaimed = (await items())[1]
  expect(unclaimed).toMatchObject({ resource: `${paidUrl}/stars`, accepts: [requirement] })
  expect(unclaimed.metadata.merchant.id).toBe(`payto-${devnetMerchant.address.toLowerCase()}`)
  const [weather] = listing().endpoints
  const both = [weather, { ...weather, url: `${paidUrl}/stars`, title: 'Stars' }]
  await client().save('weather-house', { ...listing(), endpoints: both as never })
  const providers = (await items()).map(
    (it: { metadata: { provider: string } }) => it.metadata.provider,
  )
  expect(providers).toEqual(['Weather house', 'Weather house'])
})

it('shows the agent the owner holds, and drops it when it is sold', async () => {
  const { abi } = readArtifact('MockIdentityRegistry')
  const chain = createWalletClient({
    account: devnetMerchant.account,
    transport: http(world.chainUrl),
  }).extend(publicActions)
  const address = devnetContracts.identityRegistry
  const send = async (functionName: string, args: unknown[]) => {
    const hash = await chain.writeContract({ address, abi, functionName, args, chain: null })
    await chain.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  }
  await send('register', [])
  await client().linkAgent('weather-house', '0')
  const identity = async () =>
    (await world.get('/discovery/resources')).body.items[0].metadata.merchant.identity
  await vi.waitUntil(async () => (await identity()) !== null, { timeout: 15_000, interval: 100 })
  expect(await identity()).toEqual({ agentId: '0' })
  await send('transferFrom', [devnetMerchant.address, devnetPayer.address, 0n])
  // Any write has the agent looked at again at once; else the events of the registry tell within a minute.
  await client().save('weather-house', listing())
  await vi.waitUntil(async () => (await identity()) === null, { timeout: 15_000, interval: 100 })
})
