import { createListingClient } from '@arcus/client/listing-client'
import type { Listing } from '@arcus/protocol/listing/listing'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { withBazaar } from '@x402/extensions/bazaar'
import { x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startToolShop, type ToolShop, toolTerms } from '../support/a-tool-shop.js'
import { startWorld, type World } from '../support/arcus.js'

const { network, asset } = toolTerms
const foundId = `payto-${devnetMerchant.address.toLowerCase()}`

let world: World
let shop: ToolShop
let listedShop: ToolShop
let agent: Client
let bazaar: ReturnType<typeof withBazaar<HTTPFacilitatorClient>>['extensions']['bazaar']

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  shop = await startToolShop({ facilitatorUrl: world.url })
  listedShop = await startToolShop({ enableJsonResponse: true })
  bazaar = withBazaar(new HTTPFacilitatorClient({ url: world.url })).extensions.bazaar
  agent = await connect(`${world.url}/mcp`)
})
afterAll(async () => {
  await agent.close()
  shop.stop()
  listedShop.stop()
  await world.stop()
})

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
  return client
}

/** Lists as the merchant of the devnet. */
function saveListing(id: string, listing: Omit<Listing, 'payTo'>) {
  const client = createListingClient({
    directoryUrl: world.url,
    // The service has no public name in its settings, so it has the default one.
    audience: `http://localhost:${new URL(world.url).port}`,
    signer: devnetMerchant.account,
  })
  return client.save(id, { ...listing, payTo: devnetMerchant.address })
}

/** Buys a tool as an agent does: asks, signs with the official client, and asks again with the payment. */
async function buy(url: string, name: string, args: Record<string, unknown>) {
  const client = await connect(url)
  const asked = await client.callTool({ name, arguments: args })
  const payer = x402Client.fromConfig({
    schemes: [{ network, client: new ExactEvmScheme(devnetPayer.account) }],
    spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment: '10000' }] },
  })
  const payment = await payer.createPaymentPayload(asked.structuredContent as never)
  const paid = await client.callTool({
    name,
    arguments: args,
    _meta: { 'x402/payment': payment },
  })
  await client.close()
  return paid
}

// biome-ignore lint/suspicious/noExplicitAny: answers are what the tests look into
async function ask(name: string, args: Record<string, unknown>): Promise<any> {
  const result = await agent.callTool({ name, arguments: args })
  return result.structuredContent ?? result
}

describe('tools that were paid for', () => {
  it('are items of their own at one URL, found by the official client and by a stock MCP client', async () => {
    for (const [name, args] of [
      ['forecast', { city: 'Porto' }],
      ['tides', { port: 'Faro' }],
    ] as const) {
      const paid = await buy(shop.url, name, args)
      expect(paid._meta?.['x402/payment-response']).toMatchObject({ success: true })
    }
    await vi.waitUntil(
      async () => (await bazaar.listResources({ type: 'mcp' })).items.length === 2,
      { timeout: 15_000, interval: 50 },
    )
    const { items } = await bazaar.listResources({ type: 'mcp', payTo: toolTerms.payTo })
    expect(items.map(({ resource }) => resource)).toEqual([shop.url, shop.url])
    expect(items[0]).toMatchObject({
      type: 'mcp',
      accepts: [{ amount: '10000', payTo: devnetMerchant.address }],
      serviceName: 'Tool shop',
      metadata: {
        title: 'forecast',
        description: 'A forecast of a place',
        merchant: { id: foundId },
        input: {
          type: 'mcp',
          toolName: 'forecast',
          inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
          example: { city: 'Lisbon' },
        },
        output: { type: 'text' },
      },
      extensions: { bazaar: { info: { input: { toolName: 'forecast' } } } },
    })
    expect((await bazaar.listResources({ type: 'http' })).items).toEqual([])
    expect(shop.methods).toContain('POST')

    const { resources } = await ask('search_resources', { query: 'tides', type: 'mcp' })
    expect(resources).toMatchObject([{ type: 'mcp', resource: shop.url, toolName: 'tides' }])
    const wanted = { url: shop.url, toolName: 'tides' }
    const described = await ask('describe_resource', wanted)
    expect(described.resources).toMatchObject([
      { metadata: { input: { toolName: 'tides' } }, health: { status: 'live' } },
    ])
    shop.calls.length = 0
    const terms = await ask('get_payment_terms', { ...wanted, arguments: { port: 'Sagres' } })
    expect(terms).toMatchObject({ isAsListed: true, verdict: 'live', toolName: 'tides' })
    expect(shop.calls).toEqual([{ name: 'tides', args: { port: 'Sagres' }, isPaid: false }])
    for (let i = 0; i < 2; i++) await buy(shop.url, 'tides', { port: 'Faro' })
  })
})

describe('tools that their owner lists', () => {
  const tool = (toolName: string, args: Record<string, unknown>) => ({
    url: listedShop.url,
    method: 'MCP' as const,
    toolName,
    title: `The ${toolName}`,
    price: '10000',
    example: { arguments: args },
  })

  it('are read from the tools/list of the server, and live once they ask for payment', async () => {
    const listed = await world.post('/discovery/validate', { url: listedShop.url, method: 'MCP' })
    expect(listed.body.tools.map((it: { name: string }) => it.name)).toEqual([
      'forecast',
      'tides',
      'free',
    ])
    const one = await world.post('/discovery/validate', {
      url: listedShop.url,
      method: 'MCP',
      toolName: 'tides',
      arguments: { port: 'Sines' },
    })
    expect(one.body).toMatchObject({
      verdict: 'live',
      listing: { method: 'MCP', toolName: 'tides', price: '10000', title: 'tides' },
    })
    const endpoints = [tool('forecast', { city: 'Lisbon' }), tool('tides', { port: 'Sines' })]
    const saved = await saveListing('tool-shop', { name: 'Tool shop', endpoints })
    expect(saved.endpoints.map(({ state }) => state.status)).toEqual(['live', 'live'])
    const { items } = await bazaar.listResources({ type: 'mcp' })
    expect(items.filter(({ resource }) => resource === listedShop.url)).toHaveLength(2)
  })
})

describe('the status of a URL', () => {
  const statusOf = async (url: string, more = '') =>
    (await world.get(`/discovery/status?resource=${encodeURIComponent(url)}${more}`)).body

  it('says for each tool whether it is listed, and what the last probe found', async () => {
    const status = await statusOf(shop.url)
    expect(status).toMatchObject({
      message: '2 of 2 entries at this URL are in the list.',
      entries: [
        { type: 'mcp', toolName: 'forecast', merchant: foundId, isListed: true, mend: null },
        { type: 'mcp', toolName: 'tides', status: 'live', probe: { verdict: 'live' } },
      ],
      refusals: [],
    })
    expect((await statusOf(shop.url, '&toolName=tides')).entries).toHaveLength(1)
    for (const other of ['&method=GET', '&toolName=waves']) {
      const { entries, message } = await statusOf(shop.url, other)
      expect(entries).toEqual([])
      expect(message).toMatch(/^Nothing with this method and this tool .* at this URL: 2\.$/)
    }
  })

  it('says why a paid resource was refused, and answers the merchant the same', async () => {
    const url = `${shop.url}/broken`
    const payment = await aSignedPayment({
      value: 10_000n,
      to: toolTerms.payTo,
      requirement: { ...toolTerms },
    })
    Object.assign(payment.paymentPayload, {
      resource: { url, iconUrl: 'http://0x7f000001/i.png' },
      extensions: { bazaar: { info: { input: { type: 'mcp' } }, schema: {} } },
    })
    const answer = await world.post('/settle', payment)
    expect(answer.body).toMatchObject({ success: true })
    const header = Buffer.from(answer.headers.get('EXTENSION-RESPONSES') as string, 'base64')
    const reason =
      "info.input.toolName must be 1 to 128 visible ASCII characters. The seller's server declares the extension and the buyer's client sends it back: POST /discovery/validate shows what the server sends. The next good payment lists it."
    expect(JSON.parse(header.toString())).toEqual({
      bazaar: { status: 'rejected', rejectedReason: reason },
    })
    await expect
      .poll(() => statusOf(`${url}?city=Porto`))
      .toEqual({
        resource: `${url}?city=Porto`,
        message: `It was paid for and not listed: ${reason}`,
        entries: [],
        refusals: [{ payTo: toolTerms.payTo, reason, at: expect.any(Number) }],
      })
  })
})

describe('methods that could change something', () => {
  it('are listed as unverified, with the reason, and are never called', async () => {
    const endpoints = [
      {
        url: `${listedShop.url}/orders`,
        method: 'PUT' as const,
        title: 'Replace an order',
        price: '10000',
        example: { bodyType: 'text' as const, body: 'two boats', queryParams: { id: 7 } },
      },
    ]
    const saved = await saveListing('order-desk', { name: 'Order desk', endpoints })
    expect(saved.endpoints[0]?.state).toMatchObject({
      status: 'unverified',
      nextProbeAt: null,
      probe: { verdict: 'not_called', message: expect.stringContaining('never calls a PUT') },
    })
    expect(listedShop.methods).not.toContain('PUT')
    const status = await world.get(`/discovery/status?resource=${listedShop.url}/orders`)
    expect(status.body.entries).toMatchObject([
      { method: 'PUT', status: 'unverified', isListed: false, nextProbeAt: null },
    ])
    const { body } = await world.get('/discovery/resources?merchant=order-desk')
    expect(body.items).toMatchObject([
      {
        type: 'http',
        status: 'unverified',
        metadata: {
          input: { method: 'PUT', bodyType: 'text', body: 'two boats', queryParams: { id: 7 } },
        },
      },
    ])
  })
})

describe('the calls of tools at one URL', () => {
  it('count for the tool that each payment named', async () => {
    const callsOf = async () => {
      const { items } = (await world.get(`/discovery/resources?payTo=${toolTerms.payTo}`)).body
      // biome-ignore lint/suspicious/noExplicitAny: items are what the test looks into
      const own = items.filter(({ resource }: any) => resource === shop.url)
      // biome-ignore lint/suspicious/noExplicitAny: the same
      return own.map(({ metadata }: any) => [metadata.title, metadata.usage?.calls['24h'] ?? 0])
    }
    // The two payments by which the tools were found may have come before their entries.
    await vi.waitUntil(async () => Object.fromEntries(await callsOf()).tides >= 2, {
      timeout: 15_000,
      interval: 50,
    })
    const { tides, forecast } = Object.fromEntries(await callsOf())
    expect([2, 3]).toContain(tides)
    expect([0, 1]).toContain(forecast)
  })
})
