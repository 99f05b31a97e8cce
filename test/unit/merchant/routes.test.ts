import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type X402Options, x402 } from '@arcus/merchant'
import { createChannels } from '@arcus/merchant/channels'
import { createRefunds } from '@arcus/merchant/refunds'
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aFacilitator, aShop, buy, payTo, readRequired } from './a-shop.js'

const priced = { config: { x402: '$0.01' } } as const

function anApp(): FastifyInstance {
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true, caseSensitive: false } })
  onTestFinished(() => app.close())
  return app
}

const settings = (more: Partial<X402Options> = {}): X402Options => ({
  facilitator: aFacilitator(),
  payTo,
  ...more,
})

describe('a route', () => {
  it('without a price is left alone', async () => {
    const { app, facilitator } = await aShop((it) =>
      it.get('/free', (request) => `${request.payment}`),
    )
    const headers = { 'payment-signature': '%%%' }
    const response = await app.inject({ url: '/free', headers })
    expect([response.statusCode, response.body]).toEqual([200, 'null'])
    expect(response.headers['access-control-expose-headers']).toBeUndefined()
    expect((await app.inject({ url: '/none', headers })).statusCode).toBe(404)
    expect(facilitator.calls).toEqual([])
  })

  it('with a price answers HEAD and OPTIONS without payment', async () => {
    const { app } = await aShop(
      (it) => {
        it.get('/quote', priced, () => 'goods')
        it.route({ method: ['GET', 'HEAD'], url: '/both', ...priced, handler: () => 'goods' })
      },
      { before: (it) => it.register(cors, { origin: '*' }) },
    )
    for (const url of ['/quote', '/both']) {
      const head = await app.inject({ method: 'HEAD', url })
      expect([url, head.statusCode]).toEqual([url, 200])
      expect((await app.inject(url)).statusCode).toBe(402)
    }
    const origin = { origin: 'https://shop.example', 'access-control-request-method': 'GET' }
    const preflight = await app.inject({ method: 'OPTIONS', url: '/quote', headers: origin })
    expect(preflight.statusCode).toBe(204)
  })

  it('is priced under every spelling that the router accepts', async () => {
    const app = anApp()
    await app.register(x402, settings({ routes: { 'GET /quote/:city': '$0.01' } }))
    app.get('/quote/:city', () => 'goods')
    for (const url of ['/quote/a', '/QUOTE/a', '/quote/a/', '/quot%65/a', '/quote/a?x=/free']) {
      expect([url, (await app.inject(url)).statusCode]).toEqual([url, 402])
    }
  })

  it('has the price of its method, or of all methods', async () => {
    const { app } = await aShop(
      (it) => {
        it.route({ method: ['GET', 'POST'], url: '/one', handler: () => 'goods' })
        it.route({ method: ['GET', 'POST'], url: '/all', handler: () => 'goods' })
      },
      { x402: { routes: { 'POST /one': '$0.02', '/all': { price: '$0.03', payTo: payTo } } } },
    )
    const amount = async (method: 'GET' | 'POST', url: string) => {
      const response = await app.inject({ method, url })
      return response.statusCode === 402 ? readRequired(response).accepts[0]?.amount : 'free'
    }
    expect(await amount('GET', '/one')).toBe('free')
    expect(await amount('POST', '/one')).toBe('20000')
    expect(await amount('GET', '/all')).toBe('30000')
    expect(await amount('POST', '/all')).toBe('30000')
  })

  it('takes its own price before the one in the options', async () => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), {
      x402: { routes: { '/quote': '$9' } },
    })
    expect(readRequired(await app.inject('/quote')).accepts[0]?.amount).toBe('10000')
  })

  it('may override payTo, network and timeout of the options', async () => {
    const other = '0x00000000000000000000000000000000000000cc'
    const token = { asset: `0x${'12'.repeat(20)}`, extra: { name: 'Other', version: '1' } }
    const { app } = await aShop((it) => {
      const x402 = {
        price: { amount: '7', ...token },
        payTo: other,
        network: 'eip155:5042002',
        maxTimeoutSeconds: 60,
      } as const
      it.get('/quote', { config: { x402 } }, () => 'goods')
    })
    expect(readRequired(await app.inject('/quote')).accepts).toEqual([
      {
        scheme: 'exact',
        network: 'eip155:5042002',
        amount: '7',
        payTo: other,
        maxTimeoutSeconds: 60,
        ...token,
      },
    ])
  })

  it('is named by baseUrl, without the query', async () => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), {
      x402: { baseUrl: 'https://api.example.com/' },
    })
    const { resource } = readRequired(await app.inject('/quote?key=secret'))
    expect(resource.url).toBe('https://api.example.com/quote')
  })
})

describe('the plugin', () => {
  it('prices routes declared before it is loaded, and routes of inner scopes', async () => {
    const app = anApp()
    const options = settings({ routes: { 'GET /listed': '$0.01' } })
    app.get('/before', priced, ({ payment }) => (payment === null ? 'unpaid' : 'goods'))
    app.register(x402, options)
    app.get('/beside', priced, () => 'goods')
    app.get('/listed', () => 'goods')
    app.register(
      async (inner) => {
        inner.get('/', priced, () => 'goods')
        inner.get('/quote', priced, () => 'goods')
      },
      { prefix: '/within' },
    )
    for (const url of ['/before', '/beside', '/listed', '/within', '/within/', '/within/quote']) {
      expect([url, (await app.inject(url)).statusCode]).toEqual([url, 402])
      expect([url, (await buy(app, { url })).body]).toEqual([url, 'goods'])
    }
    expect((options.facilitator as ReturnType<typeof aFacilitator>).settled).toBe(6)
  })

  it('does not affect sibling scopes', async () => {
    const app = anApp()
    app.register(async (inner) => {
      await inner.register(x402, settings())
      inner.get('/paid', priced, () => 'goods')
    })
    app.register(async (inner) => {
      await inner.register(x402, settings({ payTo: `0x${'34'.repeat(20)}` }))
      inner.get('/other', priced, () => 'goods')
    })
    app.get('/free', () => 'free')
    expect((await app.inject('/free')).body).toBe('free')
    expect(readRequired(await app.inject('/paid')).accepts[0]?.payTo).toBe(payTo)
    expect(readRequired(await app.inject('/other')).accepts[0]?.payTo).toBe(`0x${'34'.repeat(20)}`)
  })

  it('lets CORS answer first, even when it is registered later', async () => {
    const app = anApp()
    await app.register(x402, settings())
    await app.register(cors, { origin: 'https://shop.example', exposedHeaders: ['ETag'] })
    app.get('/quote', priced, () => 'goods')
    const response = await app.inject('/quote')
    expect(response.statusCode).toBe(402)
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      'access-control-expose-headers': 'ETag, PAYMENT-REQUIRED, PAYMENT-RESPONSE',
    })
  })

  it('lets a login answer before the payment', async () => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), {
      before: (it) =>
        it.addHook('onRequest', async (_, reply) => {
          reply.code(401)
          throw new Error('who are you')
        }),
    })
    expect((await app.inject('/quote')).statusCode).toBe(401)
  })

  it('charges for the answer of another hook, and delivers nothing before verification', async () => {
    const refused = { success: false, transaction: '', network: 'eip155:5042' } as const
    const facilitator = aFacilitator({ settle: () => refused })
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), {
      facilitator,
      before: (it) => it.addHook('preHandler', async (_, reply) => reply.send('kept goods')),
    })
    expect((await app.inject('/quote')).statusCode).toBe(402)
    const response = await buy(app, { url: '/quote' })
    expect(response.statusCode).toBe(402)
    expect(response.body).not.toContain('goods')
    expect(facilitator.calls).toEqual(['settle'])
  })

  it('passes the paid body to later hooks of the route, such as compression', async () => {
    const { app } = await aShop((it) =>
      it.get(
        '/quote',
        { ...priced, onSend: async (_: unknown, __: unknown, body: unknown) => `<${body}>` },
        () => 'goods',
      ),
    )
    expect((await buy(app, { url: '/quote' })).body).toBe('<goods>')
  })
})

/** An address whose last digit should be 5. */
const mistyped = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A66'
const eurc = '0xbEf5f6d51CB62b58e6A8f77868681825C6fe21c1'
const testEurc = '0x89B50855Aa3bE2F677cD6303Cec089B5F319D72a'
const usdc = { name: 'USDC', version: '2' }

describe('a mistake in the options', () => {
  const start = async (more: Record<string, unknown>, route: Record<string, unknown> = {}) => {
    const app = anApp()
    await app.register(x402, settings(more as Partial<X402Options>))
    app.get('/quote', { config: { x402: { price: '$0.01', ...route } } as object }, () => 'goods')
    await app.ready()
  }
  const other = 'http://127.0.0.1:1'
  it.each([
    [{ facilitator: 'facilitator.example' }, /facilitator must be an http/],
    [{ facilitator: undefined }, /x402: facilitator is missing/],
    [{ facilitater: 'http://127.0.0.1:1' }, /x402: there is no option "facilitater"/],
    [{ routes: { '/quote': { prize: '$1' } } }, /there is no member "prize" in a price/],
    [{ routes: { '/quote': { description: 'a' } } }, /price is missing/],
    [{ baseUrl: 'https://a.example/path' }, /baseUrl is an origin/],
    [{ payTo: undefined }, /GET \/quote: payTo is missing/],
    [{ payTo: '0x12' }, /payTo must be an address/],
    [{ payTo: mistyped }, /x402: payTo must have a right EIP-55 checksum/],
    [{ payTo: `0x${'0'.repeat(40)}` }, /able to receive/],
    [{ payTo: '0x3600000000000000000000000000000000000000' }, /able to receive/],
    [{ payTo: '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003' }, /able to receive/],
    [{ payTo: '0x4020806089470a89826cB9fB1f4059150b550004' }, /able to receive/],
    [{ network: 'eip155:1' }, /no Arc network/],
    [{ maxTimeoutSeconds: 9 }, /at least 10/],
    [{ maxTimeoutSeconds: 60.5 }, /positive integer/],
    [{ maxHeldBytes: 0 }, /positive integer/],
    [{ facilitator: 'http://127.0.0.1:1', facilitatorTimeoutMs: 0 }, /timeoutMs/],
    [{ serviceName: 'x'.repeat(33) }, /serviceName/],
    [{ tags: ['1', '2', '3', '4', '5', '6'] }, /tags/],
    [{ routes: { 'GET quote': '$1' } }, /routes are named/],
    [{ routes: { 'GET /other': '$1' } }, /"GET \/other" in routes is no route/],
    [{ routes: { 'POST /quote': '$1' } }, /"POST \/quote" in routes is no route/],
    [{ routes: { 'GET /quote': '1' } }, /GET \/quote: a price reads/],
  ])('stops the server at its start: %j', async (more, message) => {
    await expect(start(more)).rejects.toThrow(message)
  })

  it.each([
    [{ price: '0.01' }, /a price reads "\$0.01", "€0.05" or "0.05 EUR"/],
    [{ price: '$0,01' }, /a price reads "\$0.01", "€0.05" or "0.05 EUR"/],
    [{ price: '$1,000' }, /a price reads/],
    [{ price: '$0' }, /above zero/],
    [{ price: '$0.0000001' }, /at most 6 decimals/],
    [{ price: '$-1' }, /a price reads/],
    [{ price: '$1e3' }, /a price reads/],
    [{ price: '$0x10' }, /a price reads/],
    [{ price: '0.05 GBP' }, /a price reads/],
    [{ price: '€0.05 EUR' }, /a price reads/],
    [{ price: '€0.0000001' }, /at most 6 decimals/],
    [{ price: '0 EUR' }, /above zero/],
    [{ price: { amount: '1', asset: eurc, extra: usdc } }, /is EURC, so extra must be name "EURC"/],
    [{ price: { amount: '1', asset: testEurc } }, /is EURC on eip155:5042002, not on eip155:5042/],
    [{ price: 1 }, /amount must be/],
    [{ price: null }, /amount must be/],
    [{ price: { amount: '0' } }, /amount must be/],
    [{ price: { amount: '1', asset: 'USDC' } }, /asset must be/],
    [{ price: { amount: '1', asset: `0x${'12'.repeat(20)}` } }, /extra must give/],
    [{ payTo: mistyped }, /GET \/quote: payTo must have a right EIP-55 checksum/],
    [{ price: { amount: '1', asset: mistyped } }, /asset must have a right EIP-55 checksum/],
    [{ streaming: 'now' }, /streaming is/],
    [{ descriptoin: 'a' }, /GET \/quote: there is no member "descriptoin" in a price/],
    [{ description: 'x'.repeat(12_000) }, /shorten the description/],
  ])('stops the server at the declaration of a route: %j', async (route, message) => {
    await expect(start({}, route)).rejects.toThrow(message)
  })

  it.each([
    [[], /accepts names a way to pay/],
    [[{ network: 'eip155:5042' }], /GET \/quote: amount must be/],
    [[{ price: '$1', prize: '$2' }], /there is no member "prize" in a way to pay/],
    [
      [{ price: '$1', network: 'eip155:8453' }],
      /no Arc network: "eip155:8453"; give the facilitator/,
    ],
    [[{ price: '$1', network: 'solana:5eykt', facilitator: other }], /is no EVM network/],
    [
      [{ price: '$1', network: 'eip155:137', facilitator: other }],
      /USD on eip155:137 is \{ amount/,
    ],
    [[{ price: '€1', network: 'eip155:8453', facilitator: other }], /EUR on eip155:8453 is/],
    [
      [{ price: '$1', network: 'eip155:8453', facilitator: 'other' }],
      /facilitator must be an http/,
    ],
    [[{ price: '$1', payTo: mistyped }], /payTo must have a right EIP-55 checksum/],
    [[{ price: '$1' }, { price: '€1', facilitator: other }], /two facilitators for eip155:5042/],
  ])('stops the server at several ways to pay that are wrong: %j', async (accepts, message) => {
    await expect(start({}, { price: undefined, accepts })).rejects.toThrow(message)
  })

  it('stops the server at ways to pay beside a price, and at a metered one elsewhere', async () => {
    const accepts = [{ price: '$1', network: 'eip155:8453', facilitator: other }]
    await expect(start({}, { accepts })).rejects.toThrow(/accepts takes the place of price/)
    const metered = { price: undefined, pricing: 'metered', accepts }
    await expect(start({}, metered)).rejects.toThrow(/a metered price is for the facilitator of/)
  })

  it('includes an address with a wrong checksum, also in channels and refunds', async () => {
    const facilitator = 'http://127.0.0.1:1'
    const signer = privateKeyToAccount(generatePrivateKey())
    const path = join(tmpdir(), 'never-made.jsonl')
    const open = (payTo: string) => createChannels({ facilitator, payTo, signer, storage: path })
    expect(() => open(mistyped)).toThrow(/payTo must have a right EIP-55 checksum/)
    const oddly = { ...signer, address: mistyped } as typeof signer
    const odd = { facilitator, payTo, signer: oddly, storage: path }
    expect(() => createChannels(odd)).toThrow(/signer must have a right EIP-55 checksum/)
    const refunds = createRefunds({ facilitator, signer, payTo: mistyped, path })
    await expect(refunds).rejects.toThrow(/payTo of refunds must have a right EIP-55 checksum/)
    for (const address of [mistyped.toLowerCase(), `0x${mistyped.slice(2).toUpperCase()}`]) {
      await open(address).close()
    }
  })

  it('includes registering the plugin twice in one scope', async () => {
    const app = anApp()
    await app.register(x402, settings())
    await expect(app.register(x402, settings())).rejects.toThrow(/registered in this scope already/)
  })
})
