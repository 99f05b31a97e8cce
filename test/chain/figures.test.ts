import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import type { Address, Hex } from 'viem'
import type { HDAccount, PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetContracts, mintUsdc } from '../../src/devnet/fixtures.js'
import { aChannel } from '../support/a-channel.js'
import { giveBack } from '../support/a-refund.js'
import { aSignedPayment, nowSeconds, type PaymentWish } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

type Account = PrivateKeyAccount | HDAccount

let world: World
let endpoint: Server
let url: string
let listed = 0

beforeAll(async () => {
  world = await startWorld({
    env: { RATE_LIMIT_MAX: '0', PROBE_ALLOW_PRIVATE_HOSTS: 'true', SETTLE_WAIT_SECONDS: '5' },
  })
  endpoint = createServer((request, response) => {
    // Each merchant is asked at the path of its own address.
    const payTo = request.url?.slice(1)
    const extra = { name: 'USDC', version: '2' }
    const terms = {
      scheme: 'exact',
      network: 'eip155:5042',
      amount: '10000',
      maxTimeoutSeconds: 60,
    }
    const accepts = [{ ...terms, asset: devnetContracts.usdc, payTo, extra }]
    const required = { x402Version: 2, resource: { url: request.url }, accepts }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`
})
afterAll(async () => {
  endpoint.close()
  await world.stop()
})

async function aBuyer(units = 1_000_000n): Promise<PrivateKeyAccount> {
  const account = anAccount()
  await mintUsdc(world.chainUrl, account.address, units)
  return account
}

async function list(owner: PrivateKeyAccount, id: string): Promise<void> {
  const client = createListingClient({
    directoryUrl: world.url,
    audience: `http://localhost:${new URL(world.url).port}`,
    signer: owner,
  })
  await client.save(id, {
    name: id,
    payTo: owner.address,
    endpoints: [{ url: `${url}/${owner.address}`, method: 'GET', title: 'Quote', price: '10000' }],
  })
}

const paymentOf = (from: Account, to: Address, wish: PaymentWish = {}) =>
  aSignedPayment({ from: from.address, signer: from, to, ...wish })

/** The same as an official client sends it after a 402: with what it is for. */
async function purchaseOf(from: Account, to: Address, wish: PaymentWish = {}) {
  const payment = await paymentOf(from, to, wish)
  return {
    ...payment,
    paymentPayload: { ...payment.paymentPayload, resource: { url: `${url}/${to}` } },
  }
}

async function settle(payment: object) {
  const { body } = await world.post('/settle', payment)
  return body as { success: boolean; errorReason?: string }
}

/** A merchant of its own for each case, with the key that is paid as its owner. */
async function aMerchant() {
  const merchant = anAccount()
  const merchantId = `merchant-${++listed}`
  await list(merchant, merchantId)
  async function sell(from: Account, wish: PaymentWish = {}) {
    const payment = await purchaseOf(from, merchant.address, wish)
    expect(await settle(payment)).toMatchObject({ success: true })
    return payment
  }
  return { merchant, merchantId, sell, ofMerchant: () => figuresOf(merchantId) }
}

async function pay(from: Account, to: Address, wish: PaymentWish = {}) {
  expect(await settle(await paymentOf(from, to, wish))).toMatchObject({ success: true })
}

/** Gives part of a sale back as the plugin of merchants does. */
async function refund(from: PrivateKeyAccount, sale: Sold, amount: bigint) {
  const authorization = sale.paymentPayload.payload.authorization as Record<
    'from' | 'nonce',
    string
  >
  const { from: payer, nonce: paymentNonce } = authorization
  await giveBack(world.url, from, { payer, paymentNonce, amount })
}

type Sold = Awaited<ReturnType<typeof purchaseOf>>

const figuresOf = async (id: string) => (await world.get(`/api/merchants/${id}/stats`)).body['24h']
const ofAll = async () => (await world.get('/api/stats')).body['24h']
const status = async () => (await world.get('/api/status')).body.settling.hour

/** Everything answered so far is counted once a later sale of a merchant of its own is. */
async function counted(): Promise<void> {
  const sentinel = anAccount()
  const id = `sentinel-${++listed}`
  await list(sentinel, id)
  await pay(await aBuyer(), sentinel.address)
  await vi.waitFor(async () => expect((await figuresOf(id)).settled).toBe(1), {
    timeout: 30_000,
    interval: 100,
  })
}

const times = <T>(count: number, make: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, make))

describe('the success rate', () => {
  it('is not for strangers to ruin: what was never a sound, signed payment is in no public figure', async () => {
    const { merchant, ofMerchant, sell } = await aMerchant()
    const buyer = await aBuyer()
    const sold = await sell(buyer)
    await sell(buyer)
    await counted()
    const before = { merchant: await ofMerchant(), all: await ofAll(), status: await status() }
    expect(before.merchant).toMatchObject({ settled: 2, successRate: 1 })

    const poor = anAccount()
    const forge = { resign: () => `0x${'11'.repeat(65)}` as Hex }
    const hostile = [
      ...(await times(20, () => purchaseOf(buyer, merchant.address, forge))),
      ...(await times(20, () => purchaseOf(poor, merchant.address))),
      ...(await times(5, () =>
        purchaseOf(buyer, merchant.address, { validBefore: nowSeconds() - 60n }),
      )),
      ...(await times(5, () =>
        purchaseOf(buyer, merchant.address, { requirement: { amount: '777' } }),
      )),
      // Replays of what was sold, by the buyer and by whoever read the authorization on chain.
      ...Array.from({ length: 10 }, () => sold),
      ...(await times(5, async () => ({
        ...sold,
        paymentPayload: {
          ...sold.paymentPayload,
          payload: { ...sold.paymentPayload.payload, signature: `0x${'22'.repeat(65)}` },
        },
      }))),
    ]
    for (const payment of hostile) {
      await world.post('/verify', payment)
      expect((await settle(payment)).success).toBe(false)
    }
    await counted()
    // Not even how long it takes, which quick refusals would bring down.
    expect(await ofMerchant()).toEqual(before.merchant)
    expect((await ofAll()).successRate).toBe(1)
    // The second look has one sale more: that of the sentinel.
    // It is read once a second.
    await expect.poll(status).toMatchObject({
      settled: before.status.settled + 1,
      failed: before.status.failed,
      successRate: 1,
      verifies: before.status.verifies,
    })
  })
})

describe('what the plugin gave back', () => {
  it('is no sale, and the merchant who gives it no payer', async () => {
    const { merchant, ofMerchant, sell } = await aMerchant()
    await counted()
    const before = await ofAll()
    await refund(merchant, await sell(await aBuyer(), { value: 20_000n }), 15_000n)
    await counted()
    expect(await ofMerchant()).toMatchObject({
      settled: 1,
      revenue: { amount: '5000' },
      refunds: { count: 1, amount: '15000' },
      payers: { unique: 1 },
    })
    // One sale and one payer of this case, one of each of the sentinel.
    const after = await ofAll()
    expect(after.settled - before.settled).toBe(2)
    expect(BigInt(after.revenue.amount) - BigInt(before.revenue.amount)).toBe(15_000n)
    expect(after.payers.unique - before.payers.unique).toBe(2)
    expect(after.refunds.count - before.refunds.count).toBe(1)
  })
})

// Each case looks at its own merchant alone, and waits for what was written to be counted.
describe.concurrent('the figures of a merchant', () => {
  it('count what was sound and did not settle, and of one payer once a day', async () => {
    const { merchant, ofMerchant, sell } = await aMerchant()
    const seller = await aBuyer()
    await sell(seller)
    const buyer = await aBuyer(10_000n)
    const payments = await times(12, () => purchaseOf(buyer, merchant.address))
    for (const payment of payments) {
      expect((await world.post('/verify', payment)).body.isValid).toBe(true)
    }
    await pay(buyer, anAccount().address)
    for (const payment of [...payments, ...payments]) {
      expect((await settle(payment)).errorReason).toMatch(/insufficient_balance/)
    }
    await counted()
    expect(await ofMerchant()).toMatchObject({ settled: 1, successRate: 0.5 })
  })

  it('leave out a sale that was given back in full, and its payer', async () => {
    const { merchant, ofMerchant, sell } = await aMerchant()
    const [one, two] = [await aBuyer(), await aBuyer()]
    await sell(one)
    await refund(merchant, await sell(one), 10_000n)
    await refund(merchant, await sell(two), 10_000n)
    await counted()
    expect(await ofMerchant()).toMatchObject({
      settled: 1,
      successRate: 1,
      revenue: { amount: '10000' },
      refunds: { count: 2, amount: '20000' },
      payers: { unique: 1, repeat: 0 },
    })
  })

  it('lose nothing by what one merchant buys from another who bought from them', async () => {
    const { merchant, merchantId, ofMerchant, sell } = await aMerchant()
    const other = await aBuyer()
    await list(other, `${merchantId}-other`)
    await sell(other, { value: 30_000n })
    const bought = await purchaseOf(merchant, other.address)
    expect(await settle(bought)).toMatchObject({ success: true })
    await counted()
    expect(await ofMerchant()).toMatchObject({ settled: 1, revenue: { amount: '30000' } })
    expect(await figuresOf(`${merchantId}-other`)).toMatchObject({
      settled: 1,
      revenue: { amount: '10000' },
    })
  })

  it('take a deposit for no more than it brought, and what a channel gives back for no sale', async () => {
    const { merchant, ofMerchant } = await aMerchant()
    const payer = await aBuyer()
    const channel = aChannel({ payer, receiver: merchant.address })
    const deposit = await channel.deposit('100000', '1000', { amount: '999000000000' })
    const { body } = await world.post('/settle', deposit)
    expect(body).toMatchObject({ success: true })
    const refund = await channel.refund('99000', '0', '1000')
    expect((await world.post('/settle', refund)).body).toMatchObject({ success: true })
    await counted()
    const { settled, revenue, payers } = await ofMerchant()
    expect([settled, payers.unique]).toEqual([1, 1])
    expect(Number(revenue.amount)).toBeLessThanOrEqual(100_000)
  })
})
