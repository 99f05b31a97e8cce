import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EndpointStatus } from '../../src/directory/store/listings.js'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { save } from '../support/directory/a-catalog.js'

const day = 86_400
const now = Date.UTC(2026, 10, 20, 12) / 1000
const eurc = '0xbef5f6d51cb62b58e6a8f77868681825c6fe21c1'

let app: TestDirectory['app']
let stores: TestDirectory['stores']
let store: TestDirectory['store']
let id: number
let url: string
let merchants = 0
let merchant: string

beforeAll(async () => {
  ;({ app, stores, store } = await startDirectory({ startSeconds: now }))
})
afterAll(() => app.close())
beforeEach(async () => {
  merchant = `watched-${++merchants}`
  url = `https://api.example.com/${merchant}`
  await save(store, { id: merchant }, [{ url, price: 10_000n }], now - 80 * day)
  const [endpoint] = await store.endpointsOf(merchant)
  id = endpoint?.id ?? 0
})

async function probe(
  checkedAt: number,
  { verdict = 'live', ms = 100, amount = '10000' } = {},
): Promise<void> {
  const [endpoint] = await store.endpointsOf(merchant)
  const status: EndpointStatus = 'live'
  const record = { verdict, message: '', warnings: [], seen: { amount }, checkedAt, ms }
  const { accepts = [], extras = {} } = endpoint ?? {}
  const health = { accepts, extras, status, probe: record, failures: 0, nextProbeAt: null }
  await store.saveProbe(id, health, checkedAt)
}

async function read(path: string, of = String(id)) {
  const response = await app.inject(`/api/merchants/${merchant}/endpoints/${of}/${path}`)
  return { status: response.statusCode, body: response.json() }
}

describe('the health of an endpoint', () => {
  it('is summed by hour, and failures that are probed more often weigh no more', async () => {
    const hour = now - 3_600
    await probe(now - 20 * day, { ms: 400 })
    await probe(now - 2 * 3_600, { ms: 120 })
    await probe(now - 2 * 3_600 + 1, { ms: 80 })
    for (let i = 0; i < 8; i++) await probe(hour + i, { verdict: 'unreachable', ms: 5_000 })
    const { body } = await read('health')
    expect(body).toMatchObject({
      merchant,
      endpoint: id,
      status: 'live',
      uptime: {
        '24h': { probes: 10, share: 0.5 },
        '7d': { probes: 10, share: 0.5 },
        '30d': { probes: 11, share: 0.6667 },
        '90d': { probes: 11, share: 0.6667 },
      },
      latency: { p50Ms: 100, p95Ms: 400 },
    })
    expect(body.history).toEqual([
      { at: now - 2 * 3_600, probes: 2, live: 2, ms: 100, verdicts: { live: 2 } },
      { at: hour, probes: 8, live: 0, ms: null, verdicts: { unreachable: 8 } },
    ])
    expect((await read('health?days=30')).body.history).toHaveLength(3)
    expect((await read('health?days=91')).status).toBe(400)
  })

  it('counts a probe once, also if the endpoint is only given another time', async () => {
    await probe(now - 60)
    await probe(now - 60)
    await probe(now - 50, { verdict: 'not_called' })
    // A probe of before, saved late by somebody who read the endpoint earlier.
    await probe(now - 60)
    expect((await read('health')).body.uptime['24h']).toEqual({ probes: 1, share: 1 })
  })

  it('forgets what is older than 90 days', async () => {
    await probe(now - 89 * day)
    await probe(now + 2 * day)
    const rows = await stores.history.probeHours(id, 0)
    expect(rows.map(({ hour }) => hour)).toEqual([now + 2 * day])
  })

  it('is nothing before the first probe, and gone with the endpoint', async () => {
    const { body } = await read('health')
    expect(body.uptime['90d']).toEqual({ probes: 0, share: null })
    expect(body.latency).toEqual({ p50Ms: null, p95Ms: null })
    await probe(now)
    await save(store, { id: merchant }, [{}])
    expect(await stores.history.probeHours(id, 0)).toEqual([])
  })

  it('belongs to its own merchant, and is not shown of a hidden one', async () => {
    const { status, body } = await read('health', '999999')
    expect([status, body.error]).toEqual([404, 'endpoint_not_found'])
    expect((await read('health', 'one')).status).toBe(404)
    const own = merchant
    merchant = 'watched-1'
    expect((await read('health')).status).toBe(own === 'watched-1' ? 200 : 404)
    merchant = own
    await store.setFlags(merchant, { hiddenReason: 'spam' }, now)
    expect((await read('prices')).status).toBe(403)
  })
})

describe('the prices of an endpoint', () => {
  it('are shown where they change, with a sentence', async () => {
    await probe(Date.UTC(2026, 9, 30) / 1000)
    await probe(Date.UTC(2026, 10, 3) / 1000, { amount: '9000000' })
    await probe(Date.UTC(2026, 10, 4) / 1000, { amount: '9000000' })
    await probe(Date.UTC(2026, 10, 5) / 1000, { verdict: 'wrong_asset', amount: '1' })
    await save(store, { id: merchant }, [{ url, price: 5_000n }], now)
    const { body } = await read('prices')
    expect(body.prices).toEqual([
      {
        source: 'listed',
        at: now - 80 * day,
        amount: '10000',
        symbol: 'USDC',
        currency: 'USD',
        sentence: null,
      },
      expect.objectContaining({ source: 'asked', amount: '10000', sentence: null }),
      expect.objectContaining({
        amount: '9000000',
        sentence: 'Rose from $0.01 to $9.00 on 3 November 2026, in its own 402.',
      }),
      expect.objectContaining({
        amount: '5000',
        sentence: 'Fell from $0.01 to $0.005 on 20 November 2026, in the signed listing.',
      }),
    ])
  })

  it('stay euros', async () => {
    const euros = { url, price: 20_000n, asset: eurc, symbol: 'EURC' } as const
    await save(store, { id: merchant }, [euros], now)
    const { prices } = (await read('prices')).body
    expect(prices.at(-1)).toMatchObject({
      currency: 'EUR',
      sentence: 'Changed from $0.01 to €0.02 on 20 November 2026, in the signed listing.',
    })
  })

  it('are bounded, the newest kept', async () => {
    for (let i = 0; i < 130; i++) await probe(now + i, { amount: String(1_000 + i) })
    const { prices } = (await read('prices')).body
    const asked = prices.filter(({ source }: { source: string }) => source === 'asked')
    expect(asked).toHaveLength(100)
    expect(asked.at(-1).amount).toBe('1129')
  })
})
