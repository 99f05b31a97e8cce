import { KeyedFacilitatorClient } from '@arcus/merchant/facilitator'
import { decodePaymentResponseHeader } from '@x402/core/http'
import {
  type FacilitatorClient,
  FacilitatorResponseError,
  HTTPFacilitatorClient,
} from '@x402/core/server'
import { SettleError } from '@x402/core/types'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as MerchantScheme } from '@x402/evm/exact/server'
import { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402/express'
import { paymentMiddleware as honoMiddleware } from '@x402/hono'
import express from 'express'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { startServer } from '../support/a-server.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const price = {
  amount: '10000',
  asset: devnetContracts.usdc,
  extra: { name: 'USDC', version: '2' },
}
const accepts = { scheme: 'exact', network, payTo: devnetMerchant.address, price } as const
const routes = { 'GET /paid': { accepts } }
let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
})
afterAll(() => world?.stop())

/** `away` loses the question, the others lose the answer: the money has moved by then. */
type Fault = 'cut' | 'page of a proxy' | 'away'

/**
 * Stands before the facilitator, and passes everything on but for the first settlements, one for each of `faults`.
 */
async function aPathThatLoses(faults: Fault[]) {
  const keys: unknown[] = []
  const server = await startServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.once('end', async () => {
      const { method = 'GET', url = '/' } = request
      const key = request.headers['idempotency-key']
      const headers = {
        'content-type': 'application/json',
        ...(key && { 'idempotency-key': `${key}` }),
      }
      const init = method === 'GET' ? {} : { method, headers, body: Buffer.concat(chunks) }
      const fault = url === '/settle' ? faults.shift() : undefined
      if (url === '/settle') keys.push(key)
      if (fault === 'away') return response.destroy()
      const answer = await fetch(world.url + url, init)
      const text = await answer.text()
      if (fault === 'cut') return response.destroy()
      if (fault !== undefined) return response.writeHead(502).end('<html>Bad Gateway</html>')
      return response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
    })
  })
  onTestFinished(() => server.close())
  return { url: server.url, keys }
}

/** Sells by the stock server, and resolves to the URL of what is sold. */
const shops: Record<string, (facilitator: FacilitatorClient) => Promise<typeof fetch>> = {
  async '@x402/express'(facilitator) {
    const app = express()
    app.use(expressMiddleware(routes, resourcesOf(facilitator)))
    app.get('/paid', (_request, response) => void response.json({ goods: true }))
    const server = await startServer(app)
    onTestFinished(() => server.close())
    return (input, init) => {
      const request = new Request(input, init)
      return fetch(new Request(server.url + new URL(request.url).pathname, request))
    }
  },
  async '@x402/hono'(facilitator) {
    const app = new Hono()
    app.use(honoMiddleware(routes, resourcesOf(facilitator)))
    app.get('/paid', (context) => context.json({ goods: true }))
    return async (input, init) => app.fetch(new Request(input, init))
  },
}

function resourcesOf(facilitator: FacilitatorClient) {
  return new x402ResourceServer(facilitator).register(network, new MerchantScheme())
}

/** Buys once by the official client, and returns the answer with what the buyer has paid. */
async function buy(send: typeof fetch) {
  const before = await usdcBalance(world.chainUrl, devnetPayer.address)
  const sent: Headers[] = []
  const noting: typeof fetch = (input, init) => {
    sent.push(new Request(input, init).headers)
    return send(input, init)
  }
  const buyer = payingBy(new BuyerScheme(devnetPayer.account), { send: noting })
  const answer = await buyer('http://shop.test/paid')
  const paid = before - (await usdcBalance(world.chainUrl, devnetPayer.address))
  const again = () =>
    send('http://shop.test/paid', {
      headers: { 'payment-signature': sent.at(-1)?.get('payment-signature') ?? '' },
    })
  return { answer, text: await answer.text(), paid, again }
}

const receiptOf = (answer: Response) =>
  decodePaymentResponseHeader(answer.headers.get('payment-response') as string)

describe.each(Object.keys(shops))(
  'a shop of %s whose facilitator settles and is cut off',
  (shop) => {
    const open = (facilitator: FacilitatorClient) =>
      shops[shop]?.(facilitator) as Promise<typeof fetch>

    it.each<[string, Fault[]]>([
      ['once', ['cut']],
      ['twice', ['cut', 'cut']],
      ['by a proxy that starts again', ['page of a proxy', 'cut']],
    ])('%s delivers once, for one payment, with the keyed client', async (_, faults) => {
      const path = await aPathThatLoses([...faults])
      const { answer, text, paid, again } = await buy(await open(new KeyedFacilitatorClient(path)))
      expect([answer.status, text]).toEqual([200, '{"goods":true}'])
      expect(receiptOf(answer)).toMatchObject({
        success: true,
        transaction: expect.stringMatching(/^0x\w{64}$/),
      })
      expect(paid).toBe(10_000n)
      expect(path.keys).toHaveLength(faults.length + 1)
      expect(new Set(path.keys).size).toBe(1)
      // The payment is spent: whoever shows it again gets nothing.
      const second = await again()
      expect(second.status).toBe(402)
      expect(await second.text()).not.toContain('goods')
    })

    it('says 502 and not 402 when no answer comes at all: a buyer of a 402 would pay again', async () => {
      const path = await aPathThatLoses(['cut', 'cut', 'cut'])
      const { answer, text, paid } = await buy(await open(new KeyedFacilitatorClient(path)))
      expect(answer.status).toBe(502)
      expect(text).toMatch(/Present the same payment again, not a new one/)
      expect(paid).toBe(10_000n)
    })

    it('says 502 while the facilitator is away, and the same payment buys when it is back', async () => {
      const path = await aPathThatLoses(['away', 'away', 'away'])
      const { answer, paid, again } = await buy(await open(new KeyedFacilitatorClient(path)))
      expect([answer.status, paid]).toEqual([502, 0n])
      const second = await again()
      expect([second.status, await second.text()]).toEqual([200, '{"goods":true}'])
    })

    it('answers 402 with an empty body with the client of the official packages, and keeps the money', async () => {
      const path = await aPathThatLoses(['cut'])
      const { answer, text, paid, again } = await buy(await open(new HTTPFacilitatorClient(path)))
      expect([answer.status, text]).toEqual([402, '{}'])
      expect(receiptOf(answer)).toMatchObject({ success: false, transaction: '' })
      expect(paid).toBe(10_000n)
      expect((await again()).status).toBe(402)
      expect(path.keys).toEqual([undefined])
    })
  },
)

describe('the keyed client', () => {
  /** Settles with a facilitator that answers as given, one after the other. */
  async function settleWith(...answers: { status?: number; body: object }[]) {
    const heard: unknown[] = []
    const server = await startServer((request, response) => {
      request.resume().once('end', () => {
        heard.push([
          request.headers.authorization,
          request.headers['idempotency-key'] !== undefined,
        ])
        const { status = 200, body } = answers.shift() ?? { body: {} }
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
    })
    onTestFinished(() => server.close())
    const createAuthHeaders = async () => ({
      verify: {},
      settle: { authorization: 'Bearer of-circle' },
      supported: {},
    })
    const client = new KeyedFacilitatorClient({ url: server.url, createAuthHeaders })
    const { paymentPayload, paymentRequirements } = await aSignedPayment()
    const settled = client.settle(paymentPayload as never, paymentRequirements as never)
    return { settled: await settled.catch((error) => error), heard }
  }
  const failed = { success: false, network, transaction: '' }

  it('leaves the pending answer of Circle as it is, and the headers of its key', async () => {
    const extensions = {
      'settlement-status': { status: 'pending', paymentId: 'p_1', statusUrl: 'https://c.test/p_1' },
    }
    const body = { ...failed, errorReason: 'settlement_pending', paymentId: 'p_1', extensions }
    const { settled, heard } = await settleWith({ body })
    expect(settled).toMatchObject({ success: false, errorReason: 'settlement_pending', extensions })
    expect(heard).toEqual([['Bearer of-circle', true]])
  })

  it('passes on a refusal with its code, and asks once', async () => {
    const errorReason = 'invalid_exact_evm_insufficient_balance'
    const { settled, heard } = await settleWith({ body: { ...failed, errorReason } })
    expect(settled).toMatchObject({ success: false, errorReason })
    expect(heard).toHaveLength(1)
    const other = await settleWith({
      status: 429,
      body: { ...failed, errorReason: 'rate_limited' },
    })
    expect(other.settled).toBeInstanceOf(SettleError)
    expect(other.heard).toHaveLength(1)
  })

  it('asks again where Arcus does not know, and says so if it never does', async () => {
    const unknown = { status: 503, body: { ...failed, errorReason: 'settlement_unknown' } }
    const success = { ...failed, success: true, transaction: `0x${'ab'.repeat(32)}` }
    const { settled, heard } = await settleWith(unknown, { body: success })
    expect(settled).toMatchObject({ success: true })
    expect(heard).toHaveLength(2)
    const never = await settleWith(unknown, unknown, unknown)
    expect(never.settled).toBeInstanceOf(FacilitatorResponseError)
  })

  it('assumes the networks it was given while the facilitator is away, and no other', async () => {
    const url = 'http://127.0.0.1:9'
    await expect(new KeyedFacilitatorClient({ url }).getSupported()).rejects.toThrow()
    const assuming = new KeyedFacilitatorClient({ url, assumes: [network] })
    expect((await assuming.getSupported()).kinds).toEqual([
      { x402Version: 2, scheme: 'exact', network },
    ])
    const there = new KeyedFacilitatorClient({ url: world.url, assumes: ['eip155:1'] })
    expect((await there.getSupported()).kinds.map((kind) => kind.network)).not.toContain('eip155:1')
  })
})
