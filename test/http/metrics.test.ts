import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installFaultCount, metricsRoutes, type OnFault } from '../../src/app/metrics/routes.js'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { rateLimitFault } from '../../src/http/errors.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { anEdgesServer } from './edges-server.js'

const page = { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'up 1\n' }

describe('GET /metrics', () => {
  it('answers in the format of its content type, past any rate limit', async () => {
    const { app } = await anEdgesServer({
      rateLimitMax: 1,
      routes: (app) => metricsRoutes(app, async () => page),
    })
    for (let i = 0; i < 3; i++) {
      const { statusCode, headers, body } = await app.inject('/metrics')
      expect([statusCode, body]).toEqual([200, 'up 1\n'])
      expect(headers).toMatchObject({
        'content-type': page.contentType,
        'cache-control': 'no-store',
      })
    }
  })

  it('is closed to pages of other origins', async () => {
    const { app } = await anEdgesServer({ routes: (it) => metricsRoutes(it, async () => page) })
    const { headers } = await app.inject({
      url: '/metrics',
      headers: { origin: 'https://shop.example' },
    })
    expect(headers).not.toHaveProperty('access-control-allow-origin')
  })
})

describe('the count of faults', () => {
  async function open() {
    const told: Parameters<OnFault>[] = []
    const routes: NonNullable<Parameters<typeof anEdgesServer>[0]>['routes'] = (app) => {
      installFaultCount(app, (...fault) => void told.push(fault))
      for (const family of ['verify', 'settle'] as const) {
        app.post(`/then/${family}`, { config: { family } }, async (request, reply) => {
          const { say } = request.body as { say: string }
          if (say === 'limit') throw rateLimitFault(1)
          if (say === 'fault') throw new Error('no chain')
          return reply.code(400).send({ isValid: false })
        })
      }
      app.post('/then/plain', () => Promise.reject(new Error('no disk')))
    }
    const { app } = await anEdgesServer({ routes, bodyLimitBytes: 1_024 })
    const post = (path: string, body: string) =>
      app.inject({
        method: 'POST',
        url: path,
        headers: { 'content-type': 'application/json' },
        payload: body,
      })
    return { told, post }
  }

  it.each([
    ['verify', '{"say":"limit"}', reasons.rateLimited.code],
    ['settle', '{"say":"limit"}', reasons.rateLimited.code],
    ['verify', '{"say":"fault"}', reasons.unexpectedVerifyError.code],
    ['settle', '{"say":"fault"}', reasons.unexpectedSettleError.code],
    ['verify', '{"say":', reasons.invalidPayload.code],
    ['settle', `"${'x'.repeat(2_000)}"`, reasons.bodyTooLarge.code],
  ] as const)('of %s, asked %.18s, is told %s', async (family, body, code) => {
    const { told, post } = await open()
    await post(`/then/${family}`, body)
    expect(told.map(([family, code]) => [family, code])).toEqual([[family, code]])
  })

  it('leaves out refusals by the handler and routes of other families', async () => {
    const { told, post } = await open()
    expect((await post('/then/verify', '{"say":"no"}')).statusCode).toBe(400)
    expect((await post('/then/plain', '{}')).statusCode).toBe(500)
    expect(told).toEqual([])
  })
})

describe('the service', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.stop())

  /** The figure of one series, 0 when it is not there. */
  async function scrape() {
    const text = await (await fetch(`${world.url}/metrics`)).text()
    const figures = new Map(
      text.split('\n').map((line) => {
        const end = line.lastIndexOf(' ')
        return [line.slice(0, end), Number(line.slice(end + 1))]
      }),
    )
    return { text, of: (series: string) => figures.get(series) ?? 0 }
  }

  it('counts its answers, its costs and the state of its relayers', async () => {
    const network = 'network="eip155:5042"'
    const payments = await Promise.all(Array.from({ length: 5 }, () => aSignedPayment()))
    for (const payment of payments) {
      expect((await world.post('/verify', payment)).body.isValid).toBe(true)
    }
    const settled = await Promise.all(payments.map((payment) => world.post('/settle', payment)))
    expect(settled.every(({ body }) => body.success)).toBe(true)
    await world.post('/settle', payments[0])
    await world.post('/verify', '{')

    const { text, of } = await scrape()
    expect(of(`arcus_verify_total{${network},reason="valid"}`)).toBe(5)
    expect(of('arcus_verify_total{network="other",reason="invalid_payload"}')).toBe(1)
    expect(of(`arcus_settle_total{${network},reason="settled"}`)).toBe(5)
    expect(of(`arcus_settle_total{${network},reason="${reasons.nonceAlreadyUsed.code}"}`)).toBe(1)
    expect(of(`arcus_verify_seconds_count{${network}}`)).toBe(5)
    expect(of(`arcus_settle_seconds_count{${network}}`)).toBe(6)
    expect(of(`arcus_batch_members_sum{${network}}`)).toBe(5)
    expect(of(`arcus_settlement_gas_usd_count{${network}}`)).toBe(5)
    const gas = of(`arcus_gas_usd_total{${network}}`)
    expect(gas).toBeGreaterThan(0)
    expect(of(`arcus_settlement_gas_usd_sum{${network}}`)).toBeCloseTo(gas, 12)
    expect(of(`arcus_lane_runway_days{${network}}`)).toBeGreaterThan(1)
    expect(of(`arcus_rpc_node_up{${network},node="0"}`)).toBe(1)
    expect(of(`arcus_queue_length{${network}}`)).toBe(0)
    const idle = 'probe_queue_length probes_under_way activity_dropped discovery_changed_endpoints'
    for (const name of idle.split(' ')) expect(of(`arcus_${name}`)).toBe(0)
    expect(text.match(/^arcus_lane_open\{.*\} 1$/gm)?.length).toBeGreaterThan(0)
    expect(text).not.toContain('arcus_broken_promises_total{')
    expect(text).not.toContain('NaN')
  })

  it('counts a payment that verify promised and settle failed', async () => {
    const { address: from, account: signer } = devnetMerchant
    await mintUsdc(world.chainUrl, from, 1_000_000n)
    const value = await usdcBalance(world.chainUrl, from)
    const wish = { from, signer, to: devnetPayer.address, value }
    const payments = [await aSignedPayment(wish), await aSignedPayment(wish)]
    for (const payment of payments) {
      expect((await world.post('/verify', payment)).body.isValid).toBe(true)
    }
    const [first, second] = payments
    expect((await world.post('/settle', first)).body.success).toBe(true)
    expect((await world.post('/settle', second)).body.success).toBe(false)

    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const { of } = await scrape()
    const labels = `network="eip155:5042",reason="${reasons.insufficientBalance.code}"`
    expect(of(`arcus_broken_promises_total{${labels}}`)).toBe(1)
  })

  it('reports the runway of the gas money in readiness', async () => {
    const { body } = await world.get('/ready')
    const relayers = body.checks.find(({ name }: { name: string }) => name.startsWith('relayers'))
    expect(relayers.detail).toMatch(
      /gas money for (\d+(\.\d)? days|more than 10 years) at the pace of the last 24 hours/,
    )
  })
})

it('has no metrics if they are switched off', async () => {
  const world = await startWorld({ env: { METRICS: 'false' } })
  try {
    expect((await world.get('/metrics')).status).toBe(404)
  } finally {
    await world.stop()
  }
})
