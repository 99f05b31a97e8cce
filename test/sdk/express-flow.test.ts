import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as MerchantScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import express from 'express'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { startWorld, type World } from '../support/arcus.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
let world: World
let merchant: Server
let merchantUrl: string
let served = 0
/** The payment headers the merchant saw, to be presented again. */
const headers: string[] = []

beforeAll(async () => {
  world = await startWorld()
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: world.url })).register(
    network,
    new MerchantScheme(),
  )
  const price = { amount: '10000', asset, extra: { name: 'USDC', version: '2' } }
  const accepts = { scheme: 'exact', network, payTo: devnetMerchant.address, price } as const
  const app = express()
  app.use((request, _response, next) => {
    const header = request.headers['payment-signature']
    if (typeof header === 'string') headers.push(header)
    next()
  })
  const routes = {
    'GET /paid': { accepts, description: 'works', mimeType: 'application/json' },
    'GET /broken': { accepts, description: 'fails', mimeType: 'application/json' },
  }
  app.use(paymentMiddleware(routes, resources))
  app.get('/paid', (_request, response) => {
    served++
    response.json({ goods: true })
  })
  app.get('/broken', (_request, response) => {
    response.status(503).json({ goods: false })
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
beforeEach(() => {
  served = 0
  headers.length = 0
})

function aBuyer() {
  const client = x402Client.fromConfig({
    schemes: [{ network, client: new BuyerScheme(devnetPayer.account) }],
    spendControls: { allowedAssets: [{ network, asset }] },
  })
  return wrapFetchWithPayment(fetch, client)
}

const merchantBalance = () => usdcBalance(world.chainUrl, devnetMerchant.address)

it('the official buyer pays the official merchant and gets the answer and the transaction', async () => {
  const before = await merchantBalance()
  const response = await aBuyer()(`${merchantUrl}/paid`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ goods: true })
  const header = response.headers.get('PAYMENT-RESPONSE') as string
  expect(decodePaymentResponseHeader(header)).toMatchObject({
    success: true,
    network,
    payer: devnetPayer.address,
    transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  })
  expect((await merchantBalance()) - before).toBe(10_000n)
})

it('a failing handler is never charged', async () => {
  const before = await merchantBalance()
  const response = await aBuyer()(`${merchantUrl}/broken`)
  expect(response.status).toBe(503)
  expect(await merchantBalance()).toBe(before)
})

it('one payment presented to ten requests at once is served once', async () => {
  await aBuyer()(`${merchantUrl}/broken`)
  const payment = headers[0] as string
  const before = await merchantBalance()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      fetch(`${merchantUrl}/paid`, { headers: { 'PAYMENT-SIGNATURE': payment } }),
    ),
  )
  const bodies = await Promise.all(
    answers.map((answer) => answer.json() as Promise<{ goods?: boolean }>),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(bodies.filter((body) => body.goods === true)).toHaveLength(1)
  expect(served).toBeGreaterThan(0)
  expect((await merchantBalance()) - before).toBe(10_000n)
})
