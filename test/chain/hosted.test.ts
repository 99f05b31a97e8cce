import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetBuyback, devnetHost, devnetRelayers } from '../../src/devnet/accounts.js'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { type Service, startService } from '../faults/support/service.js'
import { startChain } from '../support/arcus.js'
import { type Bend, bendingAccount } from '../support/bent-signature.js'
import { payingBy } from '../support/paying.js'

const CHAIN_ID = 5042
const folder = mkdtempSync(join(tmpdir(), 'arcus-hosted-'))
const text = 'A storm came. The storm took roofs and boats. Someone slept. The storm left at noon.'

/** A restart may take long on a busy machine. */
const SLOW = { timeout: 30_000, interval: 100 }

let chain: Awaited<ReturnType<typeof startChain>>
let port: number
let arcus: Service

/** Starts the service over the same database file. */
function start(env: Record<string, string> = {}): Promise<Service> {
  return startService({
    port,
    rpcUrls: [chain.url],
    relayerKeys: devnetRelayers.map(({ privateKey }) => privateKey),
    databaseUrl: `sqlite:${join(folder, 'arcus.db')}`,
    env: {
      BASE_URL: `http://127.0.0.1:${port}`,
      HOSTED_PRIVATE_KEY: devnetHost.privateKey,
      HOSTED_CLAIM_SECONDS: '3600',
      BUYBACK_ADDRESS: devnetBuyback.address,
      ...env,
    },
  })
}

beforeAll(async () => {
  chain = await startChain()
  await mintUsdc(chain.url, devnetHost.address, 1_000_000n)
  port = await freePort()
  arcus = await start()
})
afterAll(async () => {
  await arcus?.stop()
  await chain?.stop()
  rmSync(folder, { recursive: true })
})

const balanceOf = (address: `0x${string}`) => usdcBalance(chain.url, address)
const bought = () => balanceOf(devnetBuyback.address)
const urlOf = (path: string) => `${arcus.url}/hosted/${path}`
const asJson = (body: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** A buyer with a dollar, whose vouchers have that form of signature. */
async function aBuyer(scheme: 'exact' | 'upto' | 'batch-settlement', how?: Bend) {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(chain.url, account.address, 1_000_000n)
  const signer = how === undefined ? account : bendingAccount(account, how)
  const channel = new BatchSettlementEvmScheme(signer)
  const node = { [CHAIN_ID]: { rpcUrl: chain.url } }
  const clients = {
    exact: new ExactEvmScheme(account),
    upto: new UptoEvmScheme(account, node),
    'batch-settlement': channel,
  }
  const fetchPaid = payingBy(clients[scheme])
  return { account, pay: fetchPaid, channel, balance: () => balanceOf(account.address) }
}

type Buyer = Awaited<ReturnType<typeof aBuyer>>

async function read(path: string) {
  return (await fetch(`${arcus.url}${path}`)).json()
}

it('lists both endpoints as hosted by the official merchant, with their schemes, upto only where metered', async () => {
  const { items = [] } = await vi.waitUntil(async () => {
    const found = (await read('/discovery/resources?merchant=arcus')) as { items?: unknown[] }
    return found.items?.length === 2 ? found : undefined
  }, SLOW)
  expect(items).toMatchObject([
    {
      resource: urlOf('summary'),
      metadata: {
        merchant: { id: 'arcus', official: true },
        pricing: 'metered',
        hostedByArcus: true,
        input: { method: 'POST' },
      },
    },
    { resource: urlOf('fees'), metadata: { pricing: 'fixed', hostedByArcus: true } },
  ])
  for (const item of items as { resource: string; accepts: object[] }[]) {
    const live = await fetch(item.resource, item.resource.endsWith('fees') ? {} : asJson({ text }))
    const { accepts } = decodePaymentRequiredHeader(live.headers.get('PAYMENT-REQUIRED') as string)
    expect(item.accepts).toEqual(accepts)
    const isMetered = item.resource.endsWith('summary')
    expect(accepts).toMatchObject([
      ...(isMetered ? [{ scheme: 'upto', payTo: devnetBuyback.address }] : []),
      { scheme: 'exact', payTo: devnetBuyback.address },
      { scheme: 'batch-settlement', payTo: devnetBuyback.address },
    ])
  }
  const { merchants } = (await read('/api/merchants')) as { merchants: object[] }
  expect(merchants).toMatchObject([
    { id: 'arcus', official: true, endpoints: [{ hostedByArcus: true }, { hostedByArcus: true }] },
  ])
})

it('shows its own 402 to agents and to probes, and nothing else of its own address', async () => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${arcus.url}/mcp`)))
  const terms = await client.callTool({
    name: 'get_payment_terms',
    arguments: { url: urlOf('fees') },
  })
  expect(terms.structuredContent).toMatchObject({ isAsListed: true, verdict: 'live' })
  await client.close()
  const probed = await fetch(`${arcus.url}/api/merchants/arcus/probe`, asJson({}))
  expect(await probed.json()).toMatchObject({
    endpoints: [{ status: 'live' }, { status: 'live' }],
  })
  const inside = asJson({ url: `${arcus.url}/metrics`, method: 'GET' })
  const validated = await fetch(`${arcus.url}/discovery/validate`, inside)
  expect(await validated.json()).toMatchObject({ verdict: 'blocked_target' })
})

it('sells by exact to the buyback wallet, and refunds the unused part of a metered call', async () => {
  const { pay, balance } = await aBuyer('exact')
  const before = await bought()
  const fees = await pay(urlOf('fees'))
  expect(await fees.json()).toMatchObject({
    baseFeeGwei: expect.any(String),
    settlementUsd: expect.any(String),
  })
  expect(await balance()).toBe(995_000n)
  const summary = await pay(urlOf('summary'), asJson({ text, sentences: 1 }))
  expect(await summary.json()).toEqual({
    summary: 'The storm took roofs and boats.',
    sentences: 4,
    words: 16,
  })
  const { extra } = decodePaymentResponseHeader(summary.headers.get('PAYMENT-RESPONSE') as string)
  expect(extra).toMatchObject({ charged: '5000', refund: '15000' })
  await vi.waitUntil(async () => (await balance()) === 990_000n, SLOW)
  // The refund comes from the wallet of the host, not from the buyback wallet.
  expect((await bought()) - before).toBe(25_000n)
  // The figures are net of the refund, and the wallet that sent it does not count as a payer.
  for (const path of ['/api/merchants/arcus/stats', '/api/stats']) {
    const day = await vi.waitUntil(async () => {
      const stats = (await read(path)) as { '24h': { refunds: { count: number } } }
      return stats['24h'].refunds.count === 1 ? stats['24h'] : undefined
    }, SLOW)
    expect(day).toMatchObject({
      settled: 2,
      successRate: 1,
      revenue: { amount: '10000' },
      refunds: { count: 1, amount: '15000' },
      payers: { unique: 1, repeat: 1 },
    })
  }
})

it('takes by upto what a metered call used and no more, from a buyer who has never sent a transaction', async () => {
  const { pay, balance } = await aBuyer('upto')
  const before = await bought()
  const summary = await pay(urlOf('summary'), asJson({ text }))
  expect(summary.status).toBe(200)
  const settled = decodePaymentResponseHeader(summary.headers.get('PAYMENT-RESPONSE') as string)
  expect(settled).toMatchObject({ success: true, amount: '5000' })
  expect([await balance(), (await bought()) - before]).toEqual([995_000n, 5_000n])
  const again = await pay(urlOf('summary'), asJson({ text: `${text} `.repeat(150) }))
  expect(again.status).toBe(200)
  expect([await balance(), (await bought()) - before]).toEqual([980_000n, 20_000n])
})

it('charges for the characters of the text, and nothing for an invalid request', async () => {
  const { pay, balance } = await aBuyer('exact')
  const wrong = await pay(urlOf('summary'), asJson({ text: 'x'.repeat(20_001) }))
  expect(wrong.status).toBe(400)
  expect(await wrong.json()).toMatchObject({ error: 'invalid_request' })
  expect(await balance()).toBe(1_000_000n)
  const long = await pay(urlOf('summary'), asJson({ text: `${text} `.repeat(150) }))
  const { extra } = decodePaymentResponseHeader(long.headers.get('PAYMENT-RESPONSE') as string)
  expect(extra).toMatchObject({ charged: '15000', refund: '5000' })
})

it('keeps every voucher over kill -9, and claims the earnings after the next start', async () => {
  const { pay, balance } = await aBuyer('batch-settlement')
  const before = await bought()
  for (let i = 0; i < 3; i++) expect((await pay(urlOf('fees'))).status).toBe(200)
  const metered = await pay(urlOf('summary'), asJson({ text }))
  expect(metered.status).toBe(200)
  expect(await balance()).toBeLessThan(1_000_000n)
  expect((await bought()) - before).toBe(0n)
  await arcus.crash()

  arcus = await start()
  await vi.waitUntil(async () => (await bought()) - before === 20_000n, SLOW)
  // The channel continues in the same state.
  expect((await pay(urlOf('fees'))).status).toBe(200)
}, 90_000)

it('claims on a schedule vouchers in every form of signature, and settles what a refund has claimed', async () => {
  const earlier = await bought()
  await arcus.stop()
  arcus = await start({ HOSTED_CLAIM_SECONDS: '5' })
  // The start claims what the channel of the restart still owes.
  await vi.waitUntil(async () => (await bought()) - earlier >= 5_000n, SLOW)
  const forms = ['v of 0 or 1', 'a high s', 'the compact form'] as const
  const buyers = await Promise.all(forms.map((how) => aBuyer('batch-settlement', how)))
  const before = await bought()
  const payTwice = async ({ pay }: Buyer) => {
    for (let i = 0; i < 2; i++) expect((await pay(urlOf('fees'))).status).toBe(200)
  }
  await Promise.all(buyers.map(payTwice))
  await vi.waitUntil(async () => (await bought()) - before >= 30_000n, SLOW)
  const payAndTakeBack = async ({ pay, channel, balance }: Buyer) => {
    expect((await pay(urlOf('fees'))).status).toBe(200)
    await channel.refund(urlOf('fees'))
    expect(await balance()).toBe(985_000n)
  }
  await Promise.all(buyers.map(payAndTakeBack))
  await vi.waitUntil(async () => (await bought()) - before >= 45_000n, SLOW)
}, 90_000)

it('leaves the catalog when it is switched off', async () => {
  await arcus.stop()
  arcus = await start({ HOSTED_PRIVATE_KEY: '' })
  expect((await fetch(urlOf('fees'))).status).toBe(404)
  await vi.waitUntil(async () => {
    const found = (await read('/discovery/resources?merchant=arcus')) as {
      pagination?: { total: number }
    }
    return found.pagination?.total === 0
  }, SLOW)
}, 90_000)
