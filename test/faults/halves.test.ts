import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createListingClient } from '@arcus/client/listing-client'
import { x402 } from '@arcus/merchant'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  devnetBuyback,
  devnetHost,
  devnetMerchant,
  devnetPayer,
} from '../../src/devnet/accounts.js'
import { freePort } from '../../src/devnet/process.js'
import { aSignedPayment as aPayment } from '../support/a-signed-payment.js'
import { payingBy } from '../support/paying.js'
import { arcus, compiled } from '../support/scripts.js'
import { findProgram } from './support/debian.js'
import { type Halves, startHalves } from './support/halves.js'
import { network, type SignedPayment, somePayments } from './support/payments.js'

const run = promisify(execFile)
const nginx = findProgram('nginx')
const SOON = { timeout: 60_000, interval: 250 }
const merchantId = 'quotes'
const merchantName = 'Quotes by the cent'
const page = '<!doctype html><html><head><title>Arcus</title></head><body></body></html>'

let world: Halves
let shop: FastifyInstance
let shopUrl: string
let consolePage: string

/** Settings of the directories alone. */
const ofDirectory = {
  HOSTED_PRIVATE_KEY: devnetHost.privateKey,
  WEBHOOK_KEY: 'ab'.repeat(32),
}

describe.skipIf(nginx === undefined)('each half on its own (skipped without nginx)', () => {
  beforeAll(async () => {
    consolePage = join(dirname(compiled('src/main.ts')), 'console', 'index.html')
    if (!existsSync(consolePage)) {
      // The folder is a link to that of `npm run build`, which was not run: a page of the test's own stands in for it.
      rmSync(dirname(consolePage), { recursive: true, force: true })
      mkdirSync(dirname(consolePage))
      writeFileSync(consolePage, page)
    }
    world = await startHalves({
      nginx: nginx as string,
      facilitators: 2,
      directories: 2,
      relayers: 2,
      env: { BUYBACK_ADDRESS: devnetBuyback.address, PROBE_ALLOW_PRIVATE_HOSTS: 'true' },
      envOf: (i) => (i < 2 ? {} : ofDirectory),
    })
    shop = fastify()
    shopUrl = `http://127.0.0.1:${await freePort()}`
    await shop.register(x402, {
      facilitator: world.url,
      payTo: devnetMerchant.address,
      network,
      baseUrl: shopUrl,
    })
    shop.get('/quote', { config: { x402: '$0.01' } }, async () => ({ quote: 'A penny saved.' }))
    await shop.listen({ host: '127.0.0.1', port: Number(new URL(shopUrl).port) })
    const { account } = devnetMerchant
    const client = createListingClient({ directoryUrl: world.url, signer: account })
    await client.save(merchantId, {
      name: merchantName,
      payTo: devnetMerchant.address,
      endpoints: [{ url: `${shopUrl}/quote`, method: 'GET', title: 'A quote', price: '10000' }],
    })
  }, 240_000)
  afterAll(async () => {
    await shop?.close()
    await world?.close()
  })

  const pay = () => payingBy(new ExactEvmScheme(devnetPayer.account))
  const at = (path: string) => `${world.url}${path}`
  const of = (i: number | undefined, path: string) => `${world.service(i as number).url}${path}`
  const facilitator = () => world.facilitators[0]
  const directory = () => world.directories[0]
  const statesOf = async (payments: readonly SignedPayment[]) => {
    const found = await Promise.all(payments.map((it) => world.client.findPayment(it)))
    return found.map((it) => it?.state)
  }
  const html = { headers: { accept: 'text/html' } }

  it('settles what a shop sells, and shows the payment in catalog, figures and receipt', async () => {
    const sold = await pay()(`${shopUrl}/quote`)
    expect(sold.status).toBe(200)
    const header = sold.headers.get('payment-response') as string
    const settled = JSON.parse(Buffer.from(header, 'base64').toString())
    expect(settled).toMatchObject({ success: true, network })
    // Both directories show it, whichever of them took it in.
    for (const i of world.directories) {
      await vi.waitUntil(async () => {
        const { items } = await json(of(i, `/discovery/resources?merchant=${merchantId}`))
        return items[0]?.metadata.usage?.calls['24h'] === 1
      }, SOON)
    }
    const { hour } = await vi.waitUntil(async () => {
      const { settling } = await json(at('/api/status'))
      return settling.hour.settled >= 1 ? settling : undefined
    }, SOON)
    expect(hour).toMatchObject({ settled: 1, failed: 0 })
    const { payments } = await json(at(`/payments/${settled.transaction}`))
    const [{ payer, nonce }] = payments
    const path = `/payments/${network}/${payer}/${nonce}`
    const receipt = await json(at(`${path}/receipt`), { headers: { accept: 'application/json' } })
    expect(JSON.stringify(receipt)).toContain(merchantName)
    expect(await text(at(`${path}/receipt`), html)).toContain(merchantName)
  }, 120_000)

  it('tells the state of the facilitators at the directories, and opens pages at both', async () => {
    const status = await json(at('/api/status'))
    expect(status).toMatchObject({ status: 'ready', networks: [{ network }] })
    expect(status.networks[0].lanes).toHaveLength(2)
    for (const path of ['/', '/status', '/payments', '/console', `/merchants/${merchantId}`]) {
      expect(await text(at(path), html), path).toContain('<title>')
    }
    // A browser that opens a payment asks a facilitator, which has the page too.
    const [payment] = await somePayments(1)
    const { payer, nonce } = payment as NonNullable<typeof payment>
    const ofPayment = `/payments/${network}/${payer}/${nonce}`
    for (const url of [at(ofPayment), of(facilitator(), ofPayment)]) {
      const response = await fetch(url, html)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
      expect(await response.text()).toContain('<title>')
    }
    const { paths } = await json(at('/openapi.json'))
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/settle', '/api/status']))
  })

  it('answers at each facilitator what a directory made of a paid resource', async () => {
    const bazaar = { info: { input: { type: 'http', method: 'GET' } }, schema: { type: 'object' } }
    async function buyAt(i: number) {
      const { paymentPayload, ...terms } = await aPayment()
      const resource = { url: `${shopUrl}/quote` }
      const response = await fetch(of(i, '/settle'), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...terms,
          paymentPayload: { ...paymentPayload, resource, extensions: { bazaar } },
        }),
      })
      const header = response.headers.get('extension-responses') as string
      return JSON.parse(Buffer.from(header, 'base64').toString()).bazaar.status
    }
    for (const i of world.facilitators) {
      expect(await buyAt(i)).toBe('processing')
      await vi.waitUntil(async () => (await buyAt(i)) === 'success', SOON)
    }
  }, 120_000)

  it('sells a hosted endpoint at a directory, which a facilitator settles', async () => {
    const items = await vi.waitUntil(async () => {
      const { items } = await json(at('/discovery/resources?merchant=arcus'))
      return items?.length === 2 ? items : undefined
    }, SOON)
    expect(items[0].resource).toBe(at('/hosted/summary'))
    expect(items[0].accepts).not.toEqual([])
    const sold = await pay()(at('/hosted/fees'))
    expect(sold.status).toBe(200)
    const header = sold.headers.get('payment-response') as string
    const { transaction } = JSON.parse(Buffer.from(header, 'base64').toString())
    const { payments } = await json(of(facilitator(), `/payments/${transaction}`))
    expect(payments).toMatchObject([{ state: 'confirmed' }])
  }, 90_000)

  it.each([
    '/supported',
    '/verify',
    '/settle',
    '/payments/0x12',
    '/.well-known/x402',
    '/ready/details',
  ])('answers %s at a directory with where it is served', async (path) => {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(of(directory(), path), { method })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({
        error: 'not_found',
        message: `This process serves the directory alone. Payments are verified, settled and looked up at ${world.url}.`,
      })
    }
  })

  it.each(['/', '/api/status', '/discovery/resources', '/mcp', '/hosted/fees', '/openapi.json'])(
    'answers %s at a facilitator with where it is served',
    async (path) => {
      const response = await fetch(of(facilitator(), path), html)
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({
        error: 'not_found',
        message: `There is nothing at this path: this process serves payments alone. The catalog and its pages are at ${world.url}.`,
      })
    },
  )

  it('says of each half whether it is ready, with its own checks', async () => {
    const names = async (i: number | undefined) => {
      const { status, checks } = await json(of(i, '/ready'))
      expect(status).toBe('ready')
      return checks.map(({ name }: { name: string }) => name)
    }
    expect(await names(facilitator())).toEqual([
      'journal',
      'leases',
      `chain ${network}`,
      `relayers ${network}`,
    ])
    expect(await names(directory())).toEqual(['journal', 'directory'])
  })

  it('shows the figures of each half, and no others', async () => {
    const own = async (i: number | undefined) => {
      const figures = await text(of(i, '/metrics'))
      return ['arcus_lane_held', 'arcus_directory_up', 'arcus_lease_age_seconds'].filter((name) =>
        figures.includes(`\n${name}`),
      )
    }
    expect(await own(facilitator())).toEqual(['arcus_lane_held', 'arcus_lease_age_seconds'])
    expect(await own(directory())).toEqual(['arcus_directory_up', 'arcus_lease_age_seconds'])
    expect((await fetch(at('/metrics'))).status).toBe(404)
  })

  it('names its half in the log', () => {
    const served = (i: number | undefined) => {
      const lines = world.service(i as number).log()
      const line = lines.find((it) => it.includes('"msg":"serving"')) ?? '{}'
      return (JSON.parse(line) as { serves?: string }).serves
    }
    expect([served(facilitator()), served(directory())]).toEqual(['facilitator', 'directory'])
  })

  it.each([
    ['facilitator', 0],
    ['directory', 2],
  ] as const)('is examined by the doctor as a %s alone', async (half, i) => {
    const env = {
      PATH: process.env.PATH,
      MAINNET_RPC_URLS: world.chainUrl,
      DATABASE_URL: world.databaseUrl,
      BASE_URL: world.url,
      DIRECTORY_URL: world.url,
      ...(half === 'directory' ? ofDirectory : { RELAYER_PRIVATE_KEYS: devnetHost.privateKey }),
      BUYBACK_ADDRESS: devnetBuyback.address,
      MAINNET_ASSETS: undefined,
    }
    const { stdout } = await run(process.execPath, arcus('doctor', '--json', '--only', half), {
      env,
    }).catch((error: { stdout: string }) => error)
    const { findings } = JSON.parse(stdout) as {
      findings: { name: string; state: string; detail: string }[]
    }
    const names = findings.map(({ name }) => name)
    const other = half === 'directory' ? 'facilitator' : 'directory'
    const found = findings.find(({ name }) => name === other)
    expect(found).toMatchObject({ state: 'ok', detail: expect.stringContaining('it answers at') })
    expect(names.includes(`relayers ${network}`)).toBe(half === 'facilitator')
    expect(names.includes('WEBHOOK_KEY')).toBe(half === 'directory')
    const connections = findings.find(({ name }) => name === 'connections')
    expect(connections?.detail).toContain('2 facilitators of 11, 2 directories of 15')
    expect(world.service(i).log()).not.toEqual([])
  })

  it('refuses settings that cannot work', async () => {
    const start = (env: Record<string, string>) =>
      run(process.execPath, [compiled('src/main.ts')], {
        env: { PATH: process.env.PATH, MAINNET_RPC_URLS: world.chainUrl, ...env },
      }).then(
        () => 'it started',
        (error: { stderr: string }) => error.stderr,
      )
    const postgres = { DATABASE_URL: world.databaseUrl }
    expect(await start({ SERVE_ONLY: 'directory' })).toContain('SERVE_ONLY needs a PostgreSQL')
    const lonely = await start({ SERVE_ONLY: 'directory', ...postgres })
    expect(lonely).toContain('SERVE_ONLY=directory needs BASE_URL')
    expect(lonely).not.toContain('RELAYER')
    const without = await start({ SERVE_ONLY: 'facilitator', ...postgres })
    expect(without).toContain('SERVE_ONLY=facilitator needs DIRECTORY_URL')
    expect(without).toContain('RELAYER_PRIVATE_KEYS')
  })

  it('settles without a directory, and takes in what waited once one is there', async () => {
    const before = (await json(at('/api/status'))).settling.hour.settled
    await Promise.all(world.directories.map((i) => world.service(i).crash()))
    const payments = await somePayments(5)
    await world.client.settleUntilTold(payments, 30_000)
    expect(await statesOf(payments)).toEqual(Array(5).fill('confirmed'))
    const [{ payer, nonce }] = payments as [NonNullable<(typeof payments)[0]>]
    const path = `/payments/${network}/${payer}/${nonce}/receipt`
    const receipt = await fetch(of(facilitator(), path))
    expect(receipt.status).toBe(200)
    expect((await fetch(at('/api/status'))).status).toBe(502)
    await Promise.all(world.directories.map((i) => world.restart(i)))
    await vi.waitUntil(async () => {
      const response = await fetch(at('/api/status'))
      return response.ok && (await json(at('/api/status'))).settling.hour.settled === before + 5
    }, SOON)
  }, 180_000)

  it('answers from the database while no facilitator is there, and says so', async () => {
    await Promise.all(world.facilitators.map((i) => world.service(i).crash()))
    // An answer is kept for a second.
    const status = await vi.waitUntil(async () => {
      const found = await json(of(directory(), '/api/status'))
      return found.networks.length === 0 ? found : undefined
    }, SOON)
    expect(status).toMatchObject({ status: 'not_ready' })
    expect(status.checks).toMatchObject([{ name: 'facilitator', ok: false }])
    const { items } = await json(at(`/discovery/resources?merchant=${merchantId}`))
    expect(items).toHaveLength(1)
    expect((await json(of(directory(), '/ready'))).status).toBe('ready')
    await Promise.all(world.facilitators.map((i) => world.restart(i)))
    const payments = await somePayments(1)
    await world.client.settleUntilTold(payments, 60_000)
    expect(await statesOf(payments)).toEqual(['confirmed'])
  }, 180_000)
})

// biome-ignore lint/suspicious/noExplicitAny: bodies of many routes.
async function json(url: string, init?: RequestInit): Promise<any> {
  return (await fetch(url, init)).json()
}

async function text(url: string, init?: RequestInit): Promise<string> {
  return (await fetch(url, init)).text()
}
