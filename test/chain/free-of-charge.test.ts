import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import Sqlite from 'better-sqlite3'
import type { Address } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetContracts, mintUsdc } from '../../src/devnet/fixtures.js'
import { aChannel } from '../support/a-channel.js'
import {
  aPermit2Nonce,
  aPermit2Payment,
  approvePermit2,
  charging,
  type Permit2Body,
} from '../support/a-permit2-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

const id = 'metered'
const owner = anAccount()
const FLOOD = 400
/** More than the rows that such answers about one merchant may have in an hour, and far less than the flood. */
const FEW = 150

let world: World
let database: Sqlite.Database
let shop: Server
let url: string
let buyer: ReturnType<typeof anAccount>

beforeAll(async () => {
  shop = createServer((request, response) => {
    const terms = { scheme: 'upto', network: 'eip155:5042', amount: '20000', maxTimeoutSeconds: 60 }
    const extra = { name: 'USDC', version: '2', assetTransferMethod: 'permit2' }
    const accepts = [{ ...terms, asset: devnetContracts.usdc, payTo: owner.address, extra }]
    const required = { x402Version: 2, resource: { url: request.url }, accepts }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/answers`
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0', PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  database = new Sqlite(world.databasePath, { readonly: true })
  const audience = `http://localhost:${new URL(world.url).port}`
  const client = createListingClient({ directoryUrl: world.url, audience, signer: owner })
  await client.save(id, {
    name: 'Metered answers',
    payTo: owner.address,
    endpoints: [{ url, method: 'GET', title: 'Answer', price: '20000', pricing: 'metered' }],
  })
  buyer = await aBuyer()
}, 60_000)

afterAll(async () => {
  shop.close()
  database.close()
  await world.stop()
})

async function aCall(from: ReturnType<typeof anAccount>, to: Address = owner.address) {
  const wish = { from: from.address, signer: from, to, nonce: aPermit2Nonce() }
  const body = await aPermit2Payment({ ...wish, scheme: 'upto', permitted: 20_000n })
  return { ...body, paymentPayload: { ...body.paymentPayload, resource: { url } } }
}

const count = (where: string) =>
  database.prepare(`SELECT count(*) FROM activity WHERE ${where}`).pluck().get() as number
const answered = () =>
  (database
    .prepare("SELECT sum(count) FROM activity_sums WHERE merchant_id = ''")
    .pluck()
    .get() as number) ?? 0

/** Settles, and waits until everything is kept. */
async function settleAll(bodies: readonly object[]) {
  const before = answered()
  const answers = []
  for (let from = 0; from < bodies.length; from += 50) {
    const part = bodies.slice(from, from + 50)
    answers.push(...(await Promise.all(part.map((body) => world.post('/settle', body)))))
  }
  await vi.waitUntil(() => answered() >= before + bodies.length, { timeout: 30_000, interval: 50 })
  return answers
}

const get = async (path: string) => (await world.get(path)).body
const text = async (path: string) => (await fetch(world.url + path)).text()

/** Every public figure of use but those of the home page, which are kept for half a minute. */
async function figures() {
  const status = (await get('/api/status')).settling.hour
  const stats = (answer: Record<string, { settled: number; successRate: number }>) => answer['24h']
  return {
    usage: (await get(`/api/merchants/${id}`)).usage,
    item: (await get(`/discovery/resources?merchant=${id}`)).items[0].metadata.usage,
    card: (await get('/api/endpoints')).items[0].usage,
    ofMerchant: stats(await get(`/api/merchants/${id}/stats`)),
    ofAll: stats(await get('/api/stats')),
    status: { settled: status.settled, successRate: status.successRate, p50: status.p50Ms },
    badge: await text(`/badge/${id}.svg`),
    events: database.prepare('SELECT type FROM events').pluck().all(),
    metrics: (await text('/metrics'))
      .split('\n')
      .filter((line) => /^arcus_settle_(promise_)?total.*(settled|yes)/.test(line)),
  }
}

async function signIn(): Promise<string> {
  const { nonce, domain, uri, chainId } = await get('/api/session/nonce')
  const { address } = owner
  const message = createSiweMessage({ address, nonce, domain, uri, chainId, version: '1' })
  const signature = await owner.signMessage({ message })
  const { headers } = await world.post('/api/session', { message, signature })
  return String(headers.get('set-cookie')).split(';')[0] ?? ''
}

/** So many payments, one of each payer, are in every figure, and nothing else is. */
async function expectFigures(paid: number): Promise<void> {
  const windows = { '24h': paid, '7d': paid, '30d': paid }
  const usage = { calls: windows, onlyHere: windows, topPayerShare: 1 / paid }
  const totals = { settled: paid, successRate: 1, payers: { unique: paid, repeat: 0 } }
  await vi.waitFor(
    async () =>
      expect(await figures()).toMatchObject({
        usage,
        item: usage,
        card: usage,
        ofMerchant: totals,
        ofAll: totals,
        status: { settled: paid, successRate: 1 },
        badge: expect.stringContaining(`live · ${paid} paid call`),
        events: Array(paid).fill('payment.settled'),
        metrics: [
          `arcus_settle_total{network="eip155:5042",reason="settled"} ${paid}`,
          `arcus_settle_promise_total{network="eip155:5042",kept="yes"} ${paid}`,
        ],
      }),
    { timeout: 30_000, interval: 200 },
  )
}

async function aBuyer() {
  const buyer = anAccount()
  await mintUsdc(world.chainUrl, buyer.address, 1_000_000n)
  await approvePermit2(world.chainUrl, buyer.address, 10n ** 12n)
  return buyer
}

it('a charge of nothing is in no figure of use, for any caller and however often', async () => {
  const paid = charging(await aCall(buyer), 15_000n)
  expect((await settleAll([paid]))[0]?.body).toMatchObject({ success: true, amount: '15000' })
  await expectFigures(1)

  // Wallets that never held anything, each of them again and again, and the buyer of before.
  const empty = await Promise.all(Array.from({ length: 40 }, () => aCall(anAccount())))
  const bodies = Array.from({ length: FLOOD }, (_, i) => empty[i % 40] as Permit2Body)
  const free = [...bodies, await aCall(buyer)].map((body) => charging(body, 0n))
  for (const { body } of await settleAll(free)) {
    expect(body).toMatchObject({ success: true, transaction: '', amount: '0' })
  }

  await settleAll([charging(await aCall(await aBuyer()), 15_000n)])
  await expectFigures(2)
  const { days } = await get('/api/explore')
  expect(days.at(-1)).toMatchObject({ settled: 2, usd: '0.03' })
}, 120_000)

it('it is bounded in rows, and leaves none where nobody lists the recipient', async () => {
  expect(count("state = 'free'")).toBeGreaterThan(0)
  expect(count("state = 'free'")).toBeLessThan(FEW)
  expect(count("amount = '0' AND state <> 'free'")).toBe(0)
  const rows = count('1')
  const unlisted = await aCall(anAccount(), anAccount().address)
  await settleAll(Array.from({ length: 20 }, () => charging(unlisted, 0n)))
  expect(count('1')).toBe(rows)
})

it('its owner sees it as what it is, apart from payments', async () => {
  const cookie = await signIn()
  const ask = async (path: string) => {
    const response = await fetch(`${world.url}/api/merchants/${id}/${path}`, {
      headers: { cookie },
    })
    return response.text()
  }
  const { items } = JSON.parse(await ask('activity/table?state=free&kind=settle'))
  expect(items[0]).toMatchObject({ state: 'free', amount: '0', transaction: null, reason: null })
  expect(await ask('activity.csv?state=free')).toContain(',settle,free,')
  const { summary, series } = JSON.parse(await ask('activity'))
  expect(summary.settle).toMatchObject({ count: 2, settled: 2, failed: 0, refused: 0 })
  expect(summary).toMatchObject({ payers: { unique: 2, repeat: 0, topShare: 0.5 }, refusals: [] })
  expect(series.reduce((sum: number, { settled }: { settled: number }) => sum + settled, 0)).toBe(2)
  const { endpoints, topPayers } = JSON.parse(await ask('activity/breakdown'))
  expect(endpoints).toMatchObject([{ settled: 2, payers: 2 }])
  expect(topPayers).toMatchObject([{ count: 1 }, { count: 1 }])
})

it('a deposit of a channel for a call that costs nothing is no sale either', async () => {
  const payer = anAccount()
  await mintUsdc(world.chainUrl, payer.address, 1_000_000n)
  const deposit = await aChannel({ payer, receiver: owner.address }).deposit()
  Object.assign(deposit.paymentRequirements, { amount: '0' })
  const [answer] = await settleAll([deposit])
  expect(answer?.body).toMatchObject({ success: true })
  expect(count("state = 'settled'")).toBe(2)
})
