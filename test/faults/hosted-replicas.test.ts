import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import pg from 'pg'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetBuyback, devnetHost } from '../../src/devnet/accounts.js'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { payingBy } from '../support/paying.js'
import { type Replicas, startReplicas } from './support/replicas.js'

/** A wallet that is leased by a dead replica is free after six seconds, and refunds are tried every thirty. */
const TAKEN_OVER = { timeout: 60_000, interval: 250 }
const FEES = 5_000n

let world: Replicas
let database: pg.Client

beforeAll(async () => {
  world = await startReplicas({
    replicas: 2,
    relayers: 2,
    env: {
      BASE_URL: 'http://arcus.example',
      HOSTED_PRIVATE_KEY: devnetHost.privateKey,
      HOSTED_CLAIM_SECONDS: '5',
      BUYBACK_ADDRESS: devnetBuyback.address,
    },
  })
  database = new pg.Client({ connectionString: world.databaseUrl })
  await database.connect()
}, 150_000)
afterAll(async () => {
  await database?.end()
  await world?.close()
})

const bought = () => usdcBalance(world.chainUrl, devnetBuyback.address)
const urlOf = (replica: number, path: string) => `${world.service(replica).url}/hosted/${path}`

async function aBuyer(Scheme: typeof ExactEvmScheme | typeof BatchSettlementEvmScheme) {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const pay = payingBy(new Scheme(account))
  return { pay, balance: () => usdcBalance(world.chainUrl, account.address) }
}

/** Replicas that told of a claim. */
const claimers = () =>
  [0, 1].filter((replica) =>
    world
      .service(replica)
      .log()
      .some((line) => line.includes('vouchers claimed')),
  )

it('lists what is hosted once, however many sell it', async () => {
  for (const replica of [0, 1]) {
    const { items } = await vi.waitUntil(async () => {
      const url = `${world.service(replica).url}/discovery/resources?merchant=arcus`
      const found = (await (await fetch(url)).json()) as { items?: { resource: string }[] }
      return found.items?.length === 2 ? (found as { items: { resource: string }[] }) : undefined
    }, TAKEN_OVER)
    expect(items.map(({ resource }) => resource)).toEqual([
      'http://arcus.example/hosted/summary',
      'http://arcus.example/hosted/fees',
    ])
  }
}, 90_000)

it('keeps one channel over calls at both, and one replica claims what they earned', async () => {
  const { pay } = await aBuyer(BatchSettlementEvmScheme)
  const before = await bought()
  for (const replica of [0, 1, 1, 0]) expect((await pay(urlOf(replica, 'fees'))).status).toBe(200)
  await vi.waitUntil(async () => (await bought()) - before === 4n * FEES, TAKEN_OVER)
  expect(claimers()).toHaveLength(1)
}, 90_000)

it('leaves the reservation of a call at another replica alone when one starts', async () => {
  const { rows } = await database.query(
    "SELECT id, body FROM hosted_records WHERE kind = 'channel'",
  )
  const [{ id, body }] = rows as [{ id: string; body: string }]
  const held = { pendingId: 'of another', signedMaxClaimable: '1', expiresAt: Date.now() + 600_000 }
  const text = JSON.stringify({ ...JSON.parse(body), pendingRequest: held })
  const write = (value: string) =>
    database.query("UPDATE hosted_records SET body = $2 WHERE kind = 'channel' AND id = $1", [
      id,
      value,
    ])
  await write(text)
  // The one that claims stays.
  const other = 1 - (claimers()[0] as number)
  await world.service(other).stop()
  await world.restart(other)
  const after = await database.query('SELECT body FROM hosted_records WHERE id = $1', [id])
  expect(JSON.parse(after.rows[0].body).pendingRequest).toEqual(held)
  await write(body)
}, 90_000)

it('of one that dies for good, another claims and brings back what is due', async () => {
  const [claimer] = claimers() as [number]
  const other = 1 - claimer
  const metered = await aBuyer(ExactEvmScheme)
  // The host has no money yet: the refund stays due.
  const summary = await metered.pay(urlOf(claimer, 'summary'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'Rain fell. It fell all night.' }),
  })
  expect(summary.status).toBe(200)
  expect(await metered.balance()).toBe(980_000n)
  const channel = await aBuyer(BatchSettlementEvmScheme)
  expect((await channel.pay(urlOf(claimer, 'fees'))).status).toBe(200)
  const before = await bought()
  await world.service(claimer).crash()
  expect((await channel.pay(urlOf(other, 'fees'))).status).toBe(200)
  await mintUsdc(world.chainUrl, devnetHost.address, 1_000_000n)
  await vi.waitUntil(async () => (await metered.balance()) === 995_000n, TAKEN_OVER)
  await vi.waitUntil(async () => (await bought()) > before, TAKEN_OVER)
  expect(claimers()).toContain(other)
}, 180_000)
