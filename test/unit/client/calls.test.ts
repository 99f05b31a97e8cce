import { type Answer, type Call, createCall, type Input } from '@arcus/client/calls'
import type { Listing } from '@arcus/protocol/listing/listing'
import type { Address, Hex } from 'viem'
import { describe, expect, expectTypeOf, it } from 'vitest'

/** What was sent, as `GET /path?query` with the body behind it. */
const sent: string[] = []
const call = createCall('https://arcus.test/', async (url, { method, body } = {}) => {
  sent.push([method, String(url).replace('https://arcus.test', ''), body].filter(Boolean).join(' '))
  return Response.json({})
})

async function sentBy(request: Promise<unknown>): Promise<string | undefined> {
  await request
  return sent.at(-1)
}

describe('a call', () => {
  it('sends numbers and booleans of a query as texts, and leaves out what is not given', async () => {
    const query = { query: 'tide', verified: true, maxPrice: 20_000, tag: undefined }
    expect(await sentBy(call('GET /discovery/search', { query }))).toBe(
      'GET /discovery/search?query=tide&verified=true&maxPrice=20000',
    )
  })

  it('writes parameters into the path, and a body as JSON', async () => {
    const path = { id: 'a/b', endpoint: '7' }
    const route = 'GET /api/merchants/{id}/endpoints/{endpoint}/health'
    expect(await sentBy(call(route, { path, query: { days: 3 } }))).toBe(
      'GET /api/merchants/a%2Fb/endpoints/7/health?days=3',
    )
    const body = { endpointId: 7 }
    expect(await sentBy(call('POST /api/merchants/{id}/probe', { path: { id: 'a' }, body }))).toBe(
      'POST /api/merchants/a/probe {"endpointId":7}',
    )
  })

  it('may do without what is optional', async () => {
    expect(await sentBy(call('GET /discovery/resources'))).toBe('GET /discovery/resources')
    const path = { id: 'a' }
    expect(await sentBy(call('POST /api/merchants/{id}/probe', { path }))).toBe(
      'POST /api/merchants/a/probe',
    )
  })
})

/** The compiler holds these to the table of routes; none of them is sent. */
const refused = (ask: Call) => ({
  route: () => [
    // @ts-expect-error: no such route
    ask('GET /nothing'),
    // @ts-expect-error: another method
    ask('POST /supported'),
  ],
  path: () => [
    // @ts-expect-error: nothing is given
    ask('GET /api/merchants/{id}'),
    // @ts-expect-error: the id is required
    ask('GET /api/merchants/{id}', { path: {} }),
    // @ts-expect-error: there is no such parameter
    ask('GET /api/merchants/{id}', { path: { id: 'a', name: 'b' } }),
    // @ts-expect-error: an address begins with 0x
    ask('GET /api/owners/{address}/merchants', { path: { address: 'f39F' } }),
  ],
  query: () => [
    // @ts-expect-error: a number is meant
    ask('GET /discovery/resources', { query: { limit: '20' } }),
    // @ts-expect-error: a boolean is meant
    ask('GET /discovery/search', { query: { query: 'tide', verified: 'true' } }),
    // @ts-expect-error: words are required
    ask('GET /discovery/search', { query: { limit: 20 } }),
    // @ts-expect-error: there is no such order
    ask('GET /discovery/resources', { query: { sort: 'best' } }),
    // @ts-expect-error: there is no such parameter
    ask('GET /discovery/resources', { query: { pageSize: 20 } }),
    // @ts-expect-error: the route takes no query
    ask('GET /supported', { query: { limit: 20 } }),
  ],
  body: () => [
    // @ts-expect-error: the signature is required
    ask('POST /api/session', { body: { message: 'a' } }),
    // @ts-expect-error: an id is a number
    ask('POST /api/merchants/{id}/probe', { path: { id: 'a' }, body: { endpointId: '7' } }),
    // @ts-expect-error: the route takes no body
    ask('GET /supported', { body: {} }),
  ],
})

describe('the types of a call', () => {
  it('refuse what the route does not take', () => {
    expect(Object.keys(refused(call))).toEqual(['route', 'path', 'query', 'body'])
  })

  it('know an address and a hash by their prefix', () => {
    type Payment = Answer<'GET /payments/{network}/{payer}/{nonce}'>
    expectTypeOf<Payment['payTo']>().toEqualTypeOf<Address>()
    expectTypeOf<Payment['transaction']>().toEqualTypeOf<Hex | null>()
    expectTypeOf<Payment['blockNumber']>().toEqualTypeOf<number | null>()
    expectTypeOf<Payment['state']>().toEqualTypeOf<
      'queued' | 'submitted' | 'confirmed' | 'failed' | 'used'
    >()
  })

  it('take a listing as its owner writes it', () => {
    type Save = Input<'PUT /api/merchants/{id}'>
    expectTypeOf<Listing>().toExtend<Save['body']['body']>()
    expectTypeOf<Save['path']>().toEqualTypeOf<{ id: string }>()
  })
})
