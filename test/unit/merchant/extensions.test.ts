import type { X402Options } from '@arcus/merchant'
import type { ResourceServerExtension } from '@x402/core/types'
import { describe, expect, it } from 'vitest'
import { aFacilitator, aShop, buy, readSettlement } from './a-shop.js'

type Hooks = Omit<ResourceServerExtension, 'key'>

const fails = () => {
  throw new Error('the extension broke')
}

/** Makes a shop whose route declares an extension with these hooks, and which notes how often its handler ran. */
async function aShopWith(hooks: Hooks, { price = {}, options = {} }: Opened = {}) {
  const extension: ResourceServerExtension = { key: 'test', ...hooks }
  let sold = 0
  const config = { price: '$0.01', extensions: { test: { info: {} } }, ...price } as const
  const shop = await aShop(
    (app) => {
      app.get('/goods', { config: { x402: config } }, () => ({ goods: ++sold }))
    },
    { x402: { extensions: [extension], ...options } },
  )
  const get = (headers: Record<string, string> = {}) => shop.app.inject({ url: '/goods', headers })
  const pay = () => buy(shop.app, { url: '/goods' })
  return { ...shop, get, pay, sold: () => sold }
}
interface Opened {
  price?: object
  options?: Partial<X402Options>
}

describe('an extension that fails', () => {
  it('before the payment is asked for has nothing sold', async () => {
    for (const hooks of [
      { transportHooks: { http: { onProtectedRequest: fails } } },
      { enrichDeclaration: fails },
      { enrichPaymentRequiredResponse: fails },
    ]) {
      const { get, sold, facilitator } = await aShopWith(hooks)
      const answer = await get()
      expect([answer.statusCode, answer.json().error]).toEqual([502, 'extension_failed'])
      expect([sold(), facilitator.calls]).toEqual([0, []])
    }
  })

  it('before or after verify refuses the payment, which stays unspent', async () => {
    for (const name of ['onBeforeVerify', 'onAfterVerify']) {
      const { pay, sold, facilitator } = await aShopWith({ hooks: { [name]: fails } })
      const answer = await pay()
      expect([answer.statusCode, answer.json().error]).toEqual([502, 'extension_failed'])
      expect([sold(), facilitator.settled]).toEqual([0, 0])
    }
  })

  it('before settle keeps the goods back and settles nothing', async () => {
    const { pay, sold, facilitator } = await aShopWith({ hooks: { onBeforeSettle: fails } })
    const answer = await pay()
    expect([answer.statusCode, answer.json().error]).toEqual([502, 'extension_failed'])
    expect(answer.body).not.toContain('goods')
    expect([sold(), facilitator.settled]).toEqual([1, 0])
  })

  it('after settle does not keep from the buyer what they paid for', async () => {
    for (const hooks of [
      { hooks: { onAfterSettle: fails } },
      { enrichSettlementResponse: fails },
      {
        enrichSettlementResponse: async (_: unknown, { result }: { result: object }) =>
          Object.assign(result, { success: false, payer: 'nobody' }) && undefined,
      },
    ] as Hooks[]) {
      const { pay, facilitator } = await aShopWith(hooks)
      const answer = await pay()
      expect([answer.statusCode, answer.json()]).toEqual([200, { goods: 1 }])
      expect(readSettlement(answer).success).toBe(true)
      expect(facilitator.settled).toBe(1)
    }
  })

  it('when a payment is refused does not make it a good one', async () => {
    const refuses = aFacilitator({ verify: () => ({ isValid: false, invalidReason: 'nope' }) })
    const hooks = { onVerifyFailure: fails, onSettleFailure: fails, onAfterVerify: fails }
    const { pay, sold } = await aShopWith({ hooks }, { options: { facilitator: refuses } })
    expect((await pay()).statusCode).toBe(502)
    expect(sold()).toBe(0)
  })
})

describe('a call that an extension lets through', () => {
  const letsThrough: Hooks = {
    transportHooks: { http: { onProtectedRequest: async () => ({ grantAccess: true }) } },
  }

  it('is free, has no payment, and is kept from shared caches', async () => {
    const { get, facilitator } = await aShopWith(letsThrough)
    const answer = await get()
    expect([answer.statusCode, answer.json()]).toEqual([200, { goods: 1 }])
    expect(answer.headers['cache-control']).toBe('private')
    expect(facilitator.calls).toEqual([])
  })

  it('pays all the same where each call has its own price', async () => {
    const byRequest = { price: () => '$0.01' }
    const metered = { pricing: 'metered', schemes: ['upto'] }
    for (const price of [byRequest, metered]) {
      const { get, sold } = await aShopWith(letsThrough, { price })
      expect((await get()).statusCode).not.toBe(200)
      expect(sold()).toBe(0)
    }
  })

  it('is refused with 403 where an extension refuses it', async () => {
    const onProtectedRequest = async () => ({ abort: true, reason: 'not_here' }) as const
    const { get } = await aShopWith({ transportHooks: { http: { onProtectedRequest } } })
    const answer = await get()
    expect([answer.statusCode, answer.json()]).toEqual([403, { error: 'not_here' }])
  })
})

it('routes of one URL have purchases of their own by method, parameters and constraints', async () => {
  const seen: string[] = []
  const extension: ResourceServerExtension = {
    key: 'test',
    transportHooks: {
      http: {
        async onProtectedRequest(_, { path, routePattern, adapter }) {
          seen.push(decodeURIComponent(path.slice(1)))
          expect(adapter.getUrl()).toMatch(/^http:\/\/.*\/of\/\w+$/)
          expect(routePattern).toBe('/of/:name')
        },
      },
    },
  }
  const config = { x402: { price: '$0.01', extensions: { test: {} } } } as const
  const { app } = await aShop(
    (server) => {
      server.get('/of/:name', { config }, () => 'goods')
      server.get('/of/:name', { config, constraints: { version: '2.0.0' } }, () => 'goods')
      server.put('/of/:name', { config }, () => 'goods')
    },
    { x402: { extensions: [extension] } },
  )
  await app.inject('/of/a?q=1')
  await app.inject({ url: '/of/a?q=1', headers: { 'accept-version': '2.0.0' } })
  await app.inject({ method: 'PUT', url: '/of/%61' })
  expect(seen).toEqual([
    'GET /of/:name\n{"name":"a"}?q=1',
    'GET /of/:name {"version":"2.0.0"}\n{"name":"a"}?q=1',
    'PUT /of/:name\n{"name":"a"}',
  ])
})

it('refuses declarations that would open more than was paid for', async () => {
  const signIn = { 'sign-in-with-x': {} }
  for (const price of [
    { price: () => '$0.01' as const, extensions: signIn },
    { price: '$0.01' as const, pricing: 'metered' as const, extensions: signIn },
  ]) {
    const opened = aShop((app) => app.get('/goods', { config: { x402: price } }, () => 'goods'))
    await expect(opened).rejects.toThrow(/sign-in-with-x is for a price that is the same/)
  }
  const own = { price: '$0.01' as const, extensions: { bazaar: {} } }
  const opened = aShop((app) => app.get('/goods', { config: { x402: own } }, () => 'goods'))
  await expect(opened).rejects.toThrow(/bazaar is declared by the plugin/)
})
