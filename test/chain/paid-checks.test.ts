import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import { createPay } from '@arcus/client/pay'
import { type CheckStatement, checkTypedData } from '@arcus/protocol/x402/check-statement'
import { declareDiscoveryExtension } from '@x402/extensions/bazaar'
import Sqlite from 'better-sqlite3'
import { type Address, recoverTypedDataAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { callRpc } from '../../src/devnet/rpc.js'
import { startSampleApi } from '../../src/devnet/sample-api.js'
import { startWorld, type World } from '../support/arcus.js'

const keys = [generatePrivateKey(), generatePrivateKey()]
const wallets = keys.map((key) => privateKeyToAccount(key).address.toLowerCase() as Address)
const attestor = privateKeyToAccount(generatePrivateKey())

type Settle = () => Promise<void>
/** How a seller answers a paid call. */
type Deed = (
  response: ServerResponse,
  settle: Settle,
  call: { request: IncomingMessage; payer: string },
) => Promise<void> | void

const schemaOf = (type: string) => ({
  properties: { tides: { type } },
  required: ['tides'],
})

/** What each hostile endpoint asks for and does. */
interface Offer {
  deed: Deed
  amount?: string
  seconds?: number
  schema?: Record<string, unknown>
  mimeType?: string
}

let favourite: string | undefined
const declared = schemaOf('number')
const price = '10000'
const json = { 'content-type': 'application/json' }
const offers: Record<string, () => Offer> = {
  '/fails': () => ({ deed: async (r, settle) => (await settle(), void r.writeHead(500).end()) }),
  '/slow': () => ({
    seconds: 4,
    async deed(response, settle) {
      await settle()
      response.writeHead(200, json)
      const timer = setInterval(() => response.write(' '), 100)
      response.on('close', () => clearInterval(timer))
    },
  }),
  '/huge': () => ({
    async deed(response, settle) {
      await settle()
      response.writeHead(200, json)
      const part = Buffer.alloc(1_048_576, 0x20)
      for (let i = 0; i < 100 && !response.destroyed; i++) {
        await new Promise((resolve) => response.write(part, resolve))
      }
      response.end()
    },
  }),
  '/moves': () => ({
    deed: async (r, settle) => (await settle(), void r.writeHead(302, { location: '/paid' }).end()),
  }),
  '/again': () => ({
    seconds: 4,
    deed: (response) => void response.writeHead(402, askFor({ amount: '900000' })).end(),
  }),
  '/resets': () => ({ deed: async (r, settle) => (await settle(), void r.destroy()) }),
  '/typed': () => ({
    mimeType: 'application/json',
    async deed(response, settle) {
      await settle()
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>7</p>')
    },
  }),
  '/shaped': () => ({
    schema: schemaOf('number'),
    deed: async (r, settle) => (await settle(), void r.writeHead(200, json).end('{"tides":"no"}')),
  }),
  '/tides': () => ({
    schema: declared,
    deed: async (r, settle) => (await settle(), void r.writeHead(200, json).end('{"tides":7}')),
  }),
  '/dearer': () => ({
    amount: price,
    deed: async (r, settle) => (await settle(), void r.writeHead(200, json).end('{}')),
  }),
  '/favours': () => ({
    async deed(response, settle, { payer }) {
      await settle()
      favourite ??= payer
      response.writeHead(payer === favourite ? 200 : 503, json).end('{}')
    },
  }),
}

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

function askFor({ amount = '10000', seconds = 30, schema, mimeType }: Partial<Offer>) {
  const accepted = {
    ...{ scheme: 'exact', network: 'eip155:5042', amount, asset: devnetContracts.usdc },
    ...{ payTo: devnetMerchant.address, maxTimeoutSeconds: seconds },
    extra: { name: 'USDC', version: '2' },
  }
  const resource = { url: 'http://x', description: 'x', ...(mimeType && { mimeType }) }
  const extensions = schema && declareDiscoveryExtension({ output: { example: {}, schema } })
  const required = { x402Version: 2, resource, accepts: [accepted], extensions }
  return { 'payment-required': base64(required) }
}

interface Heard {
  path: string
  headers: string[]
  payment: Record<string, unknown> | undefined
}

let world: World
let url: string
let stopSeller: () => Promise<void>
let sample: Awaited<ReturnType<typeof startSampleApi>>
const heard: Heard[] = []
const namesOf = (request: IncomingMessage) =>
  request.rawHeaders.map((text, i) =>
    i % 2 === 1 && request.rawHeaders[i - 1]?.toLowerCase() === 'payment-signature' ? '…' : text,
  )

beforeAll(async () => {
  world = await startWorld({
    env: {
      PROBE_ALLOW_PRIVATE_HOSTS: 'true',
      CHECK_PRIVATE_KEYS: keys.join(','),
      CHECK_DAILY_USD: '5',
    },
  })
  const server = createServer(async (request, response) => {
    const offer = offers[request.url ?? '']?.()
    const text = request.headers['payment-signature']
    const payment =
      typeof text === 'string' ? JSON.parse(Buffer.from(text, 'base64').toString()) : undefined
    heard.push({ path: request.url ?? '', headers: namesOf(request), payment })
    if (offer === undefined) return void response.writeHead(404).end()
    if (payment === undefined) return void response.writeHead(402, askFor(offer)).end()
    const paymentRequirements = payment.accepted
    const settle = async () => {
      const body = { x402Version: 2, paymentPayload: payment, paymentRequirements }
      expect((await world.post('/settle', body)).body).toMatchObject({ success: true })
    }
    const payer = payment.payload.authorization.from
    await offer.deed(response, settle, { request, payer })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  stopSeller = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  sample = await startSampleApi({
    port: await freePort(),
    facilitatorUrl: world.url,
    payTo: devnetMerchant.address,
    assets: devnetContracts,
    network: 'eip155:5042',
  })
})
afterAll(async () => {
  await sample?.stop()
  await stopSeller?.()
  await world?.stop()
})

const client = () =>
  createListingClient({
    directoryUrl: world.url,
    signer: devnetMerchant.account,
    audience: `http://localhost:${new URL(world.url).port}`,
  })

async function list(id: string, urls: string[]) {
  const saved = await client().save(id, {
    name: id,
    payTo: devnetMerchant.address,
    endpoints: urls.map((it) => ({ url: it, method: 'GET', title: it, price: '10000' })),
  })
  return saved.endpoints.map(({ state }) => state.id)
}

/** Lets the pauses between checks pass: `seconds` pass for every check so far. */
function pass(seconds: number) {
  const database = new Sqlite(world.databasePath)
  database.prepare('UPDATE paid_checks SET started_at = started_at - ?').run(seconds)
  database.close()
}

const checksOf = async (merchant: string, id: number | undefined) =>
  (await world.get(`/api/merchants/${merchant}/endpoints/${id}/checks`)).body

/** Waits until each endpoint has so many checks, while pauses pass. */
async function untilChecked(merchant: string, ids: readonly number[], count = 1, by = 61) {
  const deadline = Date.now() + 100_000
  for (;;) {
    const all = await Promise.all(ids.map((id) => checksOf(merchant, id)))
    if (all.every(({ checks }) => checks.length >= count)) return all
    if (Date.now() > deadline) throw new Error(JSON.stringify(all))
    pass(by)
    await callRpc(world.chainUrl, 'evm_mine', [])
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

describe('paid checks', () => {
  it('buy nothing while no wallet holds money, and then deliver the official seller', async () => {
    const [id] = await list('sample', [`${sample.url}/quote`])
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(await checksOf('sample', id)).toMatchObject({ delivery: null, checks: [] })
    for (const wallet of wallets) await mintUsdc(world.chainUrl, wallet, 10_000_000n)
    await world.stopService()
    await world.startService()
    const [found] = await untilChecked('sample', [id as number])
    const [check] = found.checks
    expect(check).toMatchObject({ delivered: true, reason: 'delivered', amount: '10000' })
    expect(found.delivery).toEqual({
      last: {
        ...{ at: check.at, delivered: true, reason: 'delivered' },
        ...{ ms: check.ms, transaction: check.transaction },
      },
      share: 1,
      p50Ms: check.ms,
      outdated: false,
    })
    const paid = (await world.get(`/payments/${check.transaction}`)).body.payments
    expect(wallets).toContain(paid[0].payer.toLowerCase())
    expect(check.sha256).toMatch(/^0x[0-9a-f]{64}$/)
    expect(world.said.join()).not.toContain('penny saved')
    // The catalog tells it everywhere.
    const { items } = (await world.get('/discovery/resources?delivered=true')).body
    expect(items.map((it: { metadata: object }) => it.metadata)).toMatchObject([
      { delivery: found.delivery },
    ])
    const search = await world.get('/discovery/search?query=quote&delivered=false')
    expect(search.body.resources).toEqual([])
    const cards = (await world.get('/api/endpoints?delivered=true')).body.items
    expect(cards).toMatchObject([{ id, delivery: found.delivery }])
    const { merchants } = (await world.get('/api/merchants')).body
    expect(merchants[0].endpoints[0].delivery).toEqual(found.delivery)
  })
})
