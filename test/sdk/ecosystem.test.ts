import type { AddressInfo } from 'node:net'
import { x402Client as AxiosClient, wrapAxiosWithPayment } from '@x402/axios'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as MerchantScheme } from '@x402/evm/exact/server'
import { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402/express'
import { paymentMiddleware as honoMiddleware } from '@x402/hono'
import axios from 'axios'
import express from 'express'
import { Hono } from 'hono'
import { Mppx as MppClient } from 'mppx/client'
import { assets, evm as mppBuyer } from 'mppx/evm/client'
import { evm as mppSeller } from 'mppx/evm/server'
import { Mppx as MppServer } from 'mppx/server'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const payTo = devnetMerchant.address
const payer = privateKeyToAccount(devnetPayer.privateKey)
let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
})
afterAll(() => world?.stop())

const price = (amount: string) => ({ amount, asset, extra: { name: 'USDC', version: '2' } })
const selling = (amount: string) =>
  ({ scheme: 'exact', network, payTo, price: price(amount) }) as const

/** The official client of the facilitator; it keeps what it was asked. */
function aFacilitator() {
  const client = new HTTPFacilitatorClient({ url: world.url })
  const asked: string[] = []
  const verify: typeof client.verify = (...args) => {
    asked.push('verify')
    return client.verify(...args)
  }
  const settle: typeof client.settle = (...args) => {
    asked.push('settle')
    return client.settle(...args)
  }
  return { asked, verify, settle, getSupported: () => client.getSupported() }
}

const aSeller = (facilitator = aFacilitator()) =>
  new x402ResourceServer(facilitator).register(network, new MerchantScheme())

/** A buyer who pays with the official package, over the network or straight to a handler. */
function aBuyer(send: typeof fetch = fetch) {
  return payingBy(new BuyerScheme(payer), { send })
}

/** Expects the goods, a receipt of the payment, and the price on the merchant's account to the unit. */
async function expectSale(amount: bigint, buy: () => Promise<Response>) {
  const balances = () =>
    Promise.all([payer.address, payTo].map((it) => usdcBalance(world.chainUrl, it)))
  const before = await balances()
  const response = await buy()
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ goods: true })
  const after = await balances()
  expect(after.map((balance, i) => balance - (before[i] ?? 0n))).toEqual([-amount, amount])
  return response
}

const receiptOf = (response: Response) =>
  decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') as string)
const aReceipt = { success: true, network, transaction: expect.stringMatching(/^0x\w{64}$/) }

async function withServer<T>(app: express.Express, use: (url: string) => Promise<T>): Promise<T> {
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/paid`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

it('@x402/hono sells to @x402/fetch', async () => {
  const app = new Hono()
  app.use(honoMiddleware({ 'GET /paid': { accepts: selling('1001') } }, aSeller()))
  app.get('/paid', (context) => context.json({ goods: true }))
  const send = async (input: string | URL | Request, init?: RequestInit) =>
    app.fetch(new Request(input, init))
  const response = await expectSale(1_001n, () => aBuyer(send)('http://shop.test/paid'))
  expect(receiptOf(response)).toMatchObject(aReceipt)
})

it('@x402/express sells to @x402/axios', async () => {
  const app = express()
  app.use(expressMiddleware({ 'GET /paid': { accepts: selling('1003') } }, aSeller()))
  app.get('/paid', (_request, response) => void response.json({ goods: true }))
  await withServer(app, async (url) => {
    // It brings an older core of its own, too.
    const client = AxiosClient.fromConfig({
      schemes: [{ network, client: new BuyerScheme(payer) as never }],
    })
    const buyer = wrapAxiosWithPayment(axios.create(), client)
    const response = await expectSale(1_003n, async () => {
      const { status, data, headers } = await buyer.get(url)
      const receipt = String(headers['payment-response'])
      return Response.json(data, { status, headers: { 'PAYMENT-RESPONSE': receipt } })
    })
    expect(receiptOf(response)).toMatchObject(aReceipt)
  })
})

it('@x402/express charges no failed call, and delivers once to ten requests with one payment', async () => {
  const headers: string[] = []
  const app = express()
  app.use((request, _response, next) => {
    const header = request.headers['payment-signature']
    if (typeof header === 'string') headers.push(header)
    next()
  })
  app.use(expressMiddleware({ 'GET /paid': { accepts: selling('1006') } }, aSeller()))
  app.get('/paid', (_request, response) => {
    const isFirst = headers.length === 1
    response.status(isFirst ? 503 : 200).json({ goods: !isFirst })
  })
  await withServer(app, async (url) => {
    const before = await usdcBalance(world.chainUrl, payTo)
    expect((await aBuyer()(url)).status).toBe(503)
    expect(await usdcBalance(world.chainUrl, payTo)).toBe(before)
    const again = { headers: { 'PAYMENT-SIGNATURE': headers[0] as string } }
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(url, again)))
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    expect(texts.filter((text) => text.includes('true'))).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await usdcBalance(world.chainUrl, payTo)).toBe(before + 1_006n)
  })
})

it('settles without a verify for a seller whose payment flow is upfront', async () => {
  const facilitator = aFacilitator()
  const { price, ...rest } = selling('1004')
  const upfront = { ...price, extra: { ...price.extra, paymentFlow: 'upfront' } }
  const app = express()
  app.use(
    expressMiddleware(
      { 'GET /paid': { accepts: { ...rest, price: upfront } } },
      aSeller(facilitator),
    ),
  )
  app.get('/paid', (_request, response) => void response.json({ goods: true }))
  await withServer(app, async (url) => {
    const response = await expectSale(1_004n, () => aBuyer()(url))
    expect(receiptOf(response)).toMatchObject(aReceipt)
  })
  expect(facilitator.asked).toEqual(['settle'])
})

const arcUsdc = () =>
  assets.define({
    address: asset,
    decimals: 6,
    network,
    transfer: { type: 'eip3009', name: 'USDC', version: '2' },
  })

/** A seller by the EVM charge of mppx, which verifies and settles by this facilitator. */
function anMppSeller() {
  const methods = mppSeller({
    currency: arcUsdc(),
    recipient: payTo,
    x402: { facilitator: world.url },
  })
  const server = MppServer.create({ methods, secretKey: 'a secret of 32 bytes for this test' })
  return async (input: string | URL | Request, init?: RequestInit) => {
    const result = await server.charge({ amount: '0.001005' })(new Request(input, init))
    if (result.status === 402) return result.challenge
    return result.withReceipt(Response.json({ goods: true }))
  }
}

it('mppx sells to mppx by its EVM charge, with this facilitator behind it', async () => {
  const send = anMppSeller()
  const methods = mppBuyer({ account: payer, currencies: [arcUsdc()], maxAmount: '0.01' })
  const buyer = MppClient.create({ methods: [methods], fetch: send, polyfill: false })
  const response = await expectSale(1_005n, () => buyer.fetch('http://shop.test/paid'))
  expect(response.headers.get('Payment-Receipt')).toMatch(/\w{40}/)
})

it('mppx sells to @x402/fetch, with this facilitator behind it', async () => {
  const send = anMppSeller()
  const response = await expectSale(1_005n, () => aBuyer(send)('http://shop.test/paid'))
  expect(receiptOf(response)).toMatchObject(aReceipt)
})

it('dollars alone are no price on Arc for the official packages before 2.28.0', async () => {
  // When this fails, the packages here are 2.28.0 or newer: then the snippets of the documents may say "$0.01".
  await expect(new MerchantScheme().parsePrice('$0.01', network)).rejects.toThrow(
    /No default asset.*eip155:5042|eip155:5042.*default asset/,
  )
})
