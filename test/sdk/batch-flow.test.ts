import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { toClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme as BuyerScheme } from '@x402/evm/batch-settlement/client'
import {
  type BatchSettlementChannelManager,
  BatchSettlementEvmScheme as MerchantScheme,
} from '@x402/evm/batch-settlement/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import { decodePaymentResponseHeader } from '@x402/fetch'
import express from 'express'
import { createPublicClient, http } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'
import { takesUsdc } from '../support/token.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const buyer = privateKeyToAccount(generatePrivateKey())
const receiver = privateKeyToAccount(generatePrivateKey())
const authorizer = privateKeyToAccount(generatePrivateKey())

let world: World
let merchant: Server
let merchantUrl: string
let manager: BatchSettlementChannelManager
let buyerScheme: BuyerScheme
let pay: typeof fetch

beforeAll(async () => {
  world = await startWorld()
  await mintUsdc(world.chainUrl, buyer.address, 10_000_000n)
  const facilitator = new HTTPFacilitatorClient({ url: world.url })
  const scheme = new MerchantScheme(receiver.address, { receiverAuthorizerSigner: authorizer })
  manager = scheme.createChannelManager(facilitator, network, asset)
  const resources = new x402ResourceServer(facilitator).register(network, scheme)
  const price = {
    amount: '1000',
    asset,
    extra: { name: 'USDC', version: '2', minDeposit: '200000' },
  }
  const accepts = { scheme: 'batch-settlement', network, payTo: receiver.address, price } as const
  const app = express()
  app.use(
    paymentMiddleware(
      {
        'GET /paid': { accepts, description: 'works', mimeType: 'application/json' },
        'GET /metered': { accepts, description: 'by use', mimeType: 'application/json' },
        'GET /broken': { accepts, description: 'fails', mimeType: 'application/json' },
      },
      resources,
    ),
  )
  app.get('/paid', (_request, response) => {
    response.json({ goods: true })
  })
  app.get('/metered', (_request, response) => {
    setSettlementOverrides(response, { amount: '250' })
    response.json({ goods: true })
  })
  app.get('/broken', (_request, response) => {
    response.status(503).json({ goods: false })
  })
  await new Promise<void>((resolve) => {
    merchant = app.listen(0, '127.0.0.1', () => resolve())
  })
  merchantUrl = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`
  buyerScheme = new BuyerScheme(buyer)
  pay = payingBy(buyerScheme)
})
afterAll(async () => {
  merchant?.close()
  merchant?.closeAllConnections()
  await world?.stop()
})

const balanceOf = (address: `0x${string}`) => usdcBalance(world.chainUrl, address)
const settlement = devnetContracts.batchSettlement

it('says in /supported that it settles the scheme, after exact and without an authorizer of its own', async () => {
  const { kinds } = (await world.get('/supported')).body
  expect(kinds[0].scheme).toBe('exact')
  const extra = { ...takesUsdc, assetTransferMethods: ['eip3009'] }
  expect(kinds.slice(-1)).toEqual([{ x402Version: 2, scheme: 'batch-settlement', network, extra }])
})

it('the official buyer pays the official merchant: one deposit, a hundred vouchers, claim, settle, refund', async () => {
  const first = await pay(`${merchantUrl}/paid`)
  expect(first.status).toBe(200)
  expect(await first.json()).toEqual({ goods: true })
  const settled = decodePaymentResponseHeader(first.headers.get('PAYMENT-RESPONSE') as string)
  expect(settled).toMatchObject({
    success: true,
    network,
    payer: buyer.address,
    transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    amount: '200000',
    extra: { channelState: { balance: '200000', totalClaimed: '0', refundNonce: '0' } },
  })
  expect(await balanceOf(settlement)).toBe(200_000n)
  for (let i = 0; i < 99; i++) {
    const response = await pay(`${merchantUrl}/paid`)
    expect(response.status).toBe(200)
    await response.json()
  }
  expect(await balanceOf(settlement)).toBe(200_000n)
  const claims = await manager.claim()
  expect(claims).toEqual([{ vouchers: 1, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) }])
  expect(await balanceOf(receiver.address)).toBe(0n)
  await manager.settle()
  expect(await balanceOf(receiver.address)).toBe(100_000n)
  await buyerScheme.refund(`${merchantUrl}/paid`)
  expect(await balanceOf(buyer.address)).toBe(9_900_000n)
  expect(await balanceOf(settlement)).toBe(0n)
})

it('a buyer in a new process goes on with the old channel, also after a refund, if the client has a node', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const chain = createPublicClient({ transport: http(world.chainUrl) })
  const open = (signer: ConstructorParameters<typeof BuyerScheme>[0]) => {
    const scheme = new BuyerScheme(signer)
    return { scheme, call: payingBy(scheme) }
  }
  const withNode = () => open(toClientEvmSigner(account, chain))
  const statusOf = async ({ call }: ReturnType<typeof open>) =>
    (await call(`${merchantUrl}/paid`)).status
  expect(await statusOf(open(account))).toBe(200)
  expect(await statusOf(open(account))).toBe(402)
  expect(await statusOf(withNode())).toBe(200)
  expect(await balanceOf(account.address)).toBe(800_000n)
  await withNode().scheme.refund(`${merchantUrl}/paid`)
  expect(await balanceOf(account.address)).toBe(998_000n)
  expect(await statusOf(open(account))).toBe(402)
  expect(await statusOf(withNode())).toBe(200)
})
