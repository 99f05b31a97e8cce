import type { RequestListener } from 'node:http'
import { createBuyer } from '@arcus/client'
import type { BuyerOptions } from '@arcus/client/buyer'
import { ArcusError } from '@arcus/client/calls'
import { createMemoryLedger, type Ledger, type LedgerEvent } from '@arcus/client/ledger'
import { createMcpServer } from '@arcus/client/mcp-server'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { HTTPFacilitatorClient } from '@x402/core/server'
import {
  type BatchSettlementChannelManager,
  BatchSettlementEvmScheme as SellerScheme,
} from '@x402/evm/batch-settlement/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import express from 'express'
import { createPublicClient, http, recoverTypedDataAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetContracts, mintUsdc, tokenBalance } from '../../../src/devnet/fixtures.js'
import { startServer } from '../../support/a-server.js'
import { anAccount } from '../../support/an-account.js'
import { startWorld, type World } from '../../support/arcus.js'
import { anItem, aQuote } from '../../support/directory/a-catalog.js'
import { unexpected } from '../../support/unexpected.js'
import { withResolvers } from '../../support/with-resolvers.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const PRICE = 10_000n
const DEPOSIT = 200_000n

let world: World
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => {
  vi.useRealTimers()
  for (const close of closing) await close()
  await world?.stop()
})

const balanceOf = (address: `0x${string}`) => tokenBalance(world.chainUrl, asset, address)
const blockNumber = () => createPublicClient({ transport: http(world.chainUrl) }).getBlockNumber()

async function listening(answer: RequestListener): Promise<string> {
  const { url, close } = await startServer(answer)
  closing.push(close)
  return url
}

interface OfficialSeller {
  url: string
  receiver: `0x${string}`
  manager: BatchSettlementChannelManager
  /** Runs before the answer of a paid call. */
  before: () => Promise<void> | void
  /** How many of the next answers are cut off after they were charged. */
  hangsUp: number
}

/** Starts a seller of the official packages, who takes one scheme or both at the same price. */
async function anOfficialSeller(schemes = ['exact', 'batch-settlement']): Promise<OfficialSeller> {
  const [receiver, authorizer] = [anAccount(), anAccount()]
  const facilitator = new HTTPFacilitatorClient({ url: world.url })
  const scheme = new SellerScheme(receiver.address, { receiverAuthorizerSigner: authorizer })
  const resources = new x402ResourceServer(facilitator)
    .register(network, new ExactEvmScheme())
    .register(network, scheme)
  const extra = { name: 'USDC', version: '2' }
  const accepts = schemes.map((scheme) => ({
    scheme,
    network,
    payTo: receiver.address,
    price: {
      amount: `${PRICE}`,
      asset,
      extra: { ...extra, ...(scheme !== 'exact' && { minDeposit: '100000' }) },
    },
    maxTimeoutSeconds: 60,
  }))
  const app = express()
  app.use((_, response, next) => {
    const end = response.end.bind(response)
    // The middleware ends the answer of a paid call once, after it was charged.
    response.end = ((...args: Parameters<typeof end>) => {
      if (response.getHeader('PAYMENT-RESPONSE') !== undefined && seller.hangsUp > 0) {
        seller.hangsUp--
        response.socket?.destroy()
        return response
      }
      return end(...args)
    }) as typeof response.end
    next()
  })
  app.use(
    paymentMiddleware(
      {
        'GET /paid': { accepts },
        'GET /metered': { accepts },
        'GET /broken': { accepts },
      } as never,
      resources,
    ),
  )
  app.get('/paid', async (_, response) => {
    await seller.before()
    response.json({ goods: true })
  })
  app.get('/metered', (_, response) => {
    setSettlementOverrides(response, { amount: '2500' })
    response.json({ goods: true })
  })
  app.get('/broken', (_, response) => {
    response.status(503).json({ goods: false })
  })
  const url = await listening(app)
  const manager = scheme.createChannelManager(facilitator, network, asset)
  const seller: OfficialSeller = {
    url,
    receiver: receiver.address,
    manager,
    before: () => {},
    hangsUp: 0,
  }
  return seller
}

/** A buyer with ten dollars. `again` makes another one on the same ledger, as another process would. */
async function aBuyer(
  limits: Partial<BuyerOptions['limits']> = {},
  changes: Partial<BuyerOptions> = {},
) {
  const account = anAccount()
  await mintUsdc(world.chainUrl, account.address, 10_000_000n)
  const events: LedgerEvent[] = []
  const again = (more: Partial<BuyerOptions> = {}) =>
    createBuyer({
      url: world.url,
      signer: account,
      limits: { perCall: '$0.05', perDay: '$1', ...limits },
      ledger: createMemoryLedger(events),
      rpcUrl: world.chainUrl,
      channels: { deposit: DEPOSIT },
      ...changes,
      ...more,
    })
  return { account, events, again, buyer: again(), balance: () => balanceOf(account.address) }
}

async function refusalOf(promise: Promise<unknown>) {
  const error = await promise.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ArcusError)
  return error as ArcusError & { details: Record<string, unknown> }
}

describe('a channel of a buyer', () => {
  it('pays many calls of an official seller with one deposit, within the limits, and gives the rest back', async () => {
    const seller = await anOfficialSeller()
    const { buyer, balance, again } = await aBuyer({ perSeller: '$0.25', total: '$2' })
    const before = await blockNumber()
    const first = await buyer.pay(`${seller.url}/paid?secret=1`)
    expect(await first.response.json()).toEqual({ goods: true })
    expect(first).toMatchObject({
      cost: PRICE,
      isDecided: true,
      channel: { deposit: DEPOSIT, left: 190_000n, calls: 1 },
    })
    expect(first.left).toEqual({ perDay: 800_000n, perSeller: 50_000n, total: 1_800_000n })
    for (let n = 2; n <= 15; n++) {
      const bought = await (n % 2 ? buyer : again()).pay(`${seller.url}/paid`)
      expect(bought).toMatchObject({ cost: PRICE, isDecided: true, channel: { calls: n } })
      expect(bought.left).toEqual(first.left)
    }
    expect((await blockNumber()) - before).toBe(1n)
    expect(await balance()).toBe(9_800_000n)
    const { channels, entries } = await buyer.spent()
    expect(channels).toMatchObject([
      { charged: 150_000n, left: 50_000n, calls: 15, state: 'settled' },
    ])
    expect(entries).toHaveLength(1)

    expect(await buyer.closeChannels()).toMatchObject([{ left: 0n, calls: 15 }])
    expect(await balance()).toBe(9_850_000n)
    await seller.manager.settle()
    expect(await balanceOf(seller.receiver)).toBe(150_000n)
    expect((await blockNumber()) - before).toBe(3n)
    const { left, channels: open } = await again().spent()
    expect(left).toEqual({ perDay: 850_000n, total: 1_850_000n })
    expect(open).toEqual([])
    // The next call opens another one.
    expect((await again().pay(`${seller.url}/paid`)).refusal).toBeUndefined()
  })

  it('is opened only where the limits allow the deposit, and else the call is paid by itself', async () => {
    const seller = await anOfficialSeller()
    const { buyer, again } = await aBuyer({ perDay: '$0.205' })
    const other = await anOfficialSeller()
    expect((await buyer.pay(`${seller.url}/paid`)).channel).toMatchObject({ deposit: DEPOSIT })
    // The deposit is spent, so that no other seller is paid today, but calls on the channel are.
    const refused = await refusalOf(buyer.pay(`${other.url}/paid`))
    expect(refused.details).toMatchObject({ limit: 'perDay', left: '5000', amount: '10000' })
    expect(await buyer.quote(`${other.url}/paid`)).toMatchObject({
      refusal: { code: 'over_limit' },
    })
    expect((await buyer.quote(`${seller.url}/paid`)).refusal).toBeUndefined()
    expect((await buyer.pay(`${seller.url}/paid`)).channel).toMatchObject({ calls: 2 })
    expect(
      (
        await refusalOf(
          again({ limits: { perCall: '$0.009', perDay: '$1' } }).pay(`${seller.url}/paid`),
        )
      ).details.limit,
    ).toBe('perCall')
    const picky = { perCall: '$0.05', perDay: '$1', sellers: ['penny'] }
    expect(
      (await refusalOf(again({ limits: picky }).pay(`${seller.url}/paid`))).details.limit,
    ).toBe('sellers')

    const plain = await aBuyer({}, { channels: { deposit: '$0.05' } })
    const bought = await plain.buyer.pay(`${seller.url}/paid`)
    expect(bought).toMatchObject({ cost: PRICE })
    expect(bought.channel).toBeUndefined()
    expect(bought.left.perDay).toBe(990_000n)
    const only = await anOfficialSeller(['batch-settlement'])
    expect((await refusalOf(plain.buyer.pay(`${only.url}/paid`))).details).toEqual({
      limit: 'deposit',
      left: '50000',
      amount: '100000',
      until: null,
    })
    const off = createBuyer({
      signer: anAccount(),
      limits: { perCall: '$1', perDay: '$1' },
      ledger: createMemoryLedger(),
    })
    expect((await refusalOf(off.pay(`${only.url}/paid`))).code).toBe('not_payable')
    expect((await buyer.quote(`${only.url}/paid`)).terms?.scheme).toBe('batch-settlement')
  })

  it('wants a node, and a deposit that the limits can ever allow', async () => {
    const { again } = await aBuyer({ perSeller: '$0.1' }, { channels: { deposit: '$0.1' } })
    expect(() => again({ channels: { deposit: '$0.11' } })).toThrow(
      'deposit is above the limit perSeller',
    )
    const limits = { perCall: '$1', perDay: '$1' }
    const alone = { signer: anAccount(), limits, ledger: createMemoryLedger() }
    expect(() => createBuyer({ ...alone, channels: { deposit: '$1' } })).toThrow('want rpcUrl')
    await expect(createBuyer(alone).closeChannels()).rejects.toThrow('rpcUrl')
  })

  it('costs what the seller charged, nothing for an answer that failed, and another one follows when it is used up', async () => {
    const seller = await anOfficialSeller()
    const { buyer } = await aBuyer({}, { channels: { deposit: '$0.1' } })
    expect(await buyer.pay(`${seller.url}/metered`)).toMatchObject({
      cost: 2_500n,
      channel: { left: 97_500n },
    })
    const broken = await buyer.pay(`${seller.url}/broken`)
    expect(broken).toMatchObject({ isDecided: false, channel: { left: 97_500n } })
    expect(broken.response.status).toBe(503)
    for (let n = 0; n < 9; n++) expect((await buyer.pay(`${seller.url}/paid`)).cost).toBe(PRICE)
    const next = await buyer.pay(`${seller.url}/paid`)
    expect(next).toMatchObject({
      cost: PRICE,
      channel: { calls: 1, left: 90_000n },
      left: { perDay: 800_000n },
    })
    const closed = await buyer.closeChannels()
    expect(closed.map(({ left, problem }) => [left, problem])).toEqual([
      [0n, undefined],
      [0n, undefined],
    ])
    expect((await buyer.spent()).left.perDay).toBe(1_000_000n - 92_500n - PRICE)
  })

  it('has one call at a time: others wait, and are paid by themselves when that takes too long', async () => {
    const seller = await anOfficialSeller()
    const { buyer, again } = await aBuyer()
    // Two that know of no channel open one together.
    const both = await Promise.all([
      buyer.pay(`${seller.url}/paid?1`),
      again().pay(`${seller.url}/paid?2`),
    ])
    expect(both.map(({ cost, isDecided }) => [cost, isDecided])).toEqual([
      [PRICE, true],
      [PRICE, true],
    ])
    expect(await inChannelsOf(buyer)).toEqual([[2, DEPOSIT]])
    const { promise, resolve: release } = withResolvers()
    seller.before = () => promise
    const slow = buyer.pay(`${seller.url}/paid?3`)
    await vi.waitFor(() => expect(seller.before).toBeDefined())
    await vi.waitUntil(async () => (await buyer.spent()).channels[0] !== undefined)
    await new Promise((resolve) => setTimeout(resolve, 300))
    seller.before = () => {}
    const quick = await again().pay(`${seller.url}/paid?4`)
    expect(quick).toMatchObject({ cost: PRICE, isDecided: true })
    expect(quick.channel).toBeUndefined()
    release()
    expect((await slow).channel).toMatchObject({ calls: 3 })
    expect(await inChannelsOf(buyer)).toEqual([[3, DEPOSIT]])
  })

  it.each(['reserved', 'drawn'] as const)(
    'is shared by two processes that want it at the same moment (%s)',
    async (type) => {
      const seller = await anOfficialSeller(['batch-settlement'])
      const { buyer, again, events } = await aBuyer()
      if (type === 'drawn') await buyer.pay(`${seller.url}/paid`)
      // Each has looked before the other one writes.
      let waiting = 2
      const { promise: both, resolve: go } = withResolvers()
      const slow: Ledger = {
        async append(event) {
          if (event.type === type && waiting > 0) {
            if (--waiting === 0) go()
            await both
          }
          events.push(event)
          return [...events]
        },
        read: async () => [...events],
      }
      const calls = [1, 2].map((n) => again({ ledger: slow }).pay(`${seller.url}/paid?${n}`))
      expect((await Promise.all(calls)).map(({ cost }) => cost)).toEqual([PRICE, PRICE])
      expect(waiting).toBe(0)
      expect(await inChannelsOf(buyer)).toEqual([[type === 'drawn' ? 3 : 2, DEPOSIT]])
      const vouchers = events.filter((event) => event.type === 'charged')
      expect(new Set(vouchers.map((event) => 'total' in event && event.total)).size).toBe(
        vouchers.length,
      )
    },
  )

  it('looks an answer that was lost up at the seller, and does not buy the same twice unasked', async () => {
    const seller = await anOfficialSeller()
    const { buyer, again } = await aBuyer()
    // The deposit lands, and nobody says so but the chain.
    seller.hangsUp = 1
    expect((await refusalOf(buyer.pay(`${seller.url}/paid`))).code).toBe('unreachable')
    expect((await buyer.spent()).channels).toMatchObject([
      { state: 'settled', calls: 0, left: DEPOSIT },
    ])
    const corrected = await refusalOf(again().pay(`${seller.url}/paid`))
    expect(corrected.code).toBe('outcome_unknown')
    expect(corrected.message).toContain(
      'counted 10000 atomic units of the channel before this call and not 0',
    )
    expect(await buyer.pay(`${seller.url}/paid`)).toMatchObject({
      cost: PRICE,
      channel: { left: 180_000n },
    })
    seller.hangsUp = 1
    expect((await refusalOf(buyer.pay(`${seller.url}/paid`))).code).toBe('unreachable')
    expect((await refusalOf(buyer.pay(`${seller.url}/paid?other`))).code).toBe('outcome_unknown')
    expect(await buyer.pay(`${seller.url}/paid`)).toMatchObject({ channel: { left: 160_000n } })
    expect(await buyer.closeChannels()).toMatchObject([{ left: 0n }])
    expect((await buyer.spent()).left.perDay).toBe(960_000n)
  })
})

it('an agent sees what a call on a channel cost, and what is left in it', async () => {
  const seller = await anOfficialSeller(['batch-settlement'])
  const { buyer } = await aBuyer()
  const resource = `${seller.url}/paid`
  const accepts = [aQuote({ payTo: seller.receiver })]
  const item = anItem({ url: resource, price: PRICE, accepts, example: {} })
  const server = createMcpServer({
    arcus: { findAt: async () => item, find: unexpected, describe: unexpected },
    buyer,
    show: (amount) => `${amount}`,
    readAmount: (words) => words,
  })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const agent = new Client({ name: 'agent', version: '1' })
  await Promise.all([server.connect(theirs), agent.connect(ours)])
  const use = async (name: string, args: Record<string, unknown>) => {
    const { content } = await agent.callTool({ name, arguments: args })
    const [{ text }] = content as [{ text: string }]
    return JSON.parse(text.slice(text.indexOf('{')))
  }
  const { host } = new URL(seller.url)
  await use('call', { url: resource })
  const held = { host, deposit: '200000', left: '180000', calls: 2 }
  expect(await use('call', { url: resource })).toMatchObject({
    cost: '10000',
    left: { perDay: '800000' },
    channel: held,
    status: 200,
  })
  expect(await use('spent', {})).toMatchObject({ left: { perDay: '800000' }, channels: [held] })
  await agent.close()
})

async function inChannelsOf(buyer: Awaited<ReturnType<typeof aBuyer>>['buyer']) {
  return (await buyer.spent()).channels.map(({ calls, deposit }) => [calls, deposit])
}

/** A seller who does with payments what the test says. */
async function aThief(answer: (payment: Payment, thief: Thief) => Promise<Reply>) {
  const [receiver, authorizer] = [anAccount(), anAccount()]
  const thief: Thief = {
    url: '',
    payments: [],
    terms: {
      scheme: 'batch-settlement',
      network,
      asset,
      amount: `${PRICE}`,
      payTo: receiver.address,
      maxTimeoutSeconds: 60,
      extra: {
        name: 'USDC',
        version: '2',
        receiverAuthorizer: authorizer.address,
        withdrawDelay: 900,
      },
    },
    async settle({ payload, accepted }) {
      const body = {
        x402Version: 2,
        paymentPayload: { x402Version: 2, payload, accepted },
        paymentRequirements: accepted,
      }
      return (await world.post('/settle', body)).body
    },
  }
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
  thief.url = await listening(async (request, response) => {
    const given = request.headers['payment-signature']
    let reply: Reply = { status: 402, required: { accepts: [thief.terms] } }
    if (typeof given === 'string') {
      const payment = JSON.parse(Buffer.from(given, 'base64').toString()) as Payment
      thief.payments.push(payment)
      reply = await answer(payment, thief)
    }
    if (reply.status === 0) return void request.socket.destroy()
    const required = reply.required && { x402Version: 2, resource: { url: 'x' }, ...reply.required }
    response.writeHead(reply.status, {
      ...(required && { 'payment-required': base64(required) }),
      ...(reply.settled !== undefined && { 'payment-response': base64(reply.settled) }),
    })
    response.end('{}')
  })
  return thief
}

interface Payment {
  accepted: Record<string, unknown>
  payload: {
    type: string
    channelConfig: Record<string, unknown>
    voucher: { channelId: `0x${string}`; maxClaimableAmount: string; signature: `0x${string}` }
    deposit?: { amount: string }
  }
}
interface Reply {
  status: number
  required?: { accepts: unknown[]; error?: string }
  settled?: unknown
}
interface Thief {
  url: string
  payments: Payment[]
  terms: Record<string, unknown> & { extra: Record<string, unknown> }
  settle(payment: Payment): Promise<Record<string, unknown>>
}

/** The most that all vouchers together let a thief claim: the highest of each channel, at most its deposits. */
function claimable({ payments }: Thief): bigint {
  const channels = new Map<string, { highest: bigint; deposits: bigint }>()
  for (const { payload } of payments) {
    const { channelId, maxClaimableAmount } = payload.voucher
    const known = channels.get(channelId) ?? { highest: 0n, deposits: 0n }
    const total = BigInt(maxClaimableAmount)
    channels.set(channelId, {
      highest: total > known.highest ? total : known.highest,
      deposits: known.deposits + BigInt(payload.deposit?.amount ?? 0),
    })
  }
  return [...channels.values()].reduce(
    (sum, { highest, deposits }) => sum + (highest < deposits ? highest : deposits),
    0n,
  )
}

describe('a hostile seller', () => {
  it('takes at most the deposit by new prices and new receivers', async () => {
    let calls = 0
    const thief = await aThief(async (payment, it) => {
      const settled = payment.payload.type === 'deposit' ? await it.settle(payment) : undefined
      it.terms = {
        ...it.terms,
        amount: `${PRICE * BigInt(1 + (calls++ % 5))}`,
        payTo: anAccount().address,
      }
      return { status: 402, required: { accepts: [it.terms] }, settled }
    })
    const { buyer, balance } = await aBuyer()
    for (let n = 0; n < 12; n++) await buyer.pay(`${thief.url}/${n}`).catch(() => {})
    expect(thief.payments.filter(({ payload }) => payload.deposit !== undefined)).toHaveLength(1)
    expect(10_000_000n - (await balance())).toBe(DEPOSIT)
    expect((await buyer.spent()).left.perDay).toBe(800_000n)
    const refused = await refusalOf(buyer.pay(thief.url))
    expect(refused.code).toBe('channel_unusable')
    // It gives nothing back, and what was not claimed still counts.
    expect(await buyer.closeChannels()).toMatchObject([
      { problem: expect.stringContaining('no longer offers'), left: 190_000n },
    ])
    expect((await buyer.spent()).left.perDay).toBe(800_000n)
  })

  it('makes a buyer fill no second channel by prices above what is left in the first', async () => {
    const thief = await aThief(async (payment, it) => {
      const settled = payment.payload.deposit
        ? await it.settle(payment)
        : { success: true, transaction: '', network }
      it.terms = { ...it.terms, amount: '50000' }
      return { status: 200, settled }
    })
    const { buyer } = await aBuyer({}, { channels: { deposit: '$0.05' } })
    await buyer.pay(thief.url)
    expect((await refusalOf(buyer.pay(thief.url))).code).toBe('channel_unusable')
    thief.terms = { ...thief.terms, amount: '40000' }
    expect(await buyer.pay(thief.url)).toMatchObject({ cost: 40_000n, channel: { left: 0n } })
    expect(await buyer.pay(thief.url)).toMatchObject({ channel: { calls: 1, left: 0n } })
    expect((await buyer.spent()).left.perDay).toBe(900_000n)
  })

  it('is not believed about more than vouchers that were signed before', async () => {
    const lies = ['10001', '20000', '190000', '99999999999999', '-1', '1e3', 5, null]
    const thief = await aThief(async (payment, it) => {
      if (payment.payload.type === 'deposit') {
        const settled = await it.settle(payment)
        return {
          status: 200,
          settled: {
            ...settled,
            extra: {
              channelState: { chargedCumulativeAmount: lies[it.payments.length % lies.length] },
            },
          },
        }
      }
      const { channelId } = payment.payload.voucher
      const channelState = {
        channelId,
        chargedCumulativeAmount: lies[it.payments.length % lies.length],
      }
      const error = 'invalid_batch_settlement_evm_cumulative_amount_mismatch'
      const voucherState = {
        signedMaxClaimable: '190000',
        signature: payment.payload.voucher.signature,
      }
      const terms = { ...it.terms, extra: { ...it.terms.extra, channelState, voucherState } }
      return { status: 402, required: { accepts: [terms], error } }
    })
    const { buyer, account } = await aBuyer()
    expect(await buyer.pay(thief.url)).toMatchObject({ cost: PRICE })
    for (let n = 0; n < lies.length * 2; n++) {
      await buyer
        .pay(`${thief.url}/${n}`)
        .catch((error) => expect(error.code).toBe('outcome_unknown'))
    }
    // Each refused call was signed for the same total again, or for one more call after one that was counted.
    const totals = thief.payments.map(({ payload }) => BigInt(payload.voucher.maxClaimableAmount))
    totals.reduce((highest, total) => {
      expect(total).toBeLessThanOrEqual(highest + PRICE)
      return total > highest ? total : highest
    })
    expect(claimable(thief)).toBeLessThanOrEqual(30_000n)
    const { voucher } = (thief.payments.at(-1) as Payment).payload
    const signer = await recoverTypedDataAddress({
      domain: {
        name: 'x402 Batch Settlement',
        version: '1',
        chainId: 5042,
        verifyingContract: devnetContracts.batchSettlement,
      },
      types: {
        Voucher: [
          { name: 'channelId', type: 'bytes32' },
          { name: 'maxClaimableAmount', type: 'uint128' },
        ],
      },
      primaryType: 'Voucher',
      message: {
        channelId: voucher.channelId,
        maxClaimableAmount: BigInt(voucher.maxClaimableAmount),
      },
      signature: voucher.signature,
    })
    expect(signer).toBe(account.address)
  })

  it('gets one more voucher for each two calls that it counts and refuses', async () => {
    const thief = await aThief(async (payment, it) => {
      const { voucher, deposit } = payment.payload
      if (deposit !== undefined) return { status: 200, settled: await it.settle(payment) }
      const channelState = {
        channelId: voucher.channelId,
        chargedCumulativeAmount: voucher.maxClaimableAmount,
      }
      const terms = { ...it.terms, extra: { ...it.terms.extra, channelState } }
      return { status: 402, required: { accepts: [null, terms] } }
    })
    const { buyer } = await aBuyer()
    await buyer.pay(thief.url)
    const ends: unknown[] = []
    for (let n = 0; n < 8; n++) {
      ends.push(
        await buyer.pay(`${thief.url}/${n}`).then(
          ({ response, isDecided }) => [response.status, isDecided],
          ({ code }) => code,
        ),
      )
    }
    const [refused, counted] = [[402, false], 'outcome_unknown']
    expect(ends).toEqual(Array.from({ length: 4 }, () => [refused, counted]).flat())
    expect(claimable(thief)).toBe(50_000n)
  })

  it('never gets a voucher above the deposit, whatever it charges', async () => {
    const thief = await aThief(async (payment, it) => {
      const settled = payment.payload.deposit
        ? await it.settle(payment)
        : { success: true, transaction: '', network }
      return {
        status: 200,
        settled,
      }
    })
    const { buyer } = await aBuyer({ perSeller: DEPOSIT })
    let bought = 0
    let refused: ArcusError | undefined
    for (let n = 0; n < 25 && refused === undefined; n++) {
      await buyer.pay(`${thief.url}/${n}`).then(
        () => bought++,
        (error) => {
          refused = error
        },
      )
    }
    expect(bought).toBe(20)
    expect(refused).toMatchObject({
      code: 'over_limit',
      details: { limit: 'perSeller', left: '0' },
    })
    expect(claimable(thief)).toBe(DEPOSIT)
  })

  it('that says it gave everything back is not believed', async () => {
    const thief = await aThief(async (payment, it) => {
      const word = { success: true, transaction: `0x${'cd'.repeat(32)}`, network, amount: '190000' }
      return { status: 200, settled: payment.payload.deposit ? await it.settle(payment) : word }
    })
    const { buyer, balance } = await aBuyer()
    await buyer.pay(thief.url)
    expect(await buyer.closeChannels()).toMatchObject([
      { left: 190_000n, problem: 'The chain does not show yet that it came back.' },
    ])
    expect(await balance()).toBe(10_000_000n - DEPOSIT)
    expect((await buyer.spent()).left.perDay).toBe(800_000n)
  })

  it('that lies about a deposit that never landed gets vouchers that are worth nothing', async () => {
    const thief = await aThief(async (payment) => {
      const transaction = payment.payload.deposit ? `0x${'ab'.repeat(32)}` : ''
      return { status: 200, settled: { success: true, transaction, network } }
    })
    const { buyer, balance } = await aBuyer()
    for (let n = 0; n < 3; n++) expect((await buyer.pay(`${thief.url}/${n}`)).isDecided).toBe(true)
    expect(await buyer.closeChannels()).toMatchObject([{ deposit: DEPOSIT }])
    expect(await balance()).toBe(10_000_000n)
    expect((await buyer.spent()).left.perDay).toBe(800_000n)
  })

  it('that says nothing of a deposit gets no second one, and it comes back when the chain can no longer take it', async () => {
    const thief = await aThief(async () => ({ status: 0 }))
    const { buyer, again } = await aBuyer()
    expect((await refusalOf(buyer.pay(`${thief.url}/a`))).code).toBe('unreachable')
    expect((await refusalOf(again().pay(`${thief.url}/b`))).code).toBe('channel_unusable')
    expect((await refusalOf(buyer.pay(`${thief.url}/a`))).code).toBe('outcome_unknown')
    expect(thief.payments).toHaveLength(1)
    expect((await buyer.spent()).left.perDay).toBe(800_000n)
    // The clock of this machine decides nothing.
    vi.setSystemTime(Date.now() + 3_600_000)
    expect((await again().spent()).left.perDay).toBe(800_000n)
    const chain = createPublicClient({ transport: http(world.chainUrl) })
    await chain.request({ method: 'evm_increaseTime' as never, params: [120] as never })
    await chain.request({ method: 'evm_mine' as never, params: [] as never })
    expect((await again().spent()).left.perDay).toBe(1_000_000n)
    vi.useRealTimers()
  })
})

it('a node of another chain is no reason to believe anything', async () => {
  const thief = await aThief(async () => ({ status: 0 }))
  const elsewhere: unknown[] = []
  const rpcUrl = await listening(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { id, method } = JSON.parse(body)
    elsewhere.push(method)
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: '0x1' }))
  })
  const { buyer } = await aBuyer({}, { rpcUrl })
  await refusalOf(buyer.pay(thief.url))
  expect((await buyer.spent()).left.perDay).toBe(800_000n)
  expect(new Set(elsewhere)).toEqual(new Set(['eth_chainId']))
})
