import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import { createPay } from '@arcus/client/pay'
import { type CheckStatement, checkTypedData } from '@arcus/protocol/x402/check-statement'
import { reasons } from '@arcus/protocol/x402/reasons'
import { declareDiscoveryExtension } from '@x402/extensions/bazaar'
import Sqlite from 'better-sqlite3'
import { type Address, recoverTypedDataAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { call } from '../../src/devnet/rpc.js'
import { startSampleApi } from '../../src/devnet/sample-api.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const keys = [generatePrivateKey(), generatePrivateKey()]
const wallets = keys.map((key) => privateKeyToAccount(key).address.toLowerCase() as Address)
const attestorKey = generatePrivateKey()
const attestor = privateKeyToAccount(attestorKey).address

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

/** Takes the money, and then does this. */
function afterSettling(deed: (response: ServerResponse) => unknown): Deed {
  return async (response, settle) => {
    await settle()
    deed(response)
  }
}

let favourite: string | undefined
let declared = schemaOf('number')
let price = '10000'
const json = { 'content-type': 'application/json' }
const offers: Record<string, () => Offer> = {
  '/fails': () => ({ deed: afterSettling((r) => r.writeHead(500).end()) }),
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
    deed: afterSettling((r) => r.writeHead(302, { location: '/paid' }).end()),
  }),
  '/again': () => ({
    seconds: 4,
    deed: (response) => void response.writeHead(402, askFor({ amount: '900000' })).end(),
  }),
  '/resets': () => ({ deed: afterSettling((r) => r.destroy()) }),
  '/typed': () => ({
    mimeType: 'application/json',
    async deed(response, settle) {
      await settle()
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>7</p>')
    },
  }),
  '/shaped': () => ({
    schema: schemaOf('number'),
    deed: afterSettling((r) => r.writeHead(200, json).end('{"tides":"no"}')),
  }),
  '/tides': () => ({
    schema: declared,
    deed: afterSettling((r) => r.writeHead(200, json).end('{"tides":7}')),
  }),
  '/dearer': () => ({
    amount: price,
    deed: afterSettling((r) => r.writeHead(200, json).end('{}')),
  }),
  '/blames': () => ({
    async deed(response, settle, { request }) {
      await settle()
      // A payment of somebody without money, under the nonce of the check.
      const { authorization } = paymentOf(request).payload
      const signer = privateKeyToAccount(generatePrivateKey())
      const wish = { nonce: authorization.nonce, signer, from: signer.address }
      const { body } = await world.post('/verify', await aSignedPayment(wish))
      expect(body).toMatchObject({ invalidReason: reasons.insufficientBalance.code })
      response.writeHead(500).end()
    },
  }),
  '/favours': () => ({
    async deed(response, settle, { payer }) {
      await settle()
      favourite ??= payer
      response.writeHead(payer === favourite ? 200 : 503, json).end('{}')
    },
  }),
}

const paymentOf = ({ headers }: IncomingMessage) =>
  JSON.parse(Buffer.from(String(headers['payment-signature']), 'base64').toString())
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

function askFor({ amount = '10000', seconds = 30, schema, mimeType }: Partial<Offer>) {
  const accepted = {
    scheme: 'exact',
    network: 'eip155:5042',
    amount,
    asset: devnetContracts.usdc,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: seconds,
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
      MAINNET_ASSETS: `${devnetContracts.usdc},${devnetContracts.eurc}`,
      ATTESTATION_PRIVATE_KEY: attestorKey,
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

/** Lets the pauses between checks pass, and for the checks of these endpoints more than a week. */
function pass(seconds: number, ids: readonly number[] = []) {
  const database = new Sqlite(world.databasePath)
  database.prepare('UPDATE paid_checks SET started_at = started_at - ?').run(seconds)
  const week = database.prepare(
    'UPDATE paid_checks SET started_at = started_at - 691200 WHERE endpoint_id = ?',
  )
  for (const id of ids) week.run(id)
  database.close()
}

const checksOf = async (merchant: string, id: number | undefined) =>
  (await world.get(`/api/merchants/${merchant}/endpoints/${id}/checks`)).body

/** Waits until each endpoint has so many checks, while pauses pass. */
async function untilChecked(merchant: string, ids: readonly number[], count = 1, again = false) {
  const deadline = Date.now() + 100_000
  for (;;) {
    const all = await Promise.all(ids.map((id) => checksOf(merchant, id)))
    if (all.every(({ checks }) => checks.length >= count)) return all
    if (Date.now() > deadline) throw new Error(JSON.stringify(all))
    pass(61, again ? ids : [])
    await call(world.chainUrl, 'evm_mine', [])
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
        at: check.at,
        delivered: true,
        reason: 'delivered',
        ms: check.ms,
        transaction: check.transaction,
      },
      share: 1,
      checks: 1,
      p50Ms: check.ms,
      outdated: false,
    })
    const paid = (await world.get(`/payments/${check.transaction}`)).body.payments
    expect(wallets).toContain(paid[0].payer.toLowerCase())
    expect(check.sha256).toMatch(/^0x[0-9a-f]{64}$/)
    expect(world.said.join()).not.toContain('penny saved')
    // The catalog tells it everywhere.
    const badge = await (await fetch(`${world.url}/badge/sample.svg`)).text()
    expect(badge).toContain('live · delivered<')
    const { resources } = (await world.get('/discovery/search?query=quote&delivered=true')).body
    expect(resources.map((it: { metadata: object }) => it.metadata)).toMatchObject([
      { delivery: found.delivery },
    ])
    const search = await world.get('/discovery/search?query=quote&delivered=false')
    expect(search.body.resources).toEqual([])
    const call = { name: 'search_resources', arguments: { query: 'quote', delivered: true } }
    const headers = { accept: 'application/json, text/event-stream' }
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const { result } = (await world.post('/mcp', rpc, headers)).body
    expect(result.structuredContent.resources).toMatchObject([{ delivery: found.delivery }])
    const cards = (await world.get('/api/endpoints?delivered=true')).body.items
    expect(cards).toMatchObject([{ id, delivery: found.delivery }])
    const { merchants } = (await world.get('/api/merchants')).body
    expect(merchants[0].endpoints[0].delivery).toEqual(found.delivery)
  })

  it('say of each hostile seller what it did, and what was paid', async () => {
    const paths = Object.keys(offers).filter(
      (it) => !['/tides', '/favours', '/dearer'].includes(it),
    )
    const ids = await list(
      'hostile',
      paths.map((path) => url + path),
    )
    const found = await untilChecked('hostile', ids)
    const told = Object.fromEntries(
      found.map(({ checks: [check] }, i) => [paths[i], [check.reason, check.transaction !== null]]),
    )
    expect(told).toEqual({
      '/fails': ['bad_status', true],
      '/slow': ['too_late', true],
      '/huge': ['too_large', true],
      '/moves': ['redirected', true],
      '/again': ['asked_again', false],
      '/resets': ['no_answer', true],
      '/typed': ['wrong_type', true],
      '/shaped': ['wrong_shape', true],
      '/blames': ['bad_status', true],
    })
    // A 402 after a payment, or a redirect, is not followed by another payment.
    for (const path of paths) {
      expect(heard.filter((it) => it.path === path && it.payment !== undefined)).toHaveLength(1)
    }
    expect(heard.filter(({ path }) => path === '/paid')).toEqual([])
    const failed = await vi.waitFor(async () => {
      const { events } = (await world.get('/api/merchants/hostile/events')).body
      const ofChecks = events.filter((it: { type: string }) => it.type === 'endpoint.not_delivered')
      expect(ofChecks).toHaveLength(paths.length)
      return ofChecks
    }, 10_000)
    const again = failed.find(({ data }: { data: { url: string } }) => data.url === `${url}/again`)
    expect(again.data).toMatchObject({ reason: 'asked_again', transaction: null })
    const delivered = (await world.get('/api/endpoints?delivered=true')).body.items
    expect(delivered.map(({ merchant }: { merchant: { id: string } }) => merchant.id)).toEqual([
      'sample',
    ])
  })

  it('sign each verdict, so that anybody can verify it without the service', async () => {
    const { items } = (await world.get('/api/endpoints?merchant=hostile')).body
    const [view] = await untilChecked('hostile', [items[0].id])
    const { payload, signature } = view.checks[0].statement
    expect(payload).toMatchObject({ resource: items[0].url, reason: view.checks[0].reason })
    const signer = (statement: CheckStatement) =>
      recoverTypedDataAddress({ ...checkTypedData(statement), signature })
    expect(await signer(payload)).toBe(attestor)
    expect(await signer({ ...payload, delivered: true })).not.toBe(attestor)
  })

  it('refuse another price than the catalog quotes, and pay nothing', async () => {
    price = '10000'
    const ids = await list('dear', [`${url}/dearer`])
    price = '20000'
    const [{ checks, delivery }] = await untilChecked('dear', ids)
    expect(checks[0]).toMatchObject({ reason: 'price_changed', amount: '0', transaction: null })
    expect(delivery.last.delivered).toBe(false)
    expect(heard.filter((it) => it.path === '/dearer' && it.payment !== undefined)).toEqual([])
    // A probe follows each purchase, so that nobody reads the price of hours ago.
    await vi.waitFor(async () => {
      const [card] = (await world.get('/api/endpoints?merchant=dear')).body.items
      expect(card).toMatchObject({ price: '10000', livePrice: '20000' })
    }, 15_000)
  })

  it('end with a seller who changes what it promises after the check', async () => {
    declared = schemaOf('number')
    const [id] = await list('tides', [`${url}/tides`])
    const [before] = await untilChecked('tides', [id as number])
    expect(before.delivery).toMatchObject({ last: { delivered: true }, outdated: false })
    declared = schemaOf('string')
    await list('tides', [`${url}/tides`])
    expect((await checksOf('tides', id)).delivery).toMatchObject({ outdated: true })
    const found = await world.get('/api/endpoints?merchant=tides&delivered=true')
    expect(found.body.items).toEqual([])
  })

  it('find a seller who serves one wallet only, because any wallet may come', async () => {
    const [id] = await list('favours', [`${url}/favours`])
    for (let count = 1; count < 30; count++) {
      const [{ checks }] = await untilChecked('favours', [id as number], count, true)
      if (checks[0].reason === 'bad_status') break
    }
    const { checks, delivery } = await checksOf('favours', id)
    expect(checks[0]).toMatchObject({ reason: 'bad_status' })
    expect(checks.at(-1)).toMatchObject({ reason: 'delivered' })
    expect(delivery.share).toBeLessThan(1)
  })

  it('look like a buyer with @arcus/client', async () => {
    const calls = heard.filter(({ path }) => path === '/fails')
    const paid = calls.findIndex(({ payment }) => payment !== undefined)
    const asked = calls.slice(paid - 1, paid + 1)
    heard.length = 0
    const { items } = (await world.get('/discovery/resources?merchant=hostile')).body
    const item = items.find(({ resource }: { resource: string }) => resource === `${url}/fails`)
    const options = { signer: devnetPayer.account, maxAmount: 10_000n, asset: devnetContracts.usdc }
    await createPay(fetch)(item, options)
    expect(heard.map(({ headers }) => headers)).toEqual(asked.map(({ headers }) => headers))
    const shapeOf = (value: unknown): unknown =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([name, member]) => [name, shapeOf(member)])
        : typeof value
    expect(shapeOf(heard[1]?.payment)).toEqual(shapeOf(asked[1]?.payment))
  })

  it('are not promised for what cannot be bought', async () => {
    const { endpoints } = await client().save('other', {
      name: 'other',
      payTo: devnetMerchant.address,
      endpoints: [
        {
          url: `${sample.url}/quote?euro`,
          method: 'GET',
          title: 'In euros',
          price: '10000',
          asset: devnetContracts.eurc,
        },
        { url: `${url}/never`, method: 'PUT', title: 'Never called', price: '10000' },
      ],
    })
    const [euros, unseen] = endpoints.map(({ state }) => state.id) as [number, number]
    const ask = (id: number) =>
      client()
        .requestCheck('other', id)
        .catch(({ code, message }) => [code, message])
    expect(await ask(euros)).toEqual([
      'not_checkable',
      'The endpoint cannot be bought from. It is not priced in dollars by exact with EIP-3009.',
    ])
    expect(await ask(unseen)).toEqual([
      'not_checkable',
      'The endpoint cannot be bought from. Its last probe did not find it live.',
    ])
  })

  it('are in no figure of use, and bring the seller real money', async () => {
    expect(await usdcBalance(world.chainUrl, devnetMerchant.address)).toBeGreaterThan(0n)
    const options = { signer: devnetPayer.account, maxAmount: 10_000n, asset: devnetContracts.usdc }
    expect((await createPay(fetch)(`${sample.url}/quote`, options)).response.ok).toBe(true)
    const usages = await vi.waitFor(async () => {
      const all = ['sample', 'hostile', 'tides', 'favours'].map(async (id) => {
        const { usage } = (await world.get(`/api/merchants/${id}`)).body
        return [id, usage]
      })
      const byId = Object.fromEntries(await Promise.all(all))
      // One customer paid here and in the test above, besides some checks.
      expect(byId.sample).toMatchObject({ calls: { '30d': 2 }, onlyHere: { '30d': 1 } })
      return byId
    }, 60_000)
    expect(usages).toMatchObject({ hostile: null, tides: null, favours: null })
  })
})

describe("the operator's own endpoint", () => {
  it('is bought from first, and its state is a metric', async () => {
    const key = generatePrivateKey()
    const own = await startWorld({
      env: {
        CHECK_PRIVATE_KEYS: key,
        HOSTED_PRIVATE_KEY: generatePrivateKey(),
        BUYBACK_ADDRESS: devnetMerchant.address,
      },
    })
    try {
      await mintUsdc(own.chainUrl, privateKeyToAccount(key).address, 1_000_000n)
      await own.stopService()
      await own.startService()
      const delivered = await vi.waitFor(async () => {
        const { items } = (await own.get('/api/endpoints?delivered=true')).body
        expect(items).toHaveLength(1)
        return items[0]
      }, 30_000)
      expect(delivered).toMatchObject({ hosted: true, merchant: { id: 'arcus' } })
      const page = await metricsWith(own, /^arcus_check_own_up 1$/m)
      expect(page).toMatch(/^arcus_check_wallets_funded 1$/m)
      expect(page).toMatch(/^arcus_checks\{reason="delivered"\} 1$/m)
      // It is bought from again the same day.
      const database = new Sqlite(own.databasePath)
      database.exec('UPDATE paid_checks SET started_at = started_at - 9000')
      database.close()
      const path = `/api/merchants/arcus/endpoints/${delivered.id}/checks`
      await vi.waitFor(
        async () => expect((await own.get(path)).body.checks).toHaveLength(2),
        30_000,
      )
    } finally {
      await own.stop()
    }
  })
})

/** Reads the figures until these are among them: the directory reports its own every few seconds. */
async function metricsWith({ url }: Pick<World, 'url'>, figure: RegExp): Promise<string> {
  return vi.waitFor(async () => {
    const page = await (await fetch(`${url}/metrics`)).text()
    expect(page).toMatch(figure)
    return page
  }, 20_000)
}

describe('a service that cannot settle', () => {
  it('says nothing of the seller who therefore does not deliver, and tells its operator', async () => {
    const key = generatePrivateKey()
    const poor = await startWorld({
      env: {
        PROBE_ALLOW_PRIVATE_HOSTS: 'true',
        CHECK_PRIVATE_KEYS: key,
        MAX_FEE_PER_GAS_GWEI: '0.000001',
        HOSTED_PRIVATE_KEY: generatePrivateKey(),
        BUYBACK_ADDRESS: devnetMerchant.address,
      },
    })
    let shop: Awaited<ReturnType<typeof startSampleApi>> | undefined
    try {
      await mintUsdc(poor.chainUrl, privateKeyToAccount(key).address, 1_000_000n)
      shop = await startSampleApi({
        port: await freePort(),
        facilitatorUrl: poor.url,
        payTo: devnetMerchant.address,
        assets: devnetContracts,
        network: 'eip155:5042',
      })
      const audience = `http://localhost:${new URL(poor.url).port}`
      const { account: signer } = devnetMerchant
      const { endpoints } = await createListingClient({
        directoryUrl: poor.url,
        signer,
        audience,
      }).save('shop', {
        name: 'Shop',
        payTo: devnetMerchant.address,
        endpoints: [{ url: `${shop.url}/quote`, method: 'GET', title: 'Quote', price: '10000' }],
      })
      const path = `/api/merchants/shop/endpoints/${endpoints[0]?.state.id}/checks`
      const database = new Sqlite(poor.databasePath)
      const judged = database.prepare('SELECT url FROM paid_checks WHERE reason IS NOT NULL')
      await vi.waitFor(
        () => {
          database.exec('UPDATE paid_checks SET started_at = started_at - 61')
          expect(judged.all()).toHaveLength(3)
        },
        { timeout: 40_000, interval: 500 },
      )
      database.close()
      // Until its end, the payment may still be settled.
      await call(poor.chainUrl, 'evm_increaseTime', [120])
      await call(poor.chainUrl, 'evm_mine', [])
      const answer = await vi.waitFor(async () => {
        const { body } = await poor.get(path)
        expect(body.checks).toHaveLength(1)
        return body
      }, 80_000)
      expect(answer).toMatchObject({
        delivery: null,
        checks: [{ reason: 'interrupted', delivered: false, amount: '0', transaction: null }],
      })
      const { events } = (await poor.get('/api/merchants/shop/events')).body
      expect(events).toEqual([])
      await metricsWith(poor, /^arcus_check_own_up 0$/m)
    } finally {
      await shop?.stop()
      await poor.stop()
    }
  })
})
