import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { startService } from '../faults/support/service.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'

/** A thread needs seconds to start where the machine is busy. */
const patience = { timeout: 60_000, interval: 50 }

let chain: Anvil
let seller: Server
let sellerUrl: string

beforeAll(async () => {
  chain = await startChain()
  seller = createServer((request, response) => {
    const required = { x402Version: 2, resource: { url: request.url }, accepts: [terms] }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => seller.listen(0, '127.0.0.1', resolve))
  sellerUrl = `http://127.0.0.1:${(seller.address() as AddressInfo).port}`
})

afterAll(async () => {
  seller.close()
  await chain.stop()
})

const terms = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '10000',
  asset: devnetContracts.usdc,
  payTo: devnetMerchant.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

/** The service in a process of its own, whose thread of the directory a test can end. */
async function aService(env: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-thread-'))
  const path = join(folder, 'arcus.db')
  const preload = new URL('../support/ending-directory.mjs', import.meta.url)
  const service = await startService({
    port: await freePort(),
    rpcUrls: [chain.url],
    relayerKeys: devnetRelayers.slice(0, 1).map(({ privateKey }) => privateKey),
    databaseUrl: `sqlite:${path}`,
    env: {
      NODE_OPTIONS: `--import ${preload}`,
      DIRECTORY_FAULTS: folder,
      PROBE_ALLOW_PRIVATE_HOSTS: 'true',
      METRICS: 'true',
      ...env,
    },
  })
  const database = new Sqlite(path, { readonly: true })
  onTestFinished(async () => {
    database.close()
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function ask(path: string, body?: object) {
    const response = await fetch(service.url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json' },
    })
    const text = await response.text()
    const { status, headers } = response
    // biome-ignore lint/suspicious/noExplicitAny: answers are what the tests look into
    const json = (): any => JSON.parse(text)
    return { status, headers, text, json }
  }

  return {
    ...service,
    ask,
    database,
    isUp: async () => (await ask('/discovery/resources')).status === 200,
    metric: async (name: string) =>
      new RegExp(`^${name} (\\S+)$`, 'm').exec((await ask('/metrics')).text)?.[1],
    /** Makes the thread do something: stay away at its next start, or fill its heap. */
    fault(name: 'away' | 'full'): { end(): void } {
      writeFileSync(join(folder, name), '')
      return { end: () => rmSync(join(folder, name), { force: true }) }
    },
    /** Settles a payment for a resource of the seller; resolves with its answer and what is known of the resource. */
    async buy(path: string) {
      const payment = await aSignedPayment()
      const answer = await ask('/settle', {
        ...payment,
        paymentPayload: {
          ...payment.paymentPayload,
          resource: { url: sellerUrl + path },
          extensions: {
            bazaar: {
              info: { input: { type: 'http', method: 'GET' } },
              schema: { type: 'object' },
            },
          },
        },
      })
      const header = answer.headers.get('EXTENSION-RESPONSES') ?? ''
      const { nonce } = payment.paymentPayload.payload.authorization
      const { bazaar } = JSON.parse(Buffer.from(header, 'base64').toString())
      return {
        ...answer,
        bazaar,
        page: `/payments/${terms.network}/${devnetPayer.address}/${nonce}`,
      }
    },
    settled: () =>
      database.prepare("SELECT resource FROM activity WHERE state = 'settled'").pluck().all(),
    waiting: () => database.prepare('SELECT count(*) FROM outbox').pluck().get(),
  }
}

type Service = Awaited<ReturnType<typeof aService>>

/** Every payment for these is on record once, and each of them is listed. */
async function expectRecorded({ ask, settled, waiting, database }: Service, paths: string[]) {
  const urls = paths.map((path) => sellerUrl + path).sort()
  await vi.waitUntil(() => waiting() === 0 && settled().length >= urls.length, patience)
  expect(settled().sort()).toEqual(urls)
  // The sums over everybody.
  const sums = database
    .prepare(
      `SELECT sum(count) AS count, sum(amount) AS amount FROM activity_sums
       WHERE merchant_id = '' AND state = 'settled'`,
    )
    .get()
  expect(sums).toEqual({ count: urls.length, amount: urls.length * 10_000 })
  const listed = async () => {
    const { items } = (await ask('/discovery/resources?limit=100')).json()
    return (items as { resource: string }[]).map(({ resource }) => resource).sort()
  }
  await vi.waitUntil(async () => (await listed()).length >= urls.length, patience)
  expect(await listed()).toEqual(urls)
}

describe('while the thread of the directory is away', () => {
  it('payments go on, its routes answer 503, and it misses nothing when it is back', async () => {
    const service = await aService()
    const { ask, buy, metric } = service
    await vi.waitUntil(service.isUp, patience)
    expect((await buy('/before')).json()).toMatchObject({ success: true })
    await vi.waitUntil(() => service.settled().length === 1, patience)
    expect([await metric('arcus_directory_up'), await metric('arcus_directory_restarts')]).toEqual([
      '1',
      '0',
    ])

    const away = service.fault('away')
    service.signal('SIGUSR2')
    await vi.waitUntil(async () => !(await service.isUp()), patience)
    for (const path of ['/discovery/resources', '/api/merchants', '/openapi.json', '/', '/mcp']) {
      const { status, headers, text } = await ask(path)
      expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '2'])
      expect(text).toContain('payments are served meanwhile')
    }
    const valid = await ask('/verify', await aSignedPayment())
    expect(valid.json()).toMatchObject({ isValid: true })
    const during = Array.from({ length: 5 }, (_, i) => `/during/${i}`)
    const sales = await Promise.all(during.map(buy))
    for (const { status, json, bazaar } of sales) {
      expect([status, json().success, bazaar]).toEqual([200, true, { status: 'processing' }])
    }
    const askedAt = performance.now()
    const receipt = await ask(sales[0]?.page ?? '')
    expect(receipt.json()).toMatchObject({ state: 'confirmed' })
    expect(performance.now() - askedAt).toBeLessThan(2_000)
    expect((await ask('/health')).status).toBe(200)
    expect((await ask('/supported')).status).toBe(200)
    const ready = await ask('/ready')
    expect(ready.status).toBe(200)
    expect(ready.json().checks).toContainEqual({
      name: 'directory',
      ok: true,
      warning: true,
      detail: expect.stringContaining('payments settle meanwhile'),
    })
    await vi.waitUntil(async () => (await metric('arcus_directory_restarts')) === '1', patience)
    expect(await metric('arcus_directory_up')).toBe('0')

    away.end()
    await vi.waitUntil(service.isUp, patience)
    await vi.waitUntil(async () => (await metric('arcus_directory_up')) === '1', patience)
    await expectRecorded(service, ['/before', ...during])
    expect((await ask('/ready')).json().checks).toContainEqual({
      name: 'directory',
      ok: true,
      detail: 'answers',
    })
  })
})

describe('a heap that is full', () => {
  it('ends the thread alone, and it starts again', async () => {
    const service = await aService({ DIRECTORY_HEAP_MB: '96' })
    await vi.waitUntil(service.isUp, patience)
    service.fault('full')
    await vi.waitUntil(async () => !(await service.isUp()), patience)
    expect((await service.buy('/sold')).json()).toMatchObject({ success: true })
    await vi.waitUntil(service.isUp, patience)
    expect(await service.metric('arcus_directory_restarts')).toBe('1')
    expect(service.log().join('\n')).toContain('ERR_WORKER_OUT_OF_MEMORY')
    await expectRecorded(service, ['/sold'])
  })
})
