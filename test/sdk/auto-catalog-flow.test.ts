import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { BatchSettlementEvmScheme as ChannelMerchant } from '@x402/evm/batch-settlement/server'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as MerchantScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  withBazaar,
} from '@x402/extensions/bazaar'
import express from 'express'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const merchantId = `payto-${devnetMerchant.address.toLowerCase()}`
const stranger: Address = '0x00000000000000000000000000000000000a11ce'
const inputSchema = {
  properties: { city: { type: 'string' } },
  required: ['city'],
}

let world: World
let merchant: Server
let merchantUrl: string
const called: string[] = []

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: world.url }))
    .register(network, new MerchantScheme())
    .register(
      network,
      new ChannelMerchant(devnetMerchant.address, { receiverAuthorizerSigner: anAccount() }),
    )
    .registerExtension(bazaarResourceServerExtension)
  const price = { amount: '10000', asset, extra: { name: 'USDC', version: '2' } }
  const accepts = { scheme: 'exact', network, payTo: devnetMerchant.address, price } as const
  const declared = {
    input: { city: 'Lisbon' },
    inputSchema,
    output: { example: { celsius: 21 } },
  } as Parameters<typeof declareDiscoveryExtension>[0]
  const metered = {
    accepts: { ...accepts, scheme: 'batch-settlement' },
    description: 'Skies by the degree',
    mimeType: 'application/json',
    extensions: declareDiscoveryExtension(declared),
  } as const
  const app = express()
  const routes = {
    'GET /weather': {
      accepts,
      description: 'Skies by the city',
      mimeType: 'application/json',
      extensions: declareDiscoveryExtension(declared),
    },
  }
  const purchase = {
    accepts,
    description: 'One purchase',
    mimeType: 'application/json',
    extensions: declareDiscoveryExtension(declared),
  }
  app.use((request, _response, next) => {
    called.push(request.url)
    next()
  })
  app.use(
    paymentMiddleware(
      { ...routes, 'GET /metered': metered, 'GET /purchase/:id': purchase },
      resources,
    ),
  )
  app.get('/purchase/:id', (_request, response) => {
    response.json({ sold: true })
  })
  app.get('/metered', (_request, response) => {
    setSettlementOverrides(response, { amount: '2500' })
    response.json({ celsius: 21 })
  })
  app.get('/weather', (_request, response) => {
    response.json({ celsius: 21 })
  })
  app.get('/free', (_request, response) => {
    response.json({})
  })
  await new Promise<void>((resolve) => {
    merchant = app.listen(0, '127.0.0.1', () => resolve())
  })
  merchantUrl = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`
})

afterAll(async () => {
  merchant.close()
  merchant.closeAllConnections()
  await world.stop()
})

/** A buyer of his own making, who writes what he likes beside a payment that is right. */
async function payBesides(
  url: string,
  words: Record<string, unknown>,
  payTo?: Address,
  value = 1n,
) {
  const terms = payTo === undefined ? {} : { to: payTo, requirement: { payTo } }
  const payment = await aSignedPayment({
    ...terms,
    value,
    requirement: { amount: String(value), ...(payTo === undefined ? {} : { payTo }) },
  })
  Object.assign(payment.paymentPayload, {
    resource: { url, ...words },
    extensions: {
      bazaar: {
        info: { input: { type: 'http', method: 'GET', queryParams: { city: 'Evil' } } },
        schema: { type: 'object' },
      },
    },
  })
  const answer = await world.post('/settle', payment)
  expect(answer.body).toMatchObject({ success: true })
  const header = answer.headers.get('EXTENSION-RESPONSES') as string
  return JSON.parse(Buffer.from(header, 'base64').toString()).bazaar
}

const listed = async (query = '') => (await world.get(`/discovery/resources${query}`)).body.items

it('lists the resource that the official buyer paid for at the official merchant, within seconds, with the texts of its 402', async () => {
  const buy = payingBy(new BuyerScheme(devnetPayer.account))
  expect((await buy(`${merchantUrl}/weather?city=Porto`)).status).toBe(200)
  await vi.waitUntil(async () => (await listed()).length === 1, { timeout: 15_000, interval: 50 })
  const [item] = await listed()
  expect(item).toMatchObject({
    resource: `${merchantUrl}/weather`,
    accepts: [{ amount: '10000', payTo: devnetMerchant.address }],
    metadata: {
      title: 'GET /weather',
      description: 'Skies by the city',
      provider: expect.stringMatching(/^0x[0-9a-f]{4}…[0-9a-f]{4}$/),
      merchant: { id: merchantId },
      input: { type: 'http', method: 'GET', queryParams: { city: 'Lisbon' } },
      inputSchema,
    },
    mimeType: 'application/json',
    extensions: { bazaar: expect.any(Object) },
  })
  const bazaar = withBazaar(new HTTPFacilitatorClient({ url: world.url })).extensions.bazaar
  const found = await bazaar.listResources({ extensions: 'bazaar', payTo: devnetMerchant.address })
  expect(found.pagination?.total).toBe(1)
})

it('fails a resource whose first probe finds a fault: it is not listed, but found by name, with the reason', async () => {
  const words = { serviceName: 'Great Bank', description: 'Official' }
  expect(await payBesides(`${merchantUrl}/free`, words, stranger)).toEqual({
    status: 'processing',
  })
  const id = `payto-${stranger}`
  const state = async () => (await world.get(`/api/merchants/${id}`)).body.endpoints?.[0]?.state
  await vi.waitUntil(async () => (await state())?.status === 'failing', {
    timeout: 15_000,
    interval: 50,
  })
  expect(await state()).toMatchObject({
    probe: { verdict: 'not_402', message: expect.stringContaining('answered 200') },
    nextProbeAt: expect.any(Number),
  })
  expect(await listed()).toHaveLength(1)
  expect(await listed(`?merchant=${id}`)).toMatchObject([{ status: 'failing' }])
  expect(await listed(`?payTo=${stranger}`)).toHaveLength(1)
  const { merchants } = (await world.get('/api/merchants')).body
  expect(merchants.map((it: { id: string }) => it.id)).toEqual([merchantId])
  // The facilitator learns of it with the payment before.
  await payBesides(`${merchantUrl}/free`, words, stranger)
  await expect
    .poll(() => payBesides(`${merchantUrl}/free`, words, stranger))
    .toEqual({
      status: 'rejected',
      rejectedReason: expect.stringMatching(/^a probe of it found: The endpoint answered 200/),
    })
})

it('probes a route at the path that was bought, and finds it under that path and under its template', async () => {
  called.length = 0
  const buy = payingBy(new BuyerScheme(devnetPayer.account))
  expect((await buy(`${merchantUrl}/purchase/5?session=secret`)).status).toBe(200)
  const resource = `${merchantUrl}/purchase/:id`
  const item = await vi.waitUntil(
    async () => (await listed()).find((it: { resource: string }) => it.resource === resource),
    { timeout: 15_000, interval: 50 },
  )
  expect(item).toMatchObject({
    metadata: { input: { method: 'GET', pathParams: { id: '5' } } },
    extensions: {
      bazaar: { routeTemplate: '/purchase/:id', info: { input: { pathParams: { id: '5' } } } },
    },
  })
  expect(item).not.toHaveProperty('status')
  expect(JSON.stringify(item)).not.toContain('secret')
  const probes = called.filter((url) => !url.includes('session'))
  expect(probes.length).toBeGreaterThan(0)
  for (const url of probes) expect(url).toMatch(/^\/purchase\/5(\?|$)/)
  for (const path of ['/purchase/5', '/purchase/99?x=1', '/purchase/:id']) {
    const asked = new URLSearchParams({ resource: `${merchantUrl}${path}` })
    const { body } = await world.get(`/discovery/status?${asked}`)
    expect(body.entries, path).toMatchObject([{ url: resource, status: 'live', isListed: true }])
  }
  const other = new URLSearchParams({ resource: `${merchantUrl}/purchase/5/6` })
  expect((await world.get(`/discovery/status?${other}`)).body.entries).toEqual([])
})
