import type { RequestListener } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  aListing,
  anEndpoint,
  aSignedWrite,
  send,
  startDirectory,
  type TestDirectory,
} from '../support/a-directory.js'
import { anAccount } from '../support/an-account.js'
import {
  aGatewayRequirement,
  aRequirement,
  ask,
  asset,
  bazaar,
  network,
  payTo,
} from '../support/directory/a-402.js'
import { save } from '../support/directory/a-catalog.js'
import { aTarget, type Target } from '../support/directory/a-target.js'
import { createListingWriter, owner } from '../support/directory/listed-merchants.js'
import { withResolvers } from '../support/with-resolvers.js'

let directory: TestDirectory
const open: Target[] = []

beforeEach(async () => {
  directory = await startDirectory({ settings: { baseUrl: 'http://localhost:4021' } })
})
afterEach(async () => {
  await directory.close()
  await Promise.all(open.splice(0).map((it) => it.close()))
})

function validate(payload: unknown) {
  // One host is called once a second.
  directory.clock.seconds += 1
  return directory.app.inject({
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
    const answer = await validate({ url: `${url}/weather?unit=c`, method: 'GET' })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json()).toEqual({
      verdict: 'live',
      message: 'The endpoint answered 402 as it should.',
      warnings: [],
      seen: expect.objectContaining({ status: 402, amount: '10000', payTo }),
      checkedAt: directory.clock.seconds,
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
    expect((await validate({ url, method: 'GET' })).json()).toMatchObject({
      verdict: 'wrong_payto',
      message: expect.stringMatching(/looks mistyped: its EIP-55 checksum is wrong/),
      seen: { payTo: mistyped },
      listing: null,
    })
  })

  it('also answers for a URL that may not be called, uncounted, because no call is made', async () => {
    for (let round = 0; round < 10; round++) {
      for (const url of [
        'http://169.254.169.254/latest',
        'http://localhost:4021/',
        'http://[::ffff:127.0.0.1]/',
      ]) {
        const answer = await validate({ url, method: 'GET' })
        expect(answer.json()).toMatchObject({ verdict: 'blocked_target', listing: null })
      }
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
    const answer = await validate(payload)
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toEqual({
      error: 'invalid_request',
      message: expect.stringContaining(named),
    })
  })

  it('makes a bounded number of calls for a caller, and then says when to try again', async () => {
    const targets = await Promise.all(
      Array.from({ length: 21 }, () => anEndpointThat((_, response) => ask(response))),
    )
    const asked = (from: string, target = targets[0]) =>
      directory.app.inject({
        method: 'POST',
        url: '/discovery/validate',
        remoteAddress: from,
        payload: { url: target?.url, method: 'GET' },
      })
    for (const target of targets.slice(0, 20)) {
      expect((await asked('192.0.2.1', target)).statusCode).toBe(200)
    }
    const refused = await asked('192.0.2.1', targets[20])
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '6'])
    expect(refused.json()).toMatchObject({ error: 'rate_limited' })
    expect(targets[20]?.connections()).toBe(0)
    expect((await asked('198.51.100.1', targets[20])).statusCode).toBe(200)
  })
})

describe('POST /api/merchants/:id/probe', () => {
  const seller = anAccount()
  const hosts = Array.from({ length: 7 }, (_, i) => `https://api-${i + 1}.example.com/weather`)
  let ids: number[]

  /** Lists an endpoint on each of seven hosts. */
  beforeEach(async () => {
    const body = aListing({ endpoints: hosts.map((url) => anEndpoint({ url })) })
    expect((await send(directory, await aSignedWrite(seller, { body }))).statusCode).toBe(201)
    ids = (await directory.store.endpointsOf('weather')).map(({ id }) => id)
    directory.sellers.called.length = 0
  })

  const post = (payload: object = {}, id = 'weather') =>
    directory.app.inject({ method: 'POST', url: `/api/merchants/${id}/probe`, payload })
  const probed = (answer: Awaited<ReturnType<typeof post>>): number[] =>
    answer.json().endpoints.map(({ id }: { id: number }) => id)

  it('probes one endpoint', async () => {
    directory.clock.seconds += 5
    const answer = await post({ endpointId: ids[2] })
    expect(answer.statusCode).toBe(200)
    expect(answer.json().endpoints).toMatchObject([
      {
        id: ids[2],
        url: hosts[2],
        method: 'GET',
        state: 'probed',
        status: 'live',
        failures: 0,
        nextProbeAt: expect.any(Number),
        probe: { verdict: 'live', checkedAt: directory.clock.seconds },
      },
    ])
    expect(directory.sellers.called).toHaveLength(1)
  })

  it('probes five when none is named, those with the oldest probe first', async () => {
    for (const id of ids.slice(0, 2)) {
      directory.clock.seconds += 1
      await post({ endpointId: id })
    }
    expect(probed(await post())).toEqual(ids.slice(2))
    directory.clock.seconds += 1
    expect(probed(await post()).slice(0, 2)).toEqual(ids.slice(0, 2))
  })

  it('shows the earlier result when the host is busy', async () => {
    const { checkedAt } = (await directory.store.endpointsOf('weather'))[0]?.probe ?? {}
    const { promise: ended, resolve: end } = withResolvers()
    directory.sellers.before = () => ended
    const first = post({ endpointId: ids[0] })
    await vi.waitUntil(() => directory.sellers.called.length === 1, 15_000)
    const second = post({ endpointId: ids[0] })
    await new Promise((resolve) => setTimeout(resolve, 20))
    directory.clock.seconds += 5
    expect((await second).json()).toMatchObject({
      endpoints: [{ state: 'busy', status: 'live', probe: { checkedAt } }],
    })
    end()
    expect((await first).json()).toMatchObject({ endpoints: [{ state: 'probed' }] })
  })

  it('stops at the end of the budget, and refuses when nothing is left', async () => {
    for (let n = 0; n < 18; n++) {
      if (n % 7 === 0) directory.clock.seconds += 1
      expect(probed(await post({ endpointId: ids[n % 7] }))).toHaveLength(1)
    }
    directory.clock.seconds += 1
    expect(probed(await post())).toHaveLength(2)
    const refused = await post()
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '4'])
  })

  it.each([
    ['nobody', {}, 404],
    ['gone', {}, 410],
    ['weather', { endpointId: 99 }, 404],
    ['weather', { endpointId: '1' }, 400],
    ['weather', { endpointId: 0 }, 400],
    ['weather', [], 400],
  ])('answers %s %j with %i', async (id, payload, status) => {
    await save(directory.store, { id: 'gone', owner }, [{}])
    await createListingWriter(directory.store).write('gone', { kind: 'delete' })
    const answer = await post(payload, id)
    expect(answer.statusCode).toBe(status)
    expect(answer.json()).toMatchObject({ error: expect.any(String), message: expect.any(String) })
  })
})
