import { createListingClient } from '@arcus/client/listing-client'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

const FLOOD = 1_000
const PATHS = 50
/** More than any bound on single answers that were refused, and far less than the flood. */
const FEW = 300

let world: World
let database: Sqlite.Database

beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0', PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  database = new Sqlite(world.databasePath, { readonly: true })
  const client = createListingClient({
    directoryUrl: world.url,
    audience: `http://localhost:${new URL(world.url).port}`,
    signer: devnetMerchant.account,
  })
  await client.save('weather', {
    name: 'Weather',
    description: '',
    payTo: devnetMerchant.address,
    endpoints: Array.from({ length: PATHS }, (_, i) => ({
      url: `http://127.0.0.1:1/weather/${i}`,
      method: 'GET' as const,
      title: 'Weather',
      price: '10000',
      example: { queryParams: {} },
    })),
  })
}, 60_000)

afterAll(async () => {
  database.close()
  await world.stop()
})

const count = (sql: string, ...values: unknown[]) =>
  database
    .prepare(sql)
    .pluck()
    .get(...values) as number
const rows = (where = '1') => count(`SELECT count(*) FROM activity WHERE ${where}`)
const keys = () =>
  count('SELECT count(*) FROM activity_sums') + count('SELECT count(*) FROM activity_latencies')
const answered = () => count("SELECT sum(count) FROM activity_sums WHERE merchant_id = ''") ?? 0
/** What is handed over to the directory comes and goes, so that pages without a use do not count. */
const bytes = () =>
  (count('SELECT * FROM pragma_page_count') - count('SELECT * FROM pragma_freelist_count')) *
  count('SELECT * FROM pragma_page_size')

/** All that was answered so far is counted. */
const untilAnswered = (total: number) =>
  vi.waitUntil(() => answered() >= total, { timeout: 20_000, interval: 100 })

async function flood(path: string, make: (i: number) => object, total = FLOOD): Promise<void> {
  const before = answered()
  for (let from = 0; from < total; from += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => world.post(path, make(from + i))))
  }
  await untilAnswered(before + total)
}

function about(payment: SignedPayment, url: string): SignedPayment {
  const copy = structuredClone(payment) as SignedPayment & {
    paymentPayload: { resource?: object }
  }
  copy.paymentPayload.resource = { url }
  return copy
}

/** Signed by nobody who pays. */
async function forged(to?: `0x${string}`): Promise<SignedPayment> {
  return aSignedPayment({ signer: anAccount(), ...(to && { to }) })
}

describe('a flood of refused answers', () => {
  it('about nobody leaves no row, and takes no room', async () => {
    const payment = await forged(anAccount().address)
    const long = 'x'.repeat(1_900)
    await flood('/verify', (i) => about(payment, `https://a${i}.example/${long}/${i}`), 500)
    const before = { bytes: bytes(), keys: keys(), rows: rows() }
    await flood('/verify', (i) => about(payment, `https://b${i}.example/${long}/${i}`))
    await flood('/settle', (i) => about(payment, `https://c${i}.example/${long}/${i}`))
    expect(rows()).toBe(before.rows)
    expect(rows()).toBe(0)
    // An hour, a kind and some steps of latency.
    expect(keys() - before.keys).toBeLessThan(30)
    expect((bytes() - before.bytes) / (2 * FLOOD)).toBeLessThan(400)
  })

  it('that names a listed merchant is bounded, in rows and in sums', async () => {
    const payment = await forged()
    const before = keys()
    const place = (i: number) => `http://127.0.0.1:1/weather/${i % PATHS}?try=${i}`
    await flood('/verify', (i) => about(payment, place(i)))
    await flood('/settle', (i) => about(payment, place(i)))
    const kept = rows("merchant_id = 'weather'")
    expect(kept).toBeGreaterThan(0)
    expect(kept).toBeLessThan(FEW)
    expect(keys() - before).toBeLessThan(2 * FEW + 100)
    const refused = "state IN ('invalid', 'refused', 'failed')"
    expect(
      count(`SELECT sum(count) FROM activity_sums WHERE merchant_id = 'weather' AND ${refused}`),
    ).toBe(2 * FLOOD)
  })
})

describe('a row', () => {
  it('is kept of a payment to nobody that settled, and of none that was only checked', async () => {
    const payment = await aSignedPayment({ to: anAccount().address })
    const before = answered()
    const nobody = rows('merchant_id IS NULL')
    expect((await world.post('/verify', payment)).body.isValid).toBe(true)
    expect((await world.post('/settle', payment)).body.success).toBe(true)
    await untilAnswered(before + 2)
    expect(rows('merchant_id IS NULL') - nobody).toBe(1)
  })
})
