import type { PriceOfRequest } from '@arcus/merchant'
import { createQuotes } from '@arcus/merchant/quotes'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'
import type { InjectOptions } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { aFacilitator, aPayload, aShop, readRequired, type Shop } from './a-shop.js'

type Body = { words?: number }
const dollars = (amount: number) => `$${amount.toFixed(6)}` as const
/** A cent a word, at a rate that may move. */
let rate: number
const byWords: PriceOfRequest = ({ body, headers }) => {
  const { words = 1 } = (body ?? {}) as Body
  if (words > 100) throw Object.assign(new Error('too many words'), { statusCode: 413 })
  const discount = headers['x-plan'] === 'student' ? 0.5 : 1
  return dollars(words * rate * discount)
}

beforeEach(() => {
  rate = 0.01
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => void vi.useRealTimers())

const schema = { body: { type: 'object', properties: { words: { type: 'integer' } } } }

/** Makes a shop that sells translations by the word, and counts what its handler did. */
async function aTranslator(price: unknown = byWords) {
  let handled = 0
  const shop = await aShop((app) => {
    const config = { x402: { price, maxTimeoutSeconds: 60 } as object }
    app.post('/translate', { config, schema }, (request) => {
      handled++
      return { goods: true, amount: request.payment?.amount }
    })
  })
  return { ...shop, handled: () => handled }
}

const translation = (words: number, more: Partial<InjectOptions> = {}): InjectOptions => ({
  method: 'POST',
  url: '/translate',
  payload: { words },
  ...more,
})

const askedFor = async ({ app }: Shop, request: InjectOptions) => {
  const response = await app.inject(request)
  expect(response.statusCode, response.body).toBe(402)
  return readRequired(response)
}

/** Shows a payment that takes up the terms of a 402. */
function show(
  { app }: Shop,
  required: Awaited<ReturnType<typeof askedFor>>,
  request: InjectOptions,
) {
  const signature = encodePaymentSignatureHeader(aPayload(required))
  return app.inject({ ...request, headers: { ...request.headers, 'payment-signature': signature } })
}

describe('a price that depends on the request', () => {
  it('is asked for each request, and paid', async () => {
    const shop = await aTranslator()
    const one = await askedFor(shop, translation(1))
    const ten = await askedFor(shop, translation(10))
    expect([one.accepts[0]?.amount, ten.accepts[0]?.amount]).toEqual(['10000', '100000'])
    const response = await show(shop, ten, translation(10))
    expect(response.json()).toEqual({ goods: true, amount: '100000' })
    expect(shop.facilitator.calls).toEqual(['verify', 'settle'])
  })

  it('does not sell the dear request for the price of the cheap one', async () => {
    const shop = await aTranslator()
    const cheap = await askedFor(shop, translation(1))
    await askedFor(shop, translation(50))
    for (const dear of [
      translation(50),
      translation(50, { headers: { 'x-plan': 'student' } }),
      translation(2, { url: '/translate?again=1' }),
    ]) {
      const response = await show(shop, cheap, dear)
      expect(response.statusCode).toBe(402)
      expect(response.json().error).toMatch(/accepted.amount is "10000"/)
    }
    expect([shop.handled(), shop.facilitator.calls]).toEqual([0, []])
  })

  it('stays good for as long as the payment when it rises meanwhile, and only for what was asked', async () => {
    const shop = await aTranslator()
    const quoted = await askedFor(shop, translation(10))
    const student = { headers: { 'x-plan': 'student' } }
    const asStudent = await askedFor(shop, translation(10, student))
    rate = 0.03
    vi.setSystemTime(Date.now() + 59_000)
    expect((await show(shop, quoted, translation(10))).json().amount).toBe('100000')
    // The terms of somebody else, and of another request, are not those of this one.
    expect((await show(shop, asStudent, translation(10))).statusCode).toBe(402)
    expect((await show(shop, quoted, translation(11))).statusCode).toBe(402)
    expect((await show(shop, quoted, translation(10, student))).statusCode).toBe(402)
    expect((await show(shop, quoted, translation(10, { url: '/translate?x' }))).statusCode).toBe(
      402,
    )
    vi.setSystemTime(Date.now() + 2_000)
    const late = await show(shop, quoted, translation(10))
    expect([late.statusCode, readRequired(late).accepts[0]?.amount]).toEqual([402, '300000'])
    expect([shop.handled(), shop.facilitator.settled]).toEqual([1, 1])
  })

  it('that never was asked is not accepted, however it is spelled', async () => {
    const shop = await aTranslator()
    const required = await askedFor(shop, translation(10))
    for (const change of [
      { amount: '1' },
      { amount: '0100000' },
      { payTo: `0x${'c'.repeat(40)}` },
    ]) {
      const accepts = required.accepts.map((asked) => ({ ...asked, ...change }))
      expect((await show(shop, { ...required, accepts }, translation(10))).statusCode).toBe(402)
    }
    expect(shop.facilitator.calls).toEqual([])
  })

  it('is computed from a valid request: another one is a 400 before', async () => {
    const shop = await aTranslator()
    const request = translation(1, { payload: { words: 'many' } })
    expect((await shop.app.inject(request)).statusCode).toBe(400)
  })

  it.each<[string, unknown, number]>([
    ['throws', () => Promise.reject(new Error('no rate')), 500],
    ['throws with a status', byWords, 413],
    ['returns nothing', () => undefined, 500],
    ['returns zero', () => '$0', 500],
    ['returns no money', () => 0.01, 500],
    ['returns NaN', () => `$${Number.NaN}`, 500],
    ['returns another chain’s token', () => ({ amount: '1', asset: `0x${'12'.repeat(20)}` }), 500],
  ])('that %s is an error, paid or not, and never a free call', async (_, price, status) => {
    const good = await aTranslator()
    const required = await askedFor(good, translation(1))
    const shop = await aTranslator(price)
    expect((await shop.app.inject(translation(101))).statusCode).toBe(status)
    expect((await show(shop, required, translation(101))).statusCode).toBe(status)
    expect([shop.handled(), shop.facilitator.calls]).toEqual([0, []])
  })

  it('is asked on a route that was declared before the plugin, too', async () => {
    const shop = await aShop(() => {}, {
      before: (app) =>
        app.post('/translate', { config: { x402: { price: byWords } } }, () => 'goods'),
    })
    const three = await askedFor(shop, translation(3))
    expect(three.accepts[0]?.amount).toBe('30000')
    expect((await show(shop, three, translation(4))).statusCode).toBe(402)
    expect((await show(shop, three, translation(3))).body).toBe('goods')
    expect((await shop.app.inject(translation(101))).statusCode).toBe(413)
  })

  it('may be that of one of several ways to pay', async () => {
    const other = aFacilitator()
    const shop = await aShop((app) => {
      const accepts = [
        { price: byWords },
        { network: 'eip155:8453', price: '$2', facilitator: other },
      ] as const
      app.post('/translate', { config: { x402: { accepts } } }, () => 'goods')
    })
    const { accepts } = await askedFor(shop, translation(7))
    expect(accepts.map(({ amount }) => amount)).toEqual(['70000', '2000000'])
  })

  it('is a ceiling where it is metered', async () => {
    const shop = await aShop(
      (app) => {
        const x402 = { price: byWords, pricing: 'metered', schemes: ['upto'] } as const
        app.post('/translate', { config: { x402 } }, (request) => {
          request.payment?.charge('$0.03')
          return 'goods'
        })
      },
      {
        facilitator: aFacilitator({
          supported: () => ({
            kinds: [
              {
                x402Version: 2,
                scheme: 'upto',
                network: 'eip155:5042',
                extra: { facilitatorAddress: `0x${'d'.repeat(40)}` },
              },
            ],
            extensions: [],
            signers: {},
          }),
        }),
      },
    )
    const five = await askedFor(shop, translation(5))
    expect(five.accepts[0]).toMatchObject({ scheme: 'upto', amount: '50000' })
    expect((await show(shop, five, translation(5))).body).toBe('goods')
    const two = await askedFor(shop, translation(2))
    expect((await show(shop, two, translation(2))).statusCode).toBe(500)
  })
})

describe('the record of quotes', () => {
  const asked = { amount: '1', maxTimeoutSeconds: 60 } as PaymentRequirements
  const aRequest = (body: unknown, headers = {}) => {
    return { method: 'POST', url: '/', ip: '::1', headers, body }
  }

  it('keeps nothing for a body that cannot be compared', () => {
    const quotes = createQuotes()
    class File {}
    for (const body of [
      { file: new File() },
      new Map(),
      { size: Number.NaN },
      { at: new Date(0) },
    ]) {
      quotes.keep(aRequest(body), [asked])
      expect(quotes.find(aRequest(body), asked)).toBeUndefined()
    }
  })

  it('tells bytes from text, and the headers of a payment from others', () => {
    const quotes = createQuotes()
    quotes.keep(aRequest('{}'), [asked])
    expect(quotes.find(aRequest(Buffer.from('"{}"')), asked)).toBeUndefined()
    expect(quotes.find(aRequest({}), asked)).toBeUndefined()
    expect(quotes.find(aRequest('{}', { 'payment-signature': 'a', traceparent: 'b' }), asked)).toBe(
      asked,
    )
    expect(quotes.find(aRequest('{}', { 'x-plan': 'student' }), asked)).toBeUndefined()
  })

  it('is bounded, and forgets the oldest', () => {
    const quotes = createQuotes()
    for (let i = 0; i <= 10_000; i++) quotes.keep(aRequest(i), [asked])
    expect(quotes.find(aRequest(0), asked)).toBeUndefined()
    expect(quotes.find(aRequest(1), asked)).toBe(asked)
    expect(quotes.find(aRequest(10_000), asked)).toBe(asked)
  })
})
