import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sendCached, toCachedBody } from '../../src/http/cached-reply.js'
import { rateLimitFault } from '../../src/http/errors.js'
import {
  blockOf,
  type CountExchange,
  callerOf,
  type HeldRequest,
  installRateLimit,
  networkOf,
} from '../../src/http/rate-limit.js'
import { anEdgesServer, type EdgesOptions } from './edges-server.js'

const open = async (options: EdgesOptions) => (await anEdgesServer(options)).app

const verify = { method: 'POST', url: '/verify', payload: {} } as const

describe('the caller behind a proxy', () => {
  /** Sends six requests with what the proxy writes, past an allowance of five. */
  async function statuses(trustProxy: boolean | number | string[], write: (i: number) => string) {
    const app = await open({ rateLimitMax: 5, trustProxy })
    const codes = []
    for (let i = 0; i < 6; i++) {
      const headers = { 'x-forwarded-for': write(i) }
      codes.push((await app.inject({ url: '/api/merchants', headers })).statusCode)
    }
    return codes
  }
  const asOne = [200, 200, 200, 200, 200, 429]

  it.each([
    ['an address with a port', (i: number) => `9.9.9.7:${1_000 + i}`],
    ['an IPv6 address with a port', (i: number) => `[2001:db8:1:2::1]:${1_000 + i}`],
    [
      'an IPv6 address in brackets or not',
      (i: number) => (i % 2 ? '[2001:db8::1]' : '2001:db8::1'),
    ],
    ['an address with a zone', (i: number) => `fe80::1%eth${i}`],
    ['IPv4 in every spelling', (i: number) => (i % 2 ? '::ffff:0909:0909' : '9.9.9.9')],
    ['another address before its own', (i: number) => `1.2.3.${i}, 9.9.9.8:${i}`],
    ['a text that is no address', (i: number) => `unknown${i}`],
    ['an address before such a text', (i: number) => `1.2.3.${i}, _hidden`],
    ['an empty part after it', (i: number) => `1.2.3.${i}, `],
    ['a port alone', (i: number) => `:${1_000 + i}`],
    ['IPv4 in brackets', (i: number) => `[1.2.3.${i}]`],
  ])('is one caller, whatever the proxy writes: %s', async (_, write) => {
    expect(await statuses(1, write)).toEqual(asOne)
    expect(await statuses(['127.0.0.1'], write)).toEqual(asOne)
  })

  it('is believed no word beyond a text that is no address, even where every proxy is trusted', async () => {
    expect(await statuses(true, (i) => `1.2.3.${i}, unknown, 9.9.9.9`)).toEqual(asOne)
    expect(
      await statuses(['127.0.0.1', '10.0.0.0/8'], (i) => `1.2.3.${i}, unknown, 10.0.0.1`),
    ).toEqual(asOne)
  })

  it('is the one that the named proxies saw, with ports or without', async () => {
    const codes = await statuses(['127.0.0.1', '10.0.0.0/8'], (i) => `1.2.3.${i}:80, 10.0.0.1:${i}`)
    expect(codes).toEqual(Array(6).fill(200))
    expect(await statuses(false, (i) => `1.2.3.${i}`)).toEqual(asOne)
  })
})

describe('the rate limit', () => {
  it('refuses the request past the allowance with 429 in shape and Retry-After', async () => {
    const app = await open({ rateLimitMax: 3 })
    for (let i = 0; i < 3; i++) expect((await app.inject(verify)).statusCode).toBe(200)
    const refused = await app.inject(verify)
    expect(refused.statusCode).toBe(429)
    expect(refused.json()).toMatchObject({ isValid: false, invalidReason: 'rate_limited' })
    const retryAfter = Number(refused.headers['retry-after'])
    expect(retryAfter).toBeGreaterThan(50)
    expect(retryAfter).toBeLessThanOrEqual(60)
  })

  it('keeps one count over all counted routes, unknown paths included', async () => {
    const app = await open({ rateLimitMax: 3 })
    await app.inject(verify)
    await app.inject('/payments/eip155:5042/0x1/0x2')
    await app.inject('/nowhere')
    expect((await app.inject('/nowhere')).statusCode).toBe(429)
    expect((await app.inject('/api/merchants')).json()).toMatchObject({ error: 'rate_limited' })
  })

  it('never counts or refuses an exempt route or a preflight', async () => {
    const app = await open({ rateLimitMax: 1 })
    const preflight = { method: 'OPTIONS', url: '/api/merchants' } as const
    for (let i = 0; i < 3; i++) {
      expect((await app.inject('/supported')).statusCode).toBe(200)
      expect((await app.inject('/health')).statusCode).toBe(200)
      expect((await app.inject(preflight)).statusCode).toBe(204)
    }
    expect((await app.inject(verify)).statusCode).toBe(200)
    expect((await app.inject(verify)).statusCode).toBe(429)
    expect((await app.inject('/supported')).statusCode).toBe(200)
  })

  it('leaves a manual route to its handler: a held request counts until it is given back', async () => {
    const held: HeldRequest[] = []
    const app = await open({
      rateLimitMax: 2,
      routes: (app, limiter) => {
        const config = { family: 'settle', limit: 'manual' } as const
        app.post('/held', { config }, async (request) => {
          const hold = limiter.hold(request)
          if (hold.limited) throw rateLimitFault(hold.resetSeconds)
          held.push(hold)
          return {}
        })
      },
    })
    const post = async (url: string) => app.inject({ method: 'POST', url, payload: {} })
    for (let i = 0; i < 2; i++) expect((await post('/held')).statusCode).toBe(200)
    for (let i = 0; i < 3; i++) {
      const refused = await post('/held')
      expect(refused.statusCode).toBe(429)
      expect(refused.json()).toMatchObject({ success: false, errorReason: 'rate_limited' })
    }
    expect((await app.inject(verify)).statusCode).toBe(429)
    held.pop()?.giveBack()
    // A request that was refused outside the handler counts too.
    expect((await post('/held')).statusCode).toBe(429)
    held.pop()?.giveBack()
    expect((await post('/held')).statusCode).toBe(200)
    expect((await post('/settle')).statusCode).toBe(200)
  })

  it('is off at 0', async () => {
    const app = await open({ rateLimitMax: 0 })
    for (let i = 0; i < 20; i++) expect((await app.inject(verify)).statusCode).toBe(200)
  })
})

describe('what a request costs', () => {
  const left = ({ headers }: { headers: Record<string, unknown> }) => String(headers.ratelimit)

  it('is told in every answer, in points of a window', async () => {
    const app = await open({ rateLimitMax: 3 })
    const answer = await app.inject(verify)
    expect(answer.headers['ratelimit-policy']).toBe('"default";q=3;w=60')
    expect(left(answer)).toBe('"default";r=2;t=60')
    await app.inject(verify)
    expect(left(await app.inject(verify))).toBe('"default";r=0;t=60')
    const refused = await app.inject(verify)
    expect(refused.statusCode).toBe(429)
    expect(left(refused)).toBe('"default";r=0;t=60')
    expect((await app.inject('/health')).headers).not.toHaveProperty('ratelimit')
  })

  it('grows with the body, whether that says its length or not', async () => {
    const app = await open({ rateLimitMax: 100 })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const text = JSON.stringify({ pad: 'x'.repeat(40 * 1_024) })
    const post = async (body: string | ReadableStream) => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body, duplex: 'half' } as const
      const answer = await fetch(`${url}/verify`, init)
      await answer.text()
      return answer.headers.get('ratelimit')
    }
    expect(await post(text)).toBe('"default";r=89;t=60')
    const streamed = new Blob([text]).stream()
    expect(await post(streamed)).toBe('"default";r=88;t=60')
    // The body of the stream is charged once it has passed.
    expect(await post('{}')).toBe('"default";r=77;t=60')
  })

  it('grows with an answer that was made for it, and not with one that was kept', async () => {
    const kept = toCachedBody('y'.repeat(50 * 1_024))
    const app = await open({
      rateLimitMax: 100,
      routes(app) {
        app.get('/made', () => 'x'.repeat(50 * 1_024))
        app.get('/kept', (request, reply) => sendCached(request, reply, kept))
      },
    })
    const leftAfter = async (url: string) => {
      await app.inject(url)
      return Number(/r=(\d+)/.exec(left(await app.inject('/api/merchants')))?.[1])
    }
    expect(await leftAfter('/made')).toBe(100 - 1 - 5 - 1)
    expect(await leftAfter('/kept')).toBe(93 - 1 - 5 - 1)
    expect(await leftAfter('/kept')).toBe(86 - 1 - 1)
  })
})

describe('the counter', () => {
  const start = new Date('2026-01-01T00:00:00Z').getTime()
  const at = (ms: number) => vi.setSystemTime(start + ms)
  const ask = async (app: FastifyInstance, url: string, remoteAddress = '10.0.0.1') =>
    (await app.inject({ method: 'POST', url, payload: {}, remoteAddress })).json()

  beforeEach(() => {
    // Timers stay real: the server needs them.
    vi.useFakeTimers({ toFake: ['Date'], now: start })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const openCounter = (rateLimitMax: number) =>
    open({
      rateLimitMax,
      routes: (app, limiter) => {
        const config = { limit: 'manual' } as const
        app.post('/consume', { config }, async (request) => limiter.consume(request))
        app.post('/look', { config }, async (request) => limiter.look(request))
      },
    })

  it('starts a new window when the old one is over, not a millisecond before', async () => {
    const app = await openCounter(1)
    const spent = (resetSeconds: number) => ({ limited: true, left: 0, resetSeconds })
    expect(await ask(app, '/consume')).toEqual({ limited: false, left: 0, resetSeconds: 60 })
    expect(await ask(app, '/look')).toEqual(spent(60))
    at(59_999)
    expect(await ask(app, '/look')).toEqual(spent(1))
    expect(await ask(app, '/consume')).toEqual(spent(1))
    at(60_000)
    expect(await ask(app, '/look')).toEqual({ limited: false, left: 1, resetSeconds: 60 })
    expect(await ask(app, '/consume')).toEqual({ limited: false, left: 0, resetSeconds: 60 })
    expect(await ask(app, '/consume')).toEqual(spent(60))
  })

  it('does not prolong the window of a caller that goes on asking', async () => {
    const app = await openCounter(2)
    for (const ms of [0, 20_000, 40_000, 59_000]) {
      at(ms)
      await ask(app, '/consume')
    }
    expect(await ask(app, '/consume')).toMatchObject({ limited: true, resetSeconds: 1 })
    at(60_000)
    expect((await ask(app, '/consume')).limited).toBe(false)
  })
})

describe('the counted caller', () => {
  const forwarded = (address: string, hops: string) =>
    ({ ...verify, remoteAddress: address, headers: { 'x-forwarded-for': hops } }) as const

  it('is the connection if no proxy is trusted, whatever the caller claims', async () => {
    const app = await open({ rateLimitMax: 1 })
    expect((await app.inject(forwarded('10.0.0.1', '1.1.1.1'))).statusCode).toBe(200)
    expect((await app.inject(forwarded('10.0.0.1', '2.2.2.2'))).statusCode).toBe(429)
    expect((await app.inject(forwarded('10.0.0.2', '1.1.1.1'))).statusCode).toBe(200)
  })

  it.each([
    ['a number of hops', 1],
    ['a range', ['10.0.0.0/8']],
  ])('is what the proxy saw when proxies are named by %s', async (_, trustProxy) => {
    const app = await open({ rateLimitMax: 1, trustProxy })
    expect((await app.inject(forwarded('10.0.0.1', '9.9.9.9, 1.1.1.1'))).statusCode).toBe(200)
    expect((await app.inject(forwarded('10.0.0.1', '8.8.8.8, 1.1.1.1'))).statusCode).toBe(429)
    expect((await app.inject(forwarded('10.0.0.1', '9.9.9.9, 2.2.2.2'))).statusCode).toBe(200)
  })
})

/** A limit of four requests a minute; `sent` is what the other processes are told. */
function aLimit() {
  const world = { isGone: false, sent: [] as number[] }
  const exchange: CountExchange = {
    async add(counts, now, windowMs) {
      if (world.isGone) throw new Error('the database is gone')
      world.sent.push(...counts.map(({ count }) => count))
      return counts.map(({ caller }) => {
        const count = world.sent.reduce((sum, it) => sum + it, 0)
        return { caller, count, endsAt: now + windowMs }
      })
    },
    busiest: async () => [],
    forget: async () => {},
  }
  const limiter = installRateLimit(fastify(), { max: 4, windowSeconds: 60 }, exchange)
  if (limiter === undefined) throw new Error('there is no limit')
  const request = { ip: '192.0.2.7' }
  const limited = () => limiter.consume(request).limited
  return { world, limited, hold: () => limiter.hold(request) }
}

describe('requests that are counted with other processes', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are not forgotten while the database is gone', async () => {
    const { world, limited } = aLimit()
    world.isGone = true
    expect([limited(), limited(), limited()]).toEqual([false, false, false])
    await vi.advanceTimersByTimeAsync(3_000)
    expect([limited(), limited()]).toEqual([false, true])
    world.isGone = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.sent).toEqual([5])
  })

  it('do not make up for one that is given back after its minute', async () => {
    const { world, hold } = aLimit()
    const held = hold()
    const early = hold()
    if ('giveBack' in early) early.giveBack()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.sent).toEqual([1])
    await vi.advanceTimersByTimeAsync(61_000)
    world.sent.length = 0
    if ('giveBack' in held) held.giveBack()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.sent.filter((count) => count < 0)).toEqual([])
  })
})

it.each([
  ['198.51.100.7', '198.51.100.7', '198.51.100.0/24', '198.51.0.0/16'],
  ['::ffff:198.51.100.7', '198.51.100.7', '198.51.100.0/24', '198.51.0.0/16'],
  ['2001:db8:a:b:c:d:e:f', '2001:db8:a:b::/64', '2001:db8:a::/48', '2001:db8::/32'],
  ['2001:db8::b:c:d:192.0.2.1', '2001:db8:0:b::/64', '2001:db8:0::/48', '2001:db8::/32'],
  ['1::', '1:0:0:0::/64', '1:0:0::/48', '1:0::/32'],
  ['2001:DB8:1:2::1', '2001:db8:1:2::/64', '2001:db8:1::/48', '2001:db8::/32'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64', '64:ff9b:0::/48', '64:ff9b::/32'],
  ['1:2:3::5:6:192.0.2.1', '1:2:3:0::/64', '1:2:3::/48', '1:2::/32'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48', 'fe80:0::/32'],
])('the parties of %s are counted as %s, %s and %s', (ip, caller, block, network) => {
  expect([callerOf(ip), blockOf(ip), networkOf(ip)]).toEqual([caller, block, network])
})
