import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import { type PaymentPayload, SettleError, VerifyError } from '@x402/core/types'
import { describe, expect, it, vi } from 'vitest'
import {
  aFacilitator,
  aPayload,
  aShop,
  buy,
  payer,
  payTo,
  readRequired,
  readSettlement,
  success,
  transaction,
} from './a-shop.js'

const priced = { config: { x402: '$0.01' } } as const
const failure = { success: false, transaction: '', network: 'eip155:5042' } as const

describe('a request without payment', () => {
  it('is answered with the terms, and reaches neither handler nor facilitator', async () => {
    const handler = vi.fn()
    const { app, facilitator } = await aShop((it) => it.get('/quote', priced, handler))
    const response = await app.inject('/quote?city=Lisbon')
    expect(response.statusCode).toBe(402)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(readRequired(response)).toMatchObject({
      x402Version: 2,
      error: 'Payment required',
      resource: { url: 'http://localhost:80/quote' },
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:5042',
          amount: '10000',
          asset: '0x3600000000000000000000000000000000000000',
          payTo,
          maxTimeoutSeconds: 300,
          extra: { name: 'USDC', version: '2' },
        },
      ],
    })
    expect(handler).not.toHaveBeenCalled()
    expect(facilitator.calls).toEqual([])
  })

  it('is answered before its body is read', async () => {
    const { app } = await aShop((it) => it.post('/quote', priced, () => 'goods'))
    const response = await app.inject({
      method: 'POST',
      url: '/quote',
      headers: { 'content-type': 'application/json' },
      payload: '{broken',
    })
    expect(response.statusCode).toBe(402)
  })

  it('shows a browser a page in which no text of merchant or caller can run', async () => {
    const description = '<script>alert(1)</script>'
    const config = { x402: { price: '$1.5', description } } as const
    const { app } = await aShop((it) => it.get('/quote', { config }, () => 'goods'))
    const response = await app.inject({
      url: '/quote',
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', host: '"><b>' },
    })
    expect(response.statusCode).toBe(402)
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(response.body).toContain('$1.5 in USDC')
    expect(response.body).not.toMatch(/<script|<b>/)
    expect(readRequired(response).accepts[0]?.amount).toBe('1500000')
  })

  it('lets scripts of other origins read the terms, beside the headers that are exposed already', async () => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), {
      before: (it) =>
        it.addHook('onRequest', async (_, reply) => {
          reply.header('Access-Control-Expose-Headers', 'ETag')
        }),
    })
    const exposed = 'ETag, PAYMENT-REQUIRED, PAYMENT-RESPONSE'
    expect((await app.inject('/quote')).headers['access-control-expose-headers']).toBe(exposed)
    const paid = await buy(app, { url: '/quote' })
    expect(paid.headers['access-control-expose-headers']).toBe(exposed)
  })
})

describe('a payment that cannot be read', () => {
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
  it.each([
    ['a broken alphabet', '%%%', /^invalid_payload: .*base64/],
    ['the alphabet of URLs', 'eyJ4-_8', /^invalid_payload: .*URL alphabet/],
    ['bytes that are no text', '\u00ff\u00fe', /^invalid_payload: .*base64/],
    ['base64 of no JSON', 'aGVsbG8=', /^invalid_payload: .*JSON is broken/],
    ['a wrong padding', 'aGVsbG8==', /^invalid_payload/],
    ['a JSON array', text([]), /^invalid_payload: .*object/],
    ['a JSON null', text(null), /^invalid_payload: .*object/],
    [
      'JSON that nests deep',
      Buffer.from(`{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`).toString('base64'),
      /^invalid_payload: .*deeper than 32/,
    ],
    ['a payload of version 1', text({ x402Version: 1 }), /^invalid_x402_version: .*got 1/],
    ['a version as text', text({ x402Version: '2' }), /^invalid_x402_version/],
    ['no version', text({}), /^invalid_x402_version: .*got none/],
    ['nothing accepted', text({ x402Version: 2, payload: {} }), /^invalid_payload: accepted/],
    ['no payload', text({ x402Version: 2, accepted: {} }), /^invalid_payload: payload/],
    ['other terms', text({ x402Version: 2, accepted: {}, payload: {} }), /^invalid_payment_req/],
  ])('%s is answered 402 with the reason', async (_, header, reason) => {
    const { app, facilitator } = await aShop((it) => it.get('/quote', priced, () => 'goods'))
    for (const name of ['payment-signature', 'x-payment']) {
      const response = await app.inject({ url: '/quote', headers: { [name]: header } })
      expect(response.statusCode).toBe(402)
      expect(readRequired(response).error).toMatch(reason)
      expect(response.json().error).toMatch(reason)
    }
    expect(facilitator.calls).toEqual([])
  })

  it('is answered 402 when it was sent twice', async () => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'))
    const headers = { 'payment-signature': ['e30=', 'e30='] }
    const response = await app.inject({ url: '/quote', headers })
    expect(readRequired(response).error).toMatch(/invalid_payload/)
  })

  it.each([
    [{ amount: '1' }, 'accepted.amount is "1", this resource asks for "10000"'],
    [
      { extra: { name: 'USD Coin', version: '2' } },
      'accepted.extra.name is "USD Coin", this resource asks for "USDC"',
    ],
    [{ extra: null }, 'accepted.extra.name is nothing, this resource asks for "USDC"'],
    [{ more: 1 }, 'accepted has other members than this resource asks for'],
  ])('is answered with the member that differs from the terms: %j', async (other, told) => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'))
    const required = readRequired(await app.inject('/quote'))
    const payload = aPayload(required)
    const cheap = { ...payload, accepted: { ...payload.accepted, ...other } } as PaymentPayload
    const response = await app.inject({
      url: '/quote',
      headers: { 'payment-signature': encodePaymentSignatureHeader(cheap) },
    })
    expect(readRequired(response).error).toBe(`invalid_payment_requirements: ${told}`)
  })
})

describe('a payment', () => {
  it('is verified before the handler runs, and settled afterwards', async () => {
    const order: string[] = []
    const facilitator = aFacilitator({
      verify: () => {
        order.push('verify')
        return { isValid: true, payer }
      },
      settle: () => {
        order.push('settle')
        return success
      },
    })
    const { app } = await aShop(
      (it) =>
        it.get('/quote', priced, async (request) => {
          order.push('handler')
          const { settle, charge, ...told } = request.payment ?? {}
          return told
        }),
      { facilitator },
    )
    const response = await buy(app, { url: '/quote' })
    expect(order).toEqual(['verify', 'handler', 'settle'])
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({
      payer,
      scheme: 'exact',
      nonce: '0x',
      method: 'eip3009',
      amount: '10000',
      asset: '0x3600000000000000000000000000000000000000',
      network: 'eip155:5042',
      payTo,
    })
    expect(readSettlement(response)).toEqual(success)
    expect(response.headers['cache-control']).toBe('private')
  })

  it('may use the older name of the header', async () => {
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'))
    const payload = aPayload(readRequired(await app.inject('/quote')))
    const response = await app.inject({
      url: '/quote',
      headers: { 'x-payment': encodePaymentSignatureHeader(payload), 'payment-signature': '' },
    })
    expect(response.body).toBe('goods')
  })

  it('is answered 402 with the code when it is invalid, and the handler does not run', async () => {
    const handler = vi.fn()
    const facilitator = aFacilitator({
      verify: () => ({ isValid: false, invalidReason: 'some_code', invalidMessage: 'Some text.' }),
    })
    const { app } = await aShop((it) => it.get('/quote', priced, handler), { facilitator })
    const response = await buy(app, { url: '/quote' })
    expect(response.statusCode).toBe(402)
    expect(readRequired(response).error).toBe('some_code')
    expect(response.json()).toEqual({ error: 'some_code', message: 'Some text.' })
    expect(handler).not.toHaveBeenCalled()
    expect(facilitator.calls).toEqual(['verify'])
  })

  it.each([
    ['malformed', 400, 402],
    ['too many', 429, 502],
    ['beyond the facilitator', 500, 502],
  ])(
    'is answered according to the facilitator: %s (%d) becomes %d',
    async (_, statusCode, expected) => {
      const answer = { isValid: false, invalidReason: 'some_code' }
      const facilitator = aFacilitator({
        verify: () => {
          throw new VerifyError(statusCode, answer)
        },
      })
      const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), { facilitator })
      const response = await buy(app, { url: '/quote' })
      expect(response.statusCode).toBe(expected)
      expect(response.body).not.toContain('goods')
      expect(facilitator.calls).toEqual(['verify'])
    },
  )

  it('is not verified before the request is valid', async () => {
    const schema = {
      querystring: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      },
    }
    const { app, facilitator } = await aShop((it) =>
      it.get('/quote', { ...priced, schema }, () => 'goods'),
    )
    expect((await buy(app, { url: '/quote' })).statusCode).toBe(400)
    expect(facilitator.calls).toEqual([])
    expect((await buy(app, { url: '/quote?city=Lisbon' })).statusCode).toBe(200)
  })
})

describe('a settlement', () => {
  it('does not happen when the handler answers a failure or throws', async () => {
    const { app, facilitator } = await aShop((it) => {
      it.get('/status', priced, (_, reply) => reply.code(503).send({ goods: false }))
      it.get('/throws', priced, async () => {
        throw new Error('broken')
      })
      it.get('/throws-at-once', priced, () => {
        throw new Error('broken')
      })
      it.get('/not-found', priced, (_, reply) => reply.callNotFound())
      it.get('/edge', priced, (_, reply) => reply.code(400).send())
    })
    for (const [url, status] of [
      ['/status', 503],
      ['/throws', 500],
      ['/throws-at-once', 500],
      ['/not-found', 404],
      ['/edge', 400],
    ] as const) {
      const response = await buy(app, { url })
      expect([url, response.statusCode]).toEqual([url, status])
      expect(response.headers['payment-response']).toBeUndefined()
    }
    expect(facilitator.calls).not.toContain('settle')
  })

  it('does not happen when the answer cannot be serialized or a hook fails', async () => {
    const { app, facilitator } = await aShop((it) => {
      it.get('/circle', priced, async () => {
        const circle: Record<string, unknown> = {}
        circle.self = circle
        return circle
      })
      it.get(
        '/hook',
        { ...priced, onSend: async () => Promise.reject(new Error('hook')) },
        () => 'x',
      )
    })
    expect((await buy(app, { url: '/circle' })).statusCode).toBe(500)
    expect((await buy(app, { url: '/hook' })).statusCode).toBe(500)
    expect(facilitator.calls).not.toContain('settle')
  })

  it('happens for a redirect, which is an answer', async () => {
    const { app, facilitator } = await aShop((it) =>
      it.get('/quote', priced, (_, reply) => reply.redirect('/goods')),
    )
    const response = await buy(app, { url: '/quote' })
    expect([response.statusCode, response.headers.location]).toEqual([302, '/goods'])
    expect(facilitator.settled).toBe(1)
  })

  it('leaves nothing of the paid answer when it fails, and says why', async () => {
    const facilitator = aFacilitator({
      settle: () => ({ ...failure, errorReason: 'some_code', errorMessage: 'Some text.' }),
    })
    const { app } = await aShop(
      (it) =>
        it.get('/quote', priced, (_, reply) =>
          reply
            .headers({ location: '/secret', etag: '"secret"', 'content-encoding': 'gzip' })
            .headers({ 'set-cookie': 'secret=1', 'content-length': 6 })
            .type('image/png')
            .code(201)
            .send(Buffer.from('secret')),
        ),
      {
        facilitator,
        before: (it) =>
          it.addHook('onRequest', async (_, reply) => {
            reply.headers({ 'access-control-allow-origin': '*', 'set-cookie': ['a=1', 'b=2'] })
          }),
      },
    )
    const response = await buy(app, { url: '/quote' })
    expect(response.statusCode).toBe(402)
    expect(response.json()).toEqual({ error: 'some_code', message: 'Some text.' })
    expect(JSON.stringify([response.headers, response.payload])).not.toMatch(/secret|gzip|png/)
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'set-cookie': ['a=1', 'b=2'],
    })
    expect(response.headers['payment-required']).toBeUndefined()
    expect(readSettlement(response)).toMatchObject({ success: false, errorReason: 'some_code' })
  })

  it('is a 502 with the facilitator’s reason when the facilitator fails', async () => {
    const facilitator = aFacilitator({
      settle: () => {
        throw new SettleError(500, { ...failure, errorReason: 'unexpected_settle_error' })
      },
    })
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), { facilitator })
    const response = await buy(app, { url: '/quote' })
    expect(response.statusCode).toBe(502)
    expect(readSettlement(response).errorReason).toBe('unexpected_settle_error')
  })

  it('is repeated once when it is pending, and not a third time', async () => {
    const pending = { ...failure, errorReason: 'settlement_pending', transaction }
    const answers = [pending, success]
    const facilitator = aFacilitator({ settle: () => answers.shift() ?? pending })
    const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'), { facilitator })
    expect((await buy(app, { url: '/quote' })).body).toBe('goods')
    expect(facilitator.calls).toEqual(['verify', 'settle', 'settle'])
    const still = await buy(app, { url: '/quote' })
    expect(still.statusCode).toBe(402)
    expect(readSettlement(still)).toMatchObject({ errorReason: 'settlement_pending', transaction })
    expect(facilitator.calls).toHaveLength(6)
  })

  it('keeps the cache directives of the handler, except for shared caches', async () => {
    const { app } = await aShop((it) =>
      it.get('/quote', priced, (_, reply) =>
        reply.header('cache-control', 'public, max-age=60, s-maxage=9').send('goods'),
      ),
    )
    const response = await buy(app, { url: '/quote' })
    expect(response.headers['cache-control']).toBe('max-age=60, private')
  })
})

describe('an answer of the handler', () => {
  it.each([
    ['a text', 'goods', 'goods'],
    ['a buffer', Buffer.from('goods'), 'goods'],
    ['bytes', new TextEncoder().encode('goods'), 'goods'],
    ['an object', { goods: true }, '{"goods":true}'],
    ['null', null, 'null'],
    ['nothing', undefined, ''],
  ])('arrives paid when it is %s', async (_, sent, received) => {
    const { app, facilitator } = await aShop((it) => {
      it.get('/sent', priced, (_, reply) => {
        reply.send(sent)
      })
      it.get('/awaited', priced, async (_, reply) => {
        reply.send(sent)
        await sleep(1)
      })
      it.get('/returned', priced, async () => sent)
    })
    for (const url of ['/sent', '/awaited', '/returned']) {
      const response = await buy(app, { url })
      expect([url, response.statusCode, response.body]).toEqual([url, 200, received])
      expect(response.headers['content-length']).toBe(String(Buffer.byteLength(received)))
    }
    expect(facilitator.settled).toBe(3)
  })

  it('arrives without content when it has none', async () => {
    const { app, facilitator } = await aShop((it) =>
      it.delete('/quote', priced, (_, reply) => reply.code(204).send()),
    )
    const response = await buy(app, { method: 'DELETE', url: '/quote' })
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect(facilitator.settled).toBe(1)
  })

  it('is the first one that it sends, even when settling takes long', async () => {
    const { app, facilitator } = await aShop(
      (it) => {
        it.get('/unreturned', priced, async (_, reply) => {
          reply.send('goods')
        })
        it.get('/twice', priced, (_, reply) => {
          reply.send('goods')
          reply.code(201).send('more goods')
        })
      },
      { facilitator: aSlowFacilitator() },
    )
    for (const url of ['/unreturned', '/twice']) {
      expect((await buy(app, { url })).body).toBe('goods')
    }
    await sleep(20)
    expect(facilitator.settled).toBe(2)
  })

  it('or the error that follows it is sent, never both and never neither', async () => {
    const log: string[] = []
    const { app, facilitator } = await aShop(
      (it) => {
        it.get('/sent', priced, async (_, reply) => {
          reply.code(201).type('text/goods').send('goods')
          await sleep(3)
          throw new Error('too late')
        })
        it.get('/at-once', priced, async (_, reply) => {
          reply.send('goods')
          throw new Error('in time')
        })
        it.get('/held', priced, async (_, reply) => {
          reply.send(aLateEnd())
          throw new Error('in time')
        })
      },
      {
        facilitator: aSlowFacilitator(),
        server: { logger: { level: 'warn', stream: { write: (line) => void log.push(line) } } },
      },
    )
    const sent = await buy(app, { url: '/sent' })
    expect([sent.statusCode, sent.body]).toEqual([201, 'goods'])
    expect(sent.headers).toMatchObject({ 'content-type': 'text/goods', 'content-length': '5' })
    for (const url of ['/at-once', '/held']) {
      expect([url, (await buy(app, { url })).statusCode]).toEqual([url, 500])
    }
    await sleep(40)
    expect(facilitator.settled).toBe(1)
    expect(log.filter((line) => /already sent|HEADERS_SENT/.test(line))).toEqual([])
  })
})

function aSlowFacilitator() {
  return aFacilitator({
    settle: async () => {
      await sleep(10)
      return success
    },
  })
}

function aLateEnd(): Readable {
  return new Readable({
    read() {
      setTimeout(() => this.push(null), 20)
    },
  })
}
