import type { RequestListener } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type CallBudgetOptions,
  createCallBudget,
  createHostPace,
} from '../../src/directory/probe/call-limits.js'
import { probeRoutes } from '../../src/directory/probe/probe-routes.js'
import type { ProbeSchedule } from '../../src/directory/probe/probe-schedule.js'
import { createValidator, validateRoutes } from '../../src/directory/probe/validate-routes.js'
import type { EndpointHealth } from '../../src/directory/store/listings.js'
import {
  aGatewayRequirement,
  aRequirement,
  ask,
  asset,
  bazaar,
  network,
  payTo,
  tokens,
} from '../unit/directory/probe/a-402.js'
import { aListingStore, aMerchant, anEndpoint } from '../unit/directory/probe/a-listing-store.js'
import { aLocalFetch, aTarget, type Target } from '../unit/directory/probe/a-target.js'
import { anEdgesServer, type Edges } from './edges-server.js'

const open: (Edges | Target)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((it) => ('app' in it ? it.app.close() : it.close())))
})

async function aServer(budget: Partial<CallBudgetOptions> = {}) {
  const now = () => Date.now()
  const rules = { allowPrivateHosts: true, ownOrigins: ['http://localhost:4021'] }
  const edges = await anEdgesServer({
    routes: (app) => {
      void app.register(validateRoutes, {
        validator: createValidator({ fetch: aLocalFetch(rules), rules, network, tokens, now }),
        budget: createCallBudget({ now, ...budget }),
        pace: createHostPace(now, 0),
      })
    },
  })
  open.push(edges)
  return (payload: unknown) =>
    edges.app.inject({
      method: 'POST',
      url: '/discovery/validate',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(payload),
    })
}

async function anEndpointThat(answer: RequestListener) {
  const target = await aTarget(answer)
  open.push(target)
  return target
}

describe('POST /discovery/validate', () => {
  it('gives the verdict and a listing drafted from the live 402', async () => {
    const resource = { serviceName: 'Weather', description: 'By city', tags: ['geo'] }
    const { url } = await anEndpointThat((_, response) =>
      ask(response, { resource, extensions: { bazaar } }),
    )
    const validate = await aServer()
    const answer = await validate({ url: `${url}/weather?unit=c`, method: 'GET' })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json()).toEqual({
      verdict: 'live',
      message: 'The endpoint answered 402 as it should.',
      warnings: [],
      seen: expect.objectContaining({ status: 402, amount: '10000', payTo }),
      checkedAt: expect.closeTo(Date.now() / 1000, -1),
      listing: {
        url: `${url}/weather`,
        method: 'GET',
        pricing: 'fixed',
        price: '10000',
        asset: asset.address,
        symbol: 'USDC',
        currency: 'USD',
        payTo,
        network,
        title: 'Weather',
        description: 'By city',
        tags: ['geo'],
        inputSchema: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
        example: { queryParams: { city: 'Lisbon', unit: 'c' } },
      },
    })
  })

  it("calls with the caller's parameters, and drafts with them", async () => {
    const seen: string[] = []
    const { url } = await anEndpointThat((request, response) => {
      seen.push(`${request.method} ${request.url}`)
      ask(response)
    })
    const validate = await aServer()
    const get = await validate({
      url: `${url}/w`,
      method: 'GET',
      queryParams: { city: 'Rome', days: 3 },
    })
    expect(get.json().listing.example).toEqual({ queryParams: { city: 'Rome', days: 3 } })
    const post = await validate({ url: `${url}/w`, method: 'POST', body: { city: 'Rome' } })
    expect(post.json().listing.example).toEqual({ body: { city: 'Rome' } })
    expect(seen).toEqual(['GET /w?city=Rome&days=3', 'POST /w'])
  })

  it('drafts from the plain requirement beside Circle Gateway, and nothing from Gateway alone', async () => {
    const both = [aGatewayRequirement({ amount: '5' }), aRequirement()]
    const mixed = await anEndpointThat((_, response) => ask(response, { accepts: both }))
    const alone = await anEndpointThat((_, response) =>
      ask(response, { accepts: both.slice(0, 1) }),
    )
    const validate = await aServer()
    const live = (await validate({ url: mixed.url, method: 'GET' })).json()
    expect(live).toMatchObject({ verdict: 'live', listing: { price: '10000', payTo } })
    const other = (await validate({ url: alone.url, method: 'GET' })).json()
    expect(other).toMatchObject({ verdict: 'other_rail', listing: null })
    for (const { message } of [live, other]) {
      expect(message).toContain('paid through Circle Gateway, not settled here')
    }
  })

  it('expects no payout address and no price, and drafts nothing from a wrong answer', async () => {
    const other = '0x5555555555555555555555555555555555555555'
    const accepts = [aRequirement({ payTo: other, amount: '7' })]
    const paid = await anEndpointThat((_, response) => ask(response, { accepts }))
    const free = await anEndpointThat((_, response) => response.end('{}'))
    const validate = await aServer()
    expect((await validate({ url: paid.url, method: 'GET' })).json()).toMatchObject({
      verdict: 'live',
      warnings: ['schema_missing'],
      listing: { payTo: other, price: '7' },
    })
    expect((await validate({ url: free.url, method: 'GET' })).json()).toMatchObject({
      verdict: 'not_402',
      seen: { status: 200 },
      listing: null,
    })
  })

  it.each(['0x0000000000000000000000000000000000000000', '0x12', 'pay.example.com'])(
    'finds nobody to pay at %s, as a save would',
    async (payTo) => {
      const accepts = [aRequirement({ payTo })]
      const { url } = await anEndpointThat((_, response) => ask(response, { accepts }))
      const validate = await aServer()
      expect((await validate({ url, method: 'GET' })).json()).toMatchObject({
        verdict: 'wrong_payto',
        message: `The 402 pays to ${payTo}, which is no address that can be paid on eip155:5042.`,
        seen: { payTo },
        listing: null,
      })
    },
  )

  it('finds a payTo mistyped whose checksum is wrong', async () => {
    const mistyped = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A66'
    const { url } = await anEndpointThat((_, response) =>
      ask(response, { accepts: [aRequirement({ payTo: mistyped })] }),
    )
    const validate = await aServer()
    expect((await validate({ url, method: 'GET' })).json()).toMatchObject({
      verdict: 'wrong_payto',
      message: expect.stringMatching(/looks mistyped: its EIP-55 checksum is wrong/),
      seen: { payTo: mistyped },
      listing: null,
    })
  })

  it('also answers for a URL that may not be called, uncounted, because no call is made', async () => {
    const validate = await aServer({ perCaller: { capacity: 1, refillMs: 60_000 } })
    for (const url of [
      'http://169.254.169.254/latest',
      'http://localhost:4021/',
      'http://[::ffff:127.0.0.1]/',
    ]) {
      const answer = await validate({ url, method: 'GET' })
      expect(answer.json()).toMatchObject({ verdict: 'blocked_target', listing: null })
    }
  })

  it.each([
    ['method', {}],
    ['url', { method: 'GET' }],
    ['url', { url: 7, method: 'GET' }],
    ['url', { url: 'api.example.com', method: 'GET' }],
    ['url', { url: 'file:///etc/passwd', method: 'GET' }],
    ['2048', { url: `https://a.example/${'x'.repeat(2_048)}`, method: 'GET' }],
    ['method', { url: 'https://a.example/' }],
    ['method', { url: 'https://a.example/', method: 'OPTIONS' }],
    ['method', { url: 'https://a.example/', method: ['GET'] }],
    ['queryParams', { url: 'https://a.example/', method: 'GET', queryParams: [] }],
    ['queryParams', { url: 'https://a.example/', method: 'GET', queryParams: { a: {} } }],
    ['512', { url: 'https://a.example/', method: 'GET', queryParams: { a: 'x'.repeat(513) } }],
    ['64', { url: 'https://a.example/', method: 'GET', queryParams: { ['x'.repeat(65)]: 1 } }],
    [
      '32',
      {
        url: 'https://a.example/',
        method: 'GET',
        queryParams: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`p${i}`, 1])),
      },
    ],
    ['bodyType', { url: 'https://a.example/', method: 'POST', bodyType: 'xml' }],
    ['toolName', { url: 'https://a.example/', method: 'MCP', toolName: 'two words' }],
    ['arguments', { url: 'https://a.example/', method: 'MCP', arguments: ['a'] }],
    ['body', { url: 'https://a.example/', method: 'GET', body: {} }],
    ['16384', { url: 'https://a.example/', method: 'POST', body: 'x'.repeat(16_384) }],
    ['object', []],
    ['object', 'text'],
  ])('refuses a request and names %s', async (named, payload) => {
    const answer = await (await aServer())(payload)
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toEqual({
      error: 'invalid_request',
      message: expect.stringContaining(named),
    })
  })

  it('makes a bounded number of calls for a caller, and then says when to try again', async () => {
    const target = await anEndpointThat((_, response) => ask(response))
    const validate = await aServer({ perCaller: { capacity: 2, refillMs: 60_000 } })
    const ask1 = () => validate({ url: target.url, method: 'GET' })
    expect([(await ask1()).statusCode, (await ask1()).statusCode]).toEqual([200, 200])
    const refused = await ask1()
    expect(refused.statusCode).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
    expect(refused.json()).toMatchObject({ error: 'rate_limited' })
    expect(target.connections()).toBe(2)
  })
})

describe('POST /api/merchants/:id/probe', () => {
  async function aDirectory(
    probeNow: ProbeSchedule['probeNow'],
    budget: Partial<CallBudgetOptions> = {},
  ) {
    const checkedAt = (at: number) => ({
      verdict: 'live',
      message: '',
      warnings: [],
      seen: {},
      checkedAt: at,
    })
    const endpoints = Array.from({ length: 7 }, (_, i) =>
      anEndpoint({ id: i + 1, probe: checkedAt(100 - i) }),
    )
    const listing = aListingStore(endpoints, aMerchant())
    const store = {
      endpointsOf: listing.endpointsOf,
      findMerchant: async (id: string) =>
        id === 'gone' ? aMerchant({ deletedAt: 1 }) : listing.findMerchant(id),
    }
    const edges = await anEdgesServer({
      routes: (app) => {
        void app.register(probeRoutes, {
          store,
          schedule: { probeNow },
          budget: createCallBudget({ now: () => 0, ...budget }),
        })
      },
    })
    open.push(edges)
    return (id: string, payload: object = {}) =>
      edges.app.inject({ method: 'POST', url: `/api/merchants/${id}/probe`, payload })
  }

  const health: EndpointHealth = {
    accepts: [],
    extras: {},
    status: 'live',
    probe: null,
    failures: 0,
    nextProbeAt: 9,
  }
  const probed: ProbeSchedule['probeNow'] = async () => ({ state: 'probed', health })

  it('probes one endpoint', async () => {
    const post = await aDirectory(probed)
    const answer = await post('weather', { endpointId: 3 })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      endpoints: [
        {
          id: 3,
          url: 'https://api-3.example.com/weather',
          method: 'GET',
          state: 'probed',
          status: 'live',
          probe: null,
          failures: 0,
          nextProbeAt: 9,
        },
      ],
    })
  })

  it('probes five when none is named, those with the oldest probe first', async () => {
    const answer = await (await aDirectory(probed))('weather')
    const ids = answer.json().endpoints.map(({ id }: { id: number }) => id)
    expect(ids).toEqual([7, 6, 5, 4, 3])
  })

  it('shows the earlier result when the host is busy', async () => {
    const answer = await (await aDirectory(async () => ({ state: 'busy' })))('weather', {
      endpointId: 1,
    })
    expect(answer.json()).toMatchObject({
      endpoints: [{ state: 'busy', status: 'unverified', probe: { checkedAt: 100 } }],
    })
  })

  it('stops at the end of the budget, and refuses when nothing is left', async () => {
    const post = await aDirectory(probed, { perCaller: { capacity: 2, refillMs: 6_000 } })
    expect((await post('weather')).json().endpoints).toHaveLength(2)
    const refused = await post('weather')
    expect(refused.statusCode).toBe(429)
    expect(refused.headers['retry-after']).toBe('6')
  })

  it.each([
    ['nobody', {}, 404],
    ['gone', {}, 410],
    ['weather', { endpointId: 99 }, 404],
    ['weather', { endpointId: '1' }, 400],
    ['weather', { endpointId: 0 }, 400],
    ['weather', [], 400],
  ])('answers %s %j with %i', async (id, payload, status) => {
    const answer = await (await aDirectory(probed))(id, payload)
    expect(answer.statusCode).toBe(status)
    expect(answer.json()).toMatchObject({ error: expect.any(String), message: expect.any(String) })
  })
})
