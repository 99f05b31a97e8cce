import { readFileSync } from 'node:fs'
import { createListingClient } from '@arcus/client/listing-client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import Sqlite from 'better-sqlite3'
import type { Address } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc } from '../../src/devnet/fixtures.js'
import type { OpenApiDocument } from '../../src/http/openapi.js'
import { operationsOf } from '../openapi/described.js'
import { aChannel } from '../support/a-channel.js'
import { aPermit2Payment, approvePermit2, charging } from '../support/a-permit2-payment.js'
import { startServer, type TestServer } from '../support/a-server.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { type Collector, startCollector } from '../support/collector.js'

/** Nothing else has this word: it is in the login, the query and the fragment of what buyers paid for. */
const CANARY = /canary/i
const secretQuery = '?patient=canary4711&session=canary%20token#canary-fragment'

const id = 'clinic'
const owner = anAccount()
/** Paid without a listing: one whose endpoint answers, and one whose endpoint nobody reaches. */
const [found, unreached] = [anAccount(), anAccount()]

let world: World
let shop: TestServer
let collector: Collector
let shopUrl: string
let cookie: string
const lines: string[] = []
/** What the routes of payments are asked with. */
const payments: Record<'payer' | 'nonce' | 'transaction' | 'paymentId', string>[] = []
let answers = ''
/** What sellers were answered about the extension. */
const extensionAnswers: string[] = []

beforeAll(async () => {
  shop = await startServer((request, response) => {
    const payTo = request.url?.startsWith('/found') ? found.address : owner.address
    const terms = { scheme: 'exact', network: 'eip155:5042', amount: '10000' }
    const extra = { name: 'USDC', version: '2' }
    const accepts = [{ ...terms, asset: devnetContracts.usdc, payTo, maxTimeoutSeconds: 60, extra }]
    const required = { x402Version: 2, resource: { url: request.url }, accepts }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  shopUrl = shop.url
  collector = await startCollector()
  // Variables of OpenTelemetry are read by its SDK.
  vi.stubEnv('OTEL_TRACES_SAMPLER_ARG', '1')
  world = await startWorld({
    env: {
      RATE_LIMIT_MAX: '0',
      PROBE_ALLOW_PRIVATE_HOSTS: 'true',
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      ATTESTATION_PRIVATE_KEY: `0x${'a7'.repeat(32)}`,
    },
    onLine: (line) => lines.push(JSON.stringify(line)),
  })
  const audience = `http://localhost:${new URL(world.url).port}`
  await createListingClient({ directoryUrl: world.url, audience, signer: owner }).save(id, {
    name: 'Clinic',
    payTo: owner.address,
    endpoints: [{ url: `${shopUrl}/results`, method: 'GET', title: 'Results', price: '10000' }],
  })
  await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 12n)
  await payForEverything()
  cookie = await signIn()
  await kept()
})
afterAll(async () => {
  await shop.close()
  await world.stop()
  await collector.stop()
})

type Body = { paymentPayload: object }

/** The extension of a seller who writes the call itself into it. */
const echoed = {
  bazaar: {
    info: {
      input: { type: 'http', method: 'GET', queryParams: { patient: 'canary4711' } },
      output: {
        type: 'json',
        example: { results: 'of https://u.example/?session=canary%20token' },
      },
    },
    schema: { type: 'object' },
  },
}

/** Names a resource with a secret in its query, as a buyer's client does. */
function about<Payment extends Body>(payment: Payment, url: string, extensions?: object): Payment {
  const paymentPayload = {
    ...payment.paymentPayload,
    resource: { url, description: 'Results of patient canary4711' },
    ...(extensions && { extensions }),
  }
  return { ...payment, paymentPayload }
}

const secretUrl = (place: string) =>
  `http://canary-user:canary-password@${shopUrl.slice('http://'.length)}${place}${secretQuery}`

const exact = (to: Address, wish: Parameters<typeof aSignedPayment>[0] = {}) =>
  aSignedPayment({ to, ...wish })

async function settle(payment: Body): Promise<void> {
  const { body, headers } = await world.post('/settle', payment)
  expect(body).toMatchObject({ success: true })
  const listed = headers.get('EXTENSION-RESPONSES')
  if (listed !== null) extensionAnswers.push(Buffer.from(listed, 'base64').toString())
}

async function payForEverything(): Promise<void> {
  const to = owner.address
  const place = secretUrl('/results')
  const ofListed = about(await exact(to), place, echoed)
  await world.post('/verify', ofListed)
  await settle(ofListed)
  await settle(about(await exact(found.address), secretUrl('/found'), echoed))
  await settle(about(await exact(unreached.address), `http://127.0.0.1:1/x${secretQuery}`, echoed))
  // The buyer accepted other terms than were paid, which discovery says to anybody who asks about the URL.
  const other = about(await exact(unreached.address), `http://127.0.0.1:1/y${secretQuery}`, echoed)
  Object.assign(other.paymentPayload.accepted as object, { amount: '1' })
  await settle(other)
  const permit2 = await aPermit2Payment({ scheme: 'exact', to })
  await settle(about(permit2, place))
  const upto = await aPermit2Payment({ to })
  await settle(about(charging(upto, 5_000n), place))
  await settle(about(charging(await aPermit2Payment({ to }), 0n), place))
  const payer = anAccount()
  await mintUsdc(world.chainUrl, payer.address, 1_000_000n)
  await settle(about(await aChannel({ payer, receiver: to }).deposit(), place))
  for (const odd of [
    `canary: no URL ${secretQuery}`,
    `data:text/plain,canary`,
    `mcp://canary@tool/tides${secretQuery}`,
    `//canary@host/path`,
    `https:canary-user:canary@clinic.example\\results\t${secretQuery}`,
  ]) {
    await settle(about(await exact(to), odd))
  }
  const refused = about(await exact(to, { signer: anAccount() }), place)
  expect((await world.post('/settle', refused)).body).toMatchObject({ success: false })
  await world.post('/settle', { ...ofListed, x402Version: secretUrl('/') })
  const { transaction } = (await world.post('/settle', ofListed)).body
  const { from, nonce } = ofListed.paymentPayload.payload.authorization as Record<string, string>
  const settled = await world.get(`/payments/eip155:5042/${from}/${nonce}`)
  const { paymentId } = settled.body
  payments.push({ payer: String(from), nonce: String(nonce), transaction, paymentId })
  const { from: buyer, nonce: number } = upto.paymentPayload.payload.permit2Authorization
  const spelled = `0x${BigInt(number).toString(16).padStart(64, '0')}`
  const status = await world.get(`/payments/eip155:5042/${buyer}/${spelled}`)
  const { transaction: sent, paymentId: ofUpto } = status.body
  payments.push({ payer: buyer, nonce: spelled, transaction: sent, paymentId: ofUpto })
}

/** Resolves when everything that was answered is kept, listed and published. */
async function kept(): Promise<void> {
  const read = async (path: string) => JSON.parse(await readAll(path, 'application/json'))
  await vi.waitFor(
    async () => {
      const { items } = await read(`/api/merchants/${id}/activity/table?state=settled`)
      expect(items).toHaveLength(9)
      expect((await read(`/api/merchants/${id}/events`)).events.length).toBeGreaterThan(7)
      expect((await read(`/discovery/resources?payTo=${found.address}`)).items).toHaveLength(1)
      const status = await read('/discovery/status?resource=http://127.0.0.1:1/x')
      expect(status.entries[0].probe).not.toBeNull()
      expect((await read('/discovery/status?resource=http://127.0.0.1:1/y')).refusals).not.toEqual(
        [],
      )
    },
    { timeout: 60_000, interval: 250 },
  )
}

async function signIn(): Promise<string> {
  const { nonce, domain, uri, chainId } = (await world.get('/api/session/nonce')).body
  const { address } = owner
  const message = createSiweMessage({ address, nonce, domain, uri, chainId, version: '1' })
  const signature = await owner.signMessage({ message })
  const { headers } = await world.post('/api/session', { message, signature })
  return String(headers.get('set-cookie')).split(';')[0] ?? ''
}

/** Reads an answer; of a stream, what comes within two seconds. */
async function readAll(path: string, accept: string, isOwner = true): Promise<string> {
  const headers = { accept, ...(isOwner && { cookie }) }
  let text = ''
  const decoder = new TextDecoder()
  try {
    const signal = AbortSignal.timeout(2_000)
    const response = await fetch(world.url + path, { headers, signal, redirect: 'manual' })
    for (const [name, value] of response.headers) answers += `${name}: ${value}\n`
    for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true })
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') throw error
  }
  answers += text
  return text
}

/** The values with which the parameters of paths are filled in, each combination by itself. */
function filledPaths(path: string, endpoints: readonly string[]): string[] {
  const merchants = [id, `payto-${found.address}`, `payto-${unreached.address}`]
  const choices: Record<string, readonly string[]> = {
    id: merchants.map((it) => it.toLowerCase()),
    merchant: merchants.map((it) => it.toLowerCase()),
    address: [owner.address, found.address],
    endpoint: endpoints,
    network: ['eip155:5042'],
  }
  const fill = (text: string, values: Record<string, string>) =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
  let filled = path.startsWith('/payments')
    ? payments.map((payment) => fill(path, payment))
    : [path]
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
    if (!filled.some((it) => it.includes(`{${name}}`))) continue
    const values = choices[name]
    if (values === undefined) throw new Error(`the test has no value for {${name}} of ${path}`)
    filled = filled.flatMap((it) => values.map((value) => fill(it, { [name]: value })))
  }
  return filled
}

/** The queries with which a route is asked besides none. */
const queries: Record<string, readonly string[]> = {
  '/discovery/resources': [found, unreached, owner].map(({ address }) => `payTo=${address}`),
  '/discovery/search': ['query=results', 'query=clinic', 'query=canary4711'],
  '/discovery/status': ['x', 'y'].map((path) => `resource=http://127.0.0.1:1/${path}`),
  '/api/merchants/{id}/activity/table': ['kind=verify', 'state=refused', 'state=free'],
}

describe('the login, query and fragment of what a buyer paid for', () => {
  it('are in no answer to anybody, their seller included', async () => {
    const document: OpenApiDocument = (await world.get('/openapi.json')).body
    const listed = (await world.get(`/api/merchants/${id}`)).body.endpoints
    const ofFound = `/api/merchants/payto-${found.address.toLowerCase()}`
    const others = (await world.get(ofFound)).body.endpoints
    const endpoints = [...listed, ...others].map(({ state }) => String(state.id))
    expect(endpoints).toHaveLength(2)
    const routes = operationsOf(document).filter(({ method }) => method === 'GET')
    expect(routes.length).toBeGreaterThan(40)
    const asked = [...routes.map(({ path }) => path), '/metrics', '/sitemap.xml', '/llms.txt']
    const paths = asked.flatMap((path) =>
      ['', ...(queries[path] ?? []).map((query) => `?${query}`)].flatMap((query) =>
        filledPaths(path, endpoints).map((filled) => filled + query),
      ),
    )
    const ask = async (path: string) => {
      for (const accept of ['application/json', 'text/html']) {
        for (const isOwner of [true, false]) {
          const said = await readAll(path, accept, isOwner)
          // A search repeats the words that it was asked for.
          if (!path.includes('canary')) expect(said, path).not.toMatch(CANARY)
        }
      }
    }
    for (let from = 0; from < paths.length; from += 8) {
      await Promise.all(paths.slice(from, from + 8).map(ask))
    }
    expect(answers).toContain('arcus_settle_total')
    expect(answers).toContain('<h1>Receipt</h1>')
  })

  it('are in no answer about the extension, and in nothing that search and MCP find', async () => {
    expect(extensionAnswers.join()).toContain('must agree on what was paid')
    expect(extensionAnswers.join()).not.toMatch(CANARY)
    expect((await world.get('/discovery/search?query=canary4711')).body.resources).toEqual([])
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`)))
    const calls = [
      ['search_resources', { query: 'results' }],
      ['list_resources', {}],
      ...[`${shopUrl}/results`, `${shopUrl}/found`].flatMap((url) => [
        ['describe_resource', { url }],
        ['get_payment_terms', { url }],
      ]),
    ] as [string, Record<string, unknown>][]
    for (const [name, given] of calls) {
      const said = JSON.stringify(await client.callTool({ name, arguments: given }))
      expect(said).not.toMatch(CANARY)
      expect(said).toContain('127.0.0.1')
    }
    await client.close()
  })

  it('are not in a receipt, which shows host and path', async () => {
    for (const { payer, nonce } of payments) {
      const path = `/payments/eip155:5042/${payer}/${nonce}/receipt`
      const receipt = JSON.parse(await readAll(path, 'application/json', false))
      expect(receipt.resource).toBe(`${shopUrl}/results`)
      expect(await readAll(path, 'text/html', false)).toContain(`${shopUrl}/results`)
    }
  })

  it('are in no row, and in no byte of the database', () => {
    const database = new Sqlite(world.databasePath, { readonly: true })
    const tables = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .pluck()
      .all() as string[]
    expect(tables).toContain('jobs')
    const rows = tables.map((table) => {
      const all = database.prepare(`SELECT * FROM "${table}"`).all() as Record<string, unknown>[]
      const texts = all.flatMap((row) => Object.values(row)).map((value) => String(value))
      expect(
        texts.filter((text) => CANARY.test(text)),
        table,
      ).toEqual([])
      return [table, all.length] as const
    })
    database.close()
    const counts = new Map(rows)
    for (const table of ['jobs', 'activity', 'events', 'endpoints']) {
      expect(counts.get(table), table).toBeGreaterThan(0)
    }
    for (const file of [world.databasePath, `${world.databasePath}-wal`]) {
      expect(readFileSync(file).toString('latin1')).not.toMatch(CANARY)
    }
  })

  it('are in no line of the log and in no trace', async () => {
    await vi.waitFor(() => expect(JSON.stringify(collector.spans)).toContain('POST /settle'))
    expect(JSON.stringify(collector.spans)).not.toMatch(CANARY)
    expect(lines.some((line) => line.includes('settle answered with success'))).toBe(true)
    expect(lines.some((line) => line.includes('paid resource not listed'))).toBe(true)
    expect(lines.filter((line) => CANARY.test(line))).toEqual([])
  })
})
