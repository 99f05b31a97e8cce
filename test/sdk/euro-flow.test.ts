import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import { x402 } from '@arcus/merchant'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as MerchantScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  devnetBuyback,
  devnetHost,
  devnetMerchant,
  devnetPayer,
  devnetRelayers,
} from '../../src/devnet/accounts.js'
import {
  devnetContracts,
  mintToken,
  mintUsdc,
  placeContracts,
  readArtifact,
  tokenBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel } from '../support/a-channel.js'
import { aSignedPayment, type PaymentWish } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'
import { inEurc } from '../support/token.js'

const network = 'eip155:5042'
const { usdc, eurc } = devnetContracts
const testEurc = '0x89B50855Aa3bE2F677cD6303Cec089B5F319D72a'
let world: World
let merchant: Server
let merchantUrl: string

beforeAll(async () => {
  world = await startWorld({
    env: {
      MAINNET_ASSETS: `${usdc},${eurc}`,
      MIN_AMOUNT: '2,EURC:3',
      PROBE_ALLOW_PRIVATE_HOSTS: 'true',
      // One lane: the payments that come while it is busy share the next transaction.
      RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey as string,
    },
  })
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: world.url })).register(
    network,
    new MerchantScheme(),
  )
  const accepts = [
    ['USDC', usdc],
    ['EURC', eurc],
  ].map(([name, asset]) => ({
    scheme: 'exact',
    network,
    payTo: devnetMerchant.address,
    price: { amount: '10000', asset: asset as Address, extra: { name, version: '2' } },
  })) as never
  const app = express()
  app.use(paymentMiddleware({ 'GET /paid': { accepts } }, resources))
  app.get('/paid', (_request, response) => {
    response.json({ goods: true })
  })
  await new Promise<void>((resolve) => {
    merchant = app.listen(0, '127.0.0.1', () => resolve())
  })
  merchantUrl = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`
})
afterAll(async () => {
  merchant?.close()
  merchant?.closeAllConnections()
  await world?.stop()
})

/** Returns what an address holds of both tokens. */
async function holdings(address: Address) {
  const [dollars, euros] = await Promise.all([
    tokenBalance(world.chainUrl, usdc, address),
    tokenBalance(world.chainUrl, eurc, address),
  ])
  return { dollars, euros }
}

it('an official buyer who allows euros alone pays in euros, to the unit', async () => {
  const payer = await holdings(devnetPayer.address)
  const payee = await holdings(devnetMerchant.address)
  const buyer = payingBy(new BuyerScheme(devnetPayer.account), { asset: eurc })
  const response = await buyer(`${merchantUrl}/paid`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ goods: true })
  const { dollars, euros } = payer
  expect(await holdings(devnetPayer.address)).toEqual({ dollars, euros: euros - 10_000n })
  expect(await holdings(devnetMerchant.address)).toEqual({ ...payee, euros: payee.euros + 10_000n })
})

it('says which assets each kind takes, each with its domain, currency and minimum', async () => {
  const { kinds } = (await world.get('/supported')).body
  expect(kinds.length).toBeGreaterThan(0)
  for (const { extra } of kinds) {
    expect(extra.assets).toEqual([
      {
        address: usdc,
        symbol: 'USDC',
        decimals: 6,
        name: 'USDC',
        version: '2',
        currency: 'USD',
        minAmount: '2',
      },
      {
        address: eurc,
        symbol: 'EURC',
        decimals: 6,
        name: 'EURC',
        version: '2',
        currency: 'EUR',
        minAmount: '3',
      },
    ])
  }
})

it('payments in both tokens at once have each the outcome of its own token', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 100_000n)
  // Enough for one of the two payments in euros, so that one fails beside payments that succeed.
  await mintToken(world.chainUrl, eurc, account.address, 15_000n)
  const before = await holdings(devnetMerchant.address)
  const from = { from: account.address, signer: account }
  // One nonce in both tokens: these are two payments.
  const nonce = `0x${'5e'.repeat(32)}` as const
  const payments = await Promise.all([
    ...Array.from({ length: 6 }, () => aSignedPayment(from)),
    aSignedPayment({ ...from, nonce }),
    aSignedPayment(inEurc({ ...from, nonce })),
    aSignedPayment(inEurc(from)),
  ])
  const answers = await Promise.all(payments.map((payment) => world.post('/settle', payment)))
  const paid = answers.filter(({ body }) => body.success)
  expect(paid).toHaveLength(8)
  expect(answers.slice(0, 7).every(({ body }) => body.success)).toBe(true)
  expect(await holdings(devnetMerchant.address)).toEqual({
    dollars: before.dollars + 70_000n,
    euros: before.euros + 10_000n,
  })
  expect(await holdings(account.address)).toEqual({ dollars: 30_000n, euros: 5_000n })
})

it('a channel in euros takes, claims, pays out and gives back euros, to the unit', async () => {
  const channel = aChannel({ token: { asset: eurc, name: 'EURC' } })
  const { payer, receiver } = channel
  await mintToken(world.chainUrl, eurc, payer.address, 100_000n)
  await mintUsdc(world.chainUrl, payer.address, 100_000n)
  const settle = async (body: object) => (await world.post('/settle', body)).body
  expect(await settle(await channel.deposit('60000'))).toMatchObject({
    success: true,
    extra: { channelState: { balance: '60000' } },
  })
  expect(await holdings(payer.address)).toEqual({ dollars: 100_000n, euros: 40_000n })
  const voucher = await channel.voucher('7001')
  expect((await world.post('/verify', voucher)).body).toMatchObject({ isValid: true })
  const claim = await channel.claim({ max: '7001', total: '7001' })
  expect(await settle(claim)).toMatchObject({ success: true })
  expect(await settle(channel.settle())).toMatchObject({ success: true, amount: '7001' })
  expect(await holdings(receiver)).toEqual({ dollars: 0n, euros: 7_001n })
  expect(await settle(await channel.refund('52999', '0', '7001'))).toMatchObject({ success: true })
  expect(await holdings(payer.address)).toEqual({ dollars: 100_000n, euros: 92_999n })
})

describe('an endpoint for €0.05', () => {
  const endpoint = { method: 'GET', title: 'Rates of the day', price: '50000' } as const
  const euros = { price: '50000', asset: eurc, symbol: 'EURC', currency: 'EUR' }
  let shop: FastifyInstance
  let url: string

  beforeAll(async () => {
    shop = fastify()
    await shop.register(x402, { facilitator: world.url, payTo: devnetMerchant.address })
    shop.get('/rates', { config: { x402: '€0.05' } }, async () => ({ rate: 1.1 }))
    await shop.listen({ host: '127.0.0.1', port: 0 })
    url = `http://127.0.0.1:${(shop.server.address() as AddressInfo).port}/rates`
  })
  afterAll(() => shop.close())

  const buy = () => {
    const client = x402Client.fromConfig({
      schemes: [{ network, client: new BuyerScheme(devnetPayer.account) }],
      spendControls: {
        allowedAssets: [{ network, asset: eurc, maxAmountPerPayment: '50000' }],
      },
    })
    return wrapFetchWithPayment(fetch, client)(url)
  }
  const save = (wish: object) =>
    createListingClient({
      directoryUrl: world.url,
      audience: `http://localhost:${new URL(world.url).port}`,
      signer: devnetMerchant.account,
    }).save('euro-house', {
      name: 'Euro house',
      payTo: devnetMerchant.address,
      endpoints: [{ ...endpoint, url, ...wish }],
    })
  const itemsOf = async (query: string) =>
    (await world.get(`/discovery/resources?${query}`)).body.items

  it('is found in its first payment, in euros', async () => {
    const { dollars, euros: before } = await holdings(devnetMerchant.address)
    const response = await buy()
    expect(await response.json()).toEqual({ rate: 1.1 })
    expect(await holdings(devnetMerchant.address)).toEqual({ dollars, euros: before + 50_000n })
    await expect
      .poll(() => itemsOf('currency=EUR'), { timeout: 10_000 })
      .toMatchObject([{ resource: url, metadata: euros }])
  })

  it.each([
    ['dollars with the address of euros', { asset: eurc, currency: 'USD' }, 'currency must be EUR'],
    ['a token of another network', { asset: testEurc }, 'is a token of eip155:5042002'],
    ['a token that nobody knows', { asset: devnetPayer.address }, 'asset must be a token'],
    ['a currency without a token', { currency: 'GBP' }, 'currency must be USD or EUR'],
    ['dollars where its 402 asks for euros', {}, `must be ${usdc} (USDC)`],
  ])('is refused in words if it is listed in %s', async (_, wish, words) => {
    await expect(save(wish)).rejects.toThrow(words)
  })

  it('is live, and in euros wherever it is shown', async () => {
    const saved = await save({ currency: 'EUR' })
    expect(saved).toMatchObject({
      asset: eurc,
      endpoints: [
        { price: '50000', asset: eurc, currency: 'EUR', state: { status: 'live', symbol: 'EURC' } },
      ],
      warnings: [{ code: 'schema_missing' }],
    })
    const [item, ...others] = await itemsOf('currency=EUR')
    expect(others).toEqual([])
    expect(item).toMatchObject({ resource: url, metadata: euros })
    expect(item.metadata).not.toHaveProperty('priceUsd')
    expect(await itemsOf('currency=USD')).toEqual([])
    expect(await itemsOf(`asset=${eurc}`)).toHaveLength(1)
    const search = async (query: string) =>
      (await world.get(`/discovery/search?query=rates&${query}`)).body.resources.length
    expect(await search('maxPrice=50000')).toBe(0)
    expect(await search('maxPrice=50000&currency=EUR')).toBe(1)
    expect(await search('maxPrice=49999&currency=EUR')).toBe(0)
    const catalog = (await world.get('/api/merchants')).body.merchants
    const listed = catalog.find(({ id }: { id: string }) => id === 'euro-house')
    expect(listed).toMatchObject({ asset: eurc, endpoints: [{ ...euros, livePriceUsd: null }] })
    expect(listed.endpoints[0]).not.toHaveProperty('priceUsd')
    const document = (await world.get('/api/merchants/euro-house/openapi.json')).body
    expect(document.paths['/rates'].get['x-payment-info'].price).toEqual({
      mode: 'fixed',
      currency: 'EUR',
      amount: '0.05',
    })
    const text = await (await fetch(`${world.url}/api/merchants/euro-house/llms.txt`)).text()
    expect(text).toContain('0.05 EUR a call')
    expect(text).toContain(`EURC (${eurc})`)
    expect(text).not.toMatch(/USD|\$/)
  })
})

describe('a refusal', () => {
  const refused = async (wish: PaymentWish) =>
    (await world.post('/verify', await aSignedPayment(wish))).body

  it('of a token that has changed leaves the others alone, and readiness says so', async () => {
    const code = readArtifact('MockUsdc').deployedBytecode
    await call(world.chainUrl, 'anvil_setCode', [eurc, code])
    const chain = async () => {
      const { status, body } = await world.get('/ready')
      const check = body.checks.find(({ name }: { name: string }) => name === `chain ${network}`)
      return { status, ...check }
    }
    await expect.poll(chain, { timeout: 20_000 }).toMatchObject({
      status: 200,
      ok: true,
      detail: expect.stringContaining('pinned was "EURC"'),
    })
    expect((await world.post('/verify', await aSignedPayment(inEurc()))).status).toBe(500)
    expect(await refused({})).toMatchObject({ isValid: true })
    await placeContracts(world.chainUrl)
    await expect
      .poll(chain, { timeout: 20_000 })
      .toMatchObject({ detail: expect.not.stringContaining('pinned') })
    expect(await refused(inEurc())).toMatchObject({ isValid: true })
  })
})

describe('a deployment of euros alone', () => {
  const env: Record<string, string> = {
    MAINNET_ASSETS: eurc,
    MIN_AMOUNT: '2,EURC:3',
    HOSTED_PRIVATE_KEY: devnetHost.privateKey,
    BUYBACK_ADDRESS: devnetBuyback.address,
  }
  let own: World
  beforeAll(async () => {
    own = await startWorld({ env })
  })
  afterAll(() => own?.stop())

  it('sells, lists and counts in euros, and has no sums in dollars', async () => {
    const { kinds } = (await own.get('/supported')).body
    expect(kinds[0].extra.assets).toMatchObject([{ symbol: 'EURC', currency: 'EUR' }])
    const items = async () => (await own.get('/discovery/resources?currency=EUR')).body.items
    await expect.poll(async () => (await items()).length, { timeout: 10_000 }).toBe(2)
    const price = { asset: eurc, currency: 'EUR' }
    for (const { metadata } of await items()) {
      expect(metadata).toMatchObject({ ...price, hostedByArcus: true })
      expect(metadata).not.toHaveProperty('priceUsd')
    }
    const buyer = payingBy(new BuyerScheme(devnetPayer.account), { asset: eurc })
    const response = await buyer(`${own.url}/hosted/fees`)
    expect(response.status).toBe(200)
    expect(await tokenBalance(own.chainUrl, eurc, devnetBuyback.address)).toBe(5_000n)
    const totals = async () => (await own.get('/api/stats')).body['24h']
    const sold = { settled: 1, revenue: { amount: '0', usd: '0' } }
    await expect.poll(totals, { timeout: 10_000 }).toMatchObject(sold)
    const { networks } = (await own.get('/api/console')).body
    expect(networks).toMatchObject([{ asset: { symbol: 'EURC' }, assets: [{ currency: 'EUR' }] }])
  })

  it('does not start with a minimum for a symbol that no asset has', async () => {
    await own.stopService()
    await expect(
      (async () => {
        env.MIN_AMOUNT = '2,EUR:3'
        await own.startService()
      })(),
    ).rejects.toThrow('MIN_AMOUNT names EUR, but the assets of the settings are EURC')
    env.MIN_AMOUNT = '2'
    await own.startService()
  })
})
