import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload } from '@x402/core/types'
import { describe, expect, it } from 'vitest'
import { aFacilitator, aPayload, aShop, payer, readRequired, success } from './a-shop.js'

const path = '/weather/lisbon'
const url = `https://shop.example${path}`

/** Buys with a payload that the buyer's client has changed, and returns what the facilitator was asked to verify and settle. */
async function paidWith(change: (payload: PaymentPayload) => object, price: object = {}) {
  const asked: PaymentPayload[] = []
  const facilitator = aFacilitator({
    verify(payload) {
      asked.push(payload)
      return { isValid: true, payer }
    },
    settle(payload) {
      asked.push(payload)
      return success
    },
  })
  const config = { x402: { price: '$0.01' as const, description: 'By city', ...price } }
  const { app } = await aShop((app) => app.get('/weather/:city', { config }, () => 'sunny'), {
    facilitator,
    x402: { baseUrl: 'https://shop.example' },
  })
  const required = readRequired(await app.inject(path))
  const sent = change(aPayload(required))
  const headers = { 'payment-signature': encodePaymentSignatureHeader(sent as PaymentPayload) }
  const answer = await app.inject({ url: `${path}?key=secret`, headers })
  expect([answer.statusCode, answer.body]).toEqual([200, 'sunny'])
  expect(asked).toHaveLength(2)
  expect(asked[0]).toEqual(asked[1])
  return { payload: asked[1] as PaymentPayload, sent, required }
}

describe('a payment whose client left out what it is for', () => {
  it.each([
    ['both', {}],
    ['both, as null', { resource: null, extensions: null }],
    ['the URL and the extension', { resource: {}, extensions: {} }],
  ])('goes to the facilitator with that of the route: %s', async (_, members) => {
    const { payload, sent, required } = await paidWith(({ x402Version, accepted, payload }) => {
      return { x402Version, accepted, payload, ...members }
    })
    expect(payload.resource).toMatchObject({ url })
    expect(payload.extensions).toEqual(required.extensions)
    expect(required.extensions).toMatchObject({ bazaar: { routeTemplate: '/weather/:city' } })
    const { payload: signed, accepted } = sent as PaymentPayload
    expect(payload).toMatchObject({ x402Version: 2, payload: signed, accepted })
  })

  it('keeps its other extensions', async () => {
    const own = { 'payment-identifier': { info: { id: 'a'.repeat(20) } } }
    const { payload, required } = await paidWith((whole) => ({ ...whole, extensions: own }))
    expect(payload.extensions).toEqual({ ...own, ...required.extensions })
  })

  it('gets no extension from a route that is kept out of catalogs', async () => {
    const strip = ({ x402Version, accepted, payload }: PaymentPayload) => {
      return { x402Version, accepted, payload }
    }
    const { payload } = await paidWith(strip, { discoverable: false })
    expect(payload).not.toHaveProperty('extensions')
    expect(payload.resource).toMatchObject({ url, description: 'By city' })
  })
})

describe('what a buyer sent', () => {
  it.each([
    ['another resource', { resource: { url: 'https://other.example/', description: 'Mine' } }],
    ['an empty URL', { resource: { url: '' } }],
    ['a resource that is a text', { resource: 'https://other.example/' }],
    ['a resource that is a list', { resource: [{ url }] }],
    ['extensions that are a list', { extensions: ['bazaar'] }],
    ['extensions that are a number', { extensions: 7 }],
  ])('is never overwritten: %s', async (_, members) => {
    const { payload, sent } = await paidWith((whole) => ({ ...whole, ...members }))
    expect(payload).toEqual(sent)
  })

  it('takes over no prototype', async () => {
    const hostile = JSON.parse('{"__proto__": {"url": "https://evil.example/"}}')
    const { payload } = await paidWith((whole) => ({ ...whole, resource: hostile }))
    expect(payload.resource).toHaveProperty('url', url)
    expect(Object.getPrototypeOf(payload.resource)).toBe(Object.prototype)
  })
})
