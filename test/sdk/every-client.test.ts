import type { AddressInfo } from 'node:net'
import { x402 } from '@arcus/merchant'
import type { BazaarStatus } from '@arcus/protocol/x402/bazaar'
import { x402Client as AxiosClient, wrapAxiosWithPayment } from '@x402/axios'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequired, SettleResponse } from '@x402/core/types'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as SellerScheme } from '@x402/evm/exact/server'
import { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402/express'
import { bazaarResourceServerExtension, declareDiscoveryExtension } from '@x402/extensions/bazaar'
import { x402Client } from '@x402/fetch'
import { paymentMiddleware as honoMiddleware } from '@x402/hono'
import axios from 'axios'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { startServer, type TestServer } from '../support/a-server.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const scheme = new BuyerScheme(devnetPayer.account)
/** Time from the last payment to the last listing. */
const LISTED_WITHIN_MS = 10_000

interface Sent {
  payload: PaymentPayload
  required: PaymentRequired
}

/** Buys, and says whether the stock servers take its payment and whether what it sends names the URL. */
interface BuyingClient {
  name: string
  namesUrl: boolean
  takenByStock?: false
  buy: (url: string) => Promise<{ status: number }>
}

/** Signs with the official scheme, and sends what a client of its own making makes of that. */
function byHand(make: (sent: Sent) => object, header = 'PAYMENT-SIGNATURE') {
  return async (url: string) => {
    const asked = await fetch(url)
    const required = decodePaymentRequiredHeader(asked.headers.get('PAYMENT-REQUIRED') as string)
    const payer = x402Client.fromConfig({
      schemes: [{ network, client: scheme }],
      spendControls: { allowedAssets: [{ network, asset }] },
    })
    const payload = await payer.createPaymentPayload(required)
    const value = Buffer.from(JSON.stringify(make({ payload, required }))).toString('base64')
    return fetch(url, { headers: { [header]: value } })
  }
}

const core = ({ payload: { x402Version, accepted, payload } }: Sent) => {
  return { x402Version, accepted, payload }
}

const clients: BuyingClient[] = [
  { name: 'official-fetch', namesUrl: true, buy: (url) => payingBy(scheme)(url) },
  {
    name: 'official-axios',
    namesUrl: true,
    buy(url) {
      const config = { schemes: [{ network, client: scheme as never }] } as const
      return wrapAxiosWithPayment(axios.create(), AxiosClient.fromConfig(config as never)).get(url)
    },
  },
  {
    name: 'without-extensions',
    namesUrl: true,
    buy: byHand((sent) => ({ ...core(sent), resource: sent.required.resource })),
  },
  {
    name: 'without-resource',
    namesUrl: false,
    buy: byHand((sent) => ({ ...core(sent), extensions: sent.required.extensions })),
  },
  { name: 'without-both', namesUrl: false, buy: byHand(core) },
  {
    // As the client of Python writes members that it does not have.
    name: 'with-nulls',
    namesUrl: false,
    buy: byHand((sent) => ({ ...core(sent), resource: null, extensions: null })),
  },
  {
    // A body of version 2 with the members of version 1 beside it, and a resource of the URL alone.
    name: 'both-versions',
    namesUrl: true,
    buy: byHand((sent) => {
      const { scheme, network } = sent.payload.accepted
      const { url } = sent.required.resource
      return { ...core(sent), scheme, network, resource: { url }, extensions: {} }
    }),
  },
  {
    name: 'old-header',
    namesUrl: true,
    takenByStock: false,
    buy: byHand((sent) => ({ ...core(sent), resource: sent.required.resource }), 'X-PAYMENT'),
  },
]

interface Seller {
  name: string
  payTo: Address
  url: string
  /** What the facilitator answered about the extension, latest last. */
  answers: BazaarStatus[]
  stop(): Promise<unknown>
}

let world: World
let sellers: Seller[]

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true', RATE_LIMIT_MAX: '0' } })
  sellers = await Promise.all([sellByExpress(), sellByHono(), sellByFastify()])
})
afterAll(async () => {
  await Promise.all(sellers.map((seller) => seller.stop()))
  await world.stop()
})

/** The official client of the facilitator, which keeps what it was answered. */
function aFacilitator() {
  const client = new HTTPFacilitatorClient({ url: world.url })
  const answers: BazaarStatus[] = []
  const settle: typeof client.settle = async (...asked) => {
    const settled = await client.settle(...asked)
    const { extensionResponses } = settled as SettleResponse & {
      extensionResponses?: { bazaar?: BazaarStatus }
    }
    if (extensionResponses?.bazaar !== undefined) answers.push(extensionResponses.bazaar)
    return settled
  }
  const facilitator = {
    settle,
    verify: client.verify.bind(client),
    getSupported: () => client.getSupported(),
  }
  return { facilitator, answers }
}

const amountOf = (i: number) => String(10_001 + i)

/** The routes of a stock server: one for each client, at a price of its own. */
function stockRoutes(payTo: Address) {
  const extensions = declareDiscoveryExtension({ output: { example: { goods: true } } } as never)
  const routes = clients.map(({ name }, i) => {
    const price = { amount: amountOf(i), asset, extra: { name: 'USDC', version: '2' } }
    const accepts = { scheme: 'exact', network, payTo, price } as const
    return [`GET /${name}`, { accepts, extensions, description: `For ${name}` }] as const
  })
  return Object.fromEntries(routes)
}

const aStock = (facilitator: ReturnType<typeof aFacilitator>['facilitator']) =>
  new x402ResourceServer(facilitator)
    .register(network, new SellerScheme())
    .registerExtension(bazaarResourceServerExtension)

async function sellByExpress(): Promise<Seller> {
  const payTo = anAccount().address
  const { facilitator, answers } = aFacilitator()
  const app = express()
  app.use(expressMiddleware(stockRoutes(payTo), aStock(facilitator)))
  app.get('/:client', (_request, response) => void response.json({ goods: true }))
  const server = await startServer(app, '0.0.0.0')
  return { name: 'Express', payTo, url: server.url, answers, stop: server.close }
}

async function sellByHono(): Promise<Seller> {
  const payTo = anAccount().address
  const { facilitator, answers } = aFacilitator()
  const app = new Hono()
  app.use(honoMiddleware(stockRoutes(payTo), aStock(facilitator)))
  app.get('/:client', (context) => context.json({ goods: true }))
  const server: TestServer = await startServer(async (request, response) => {
    const headers = new Headers(request.headers as Record<string, string>)
    const asked = new Request(`http://${request.headers.host}${request.url}`, { headers })
    const answer = await app.fetch(asked)
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(await answer.text())
  }, '0.0.0.0')
  return { name: 'Hono', payTo, url: server.url, answers, stop: server.close }
}

async function sellByFastify(): Promise<Seller> {
  const payTo = anAccount().address
  const { facilitator, answers } = aFacilitator()
  const app = fastify()
  await app.register(x402, { facilitator, payTo })
  for (const [i, { name }] of clients.entries()) {
    app.get(`/${name}`, { config: { x402: { amount: amountOf(i), asset } } }, () => ({
      goods: true,
    }))
  }
  await app.listen({ host: '0.0.0.0', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  return { name: 'our plugin', payTo, url, answers, stop: () => app.close() }
}

/** Returns what is live of a seller. By `payTo` the list has the rest as well, each with its status. */
// biome-ignore lint/suspicious/noExplicitAny: items are what the tests look into
async function itemsOf(seller: Seller): Promise<any[]> {
  const { body } = await world.get(`/discovery/resources?limit=100&payTo=${seller.payTo}`)
  return body.items.filter(({ status }: { status?: string }) => status === undefined)
}

/** One host is called once a second, so every second client knows a server by another address. */
function urlFor({ name }: BuyingClient, { url }: Seller): string {
  const place = clients.findIndex((client) => client.name === name)
  return `${place % 2 === 0 ? url : url.replace('127.0.0.1', '127.0.0.2')}/${name}`
}

const stock = (seller: Seller) => seller.name !== 'our plugin'

describe('one purchase by each of eight clients', () => {
  it('lists what was bought within ten seconds, whatever the client sends', async () => {
    for (const seller of sellers) {
      for (const client of clients) {
        const { status } = await client.buy(urlFor(client, seller))
        expect(status, `${client.name} at ${seller.name}`).toBe(
          client.takenByStock === false && stock(seller) ? 402 : 200,
        )
      }
    }
    const paidAt = Date.now()
    for (const seller of sellers) {
      const bought = clients.filter((it) => !stock(seller) || it.takenByStock !== false)
      const expected = bought
        .filter((it) => !stock(seller) || it.namesUrl)
        .map((client) => urlFor(client, seller))
        .sort()
      await expect
        .poll(async () => (await itemsOf(seller)).map(({ resource }) => resource).sort(), {
          timeout: LISTED_WITHIN_MS,
          message: seller.name,
        })
        .toEqual(expected)
      for (const { accepts, extensions } of await itemsOf(seller)) {
        expect(accepts).toMatchObject([{ payTo: seller.payTo }])
        expect(extensions).toMatchObject({ bazaar: expect.any(Object) })
      }
    }
    expect(Date.now() - paidAt).toBeLessThan(LISTED_WITHIN_MS)
  })

  it('is noted where a stock server passes on a payment without a URL', async () => {
    for (const seller of sellers.filter(stock)) {
      for (const client of clients.filter(({ namesUrl }) => !namesUrl)) {
        await expect
          .poll(
            async () => {
              await client.buy(urlFor(client, seller))
              return seller.answers.at(-1)
            },
            { timeout: LISTED_WITHIN_MS, interval: 500 },
          )
          .toEqual({
            status: 'rejected',
            rejectedReason: expect.stringMatching(
              /client left resource\.url out.*not just one API/,
            ),
          })
      }
    }
  })

  it('counts for the API at its price, once a later payment has listed that', async () => {
    const [seller] = sellers as [Seller]
    const without = clients.find(({ name }) => name === 'without-both') as BuyingClient
    const url = urlFor(without, seller)
    expect((await payingBy(scheme)(url)).status).toBe(200)
    const found = async () => (await itemsOf(seller)).find(({ resource }) => resource === url)
    await expect.poll(found, { timeout: LISTED_WITHIN_MS }).toBeDefined()
    const calls = async () => (await found())?.metadata.usage?.calls['24h'] ?? 0
    const before = await calls()
    await without.buy(url)
    await without.buy(url)
    await expect.poll(calls, { timeout: 15_000 }).toBeGreaterThanOrEqual(before + 2)
  })
})
