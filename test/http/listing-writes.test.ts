import {
  hashBody,
  LISTING_PRIMARY_TYPE,
  type ListingAction,
  listingActions,
  listingTypedData,
  listingWriteTypes,
  toListingWrite,
} from '@arcus/protocol/listing/listing-write'
import { getAddress, type Hex, hashTypedData, recoverTypedDataAddress, zeroAddress } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import {
  aListing,
  anEndpoint,
  aSignedWrite,
  chainId,
  directoryUrl,
  endpointsOf,
  type SignedRequest,
  send,
  startDirectory,
  startSeconds,
  type TestDirectory,
  tokens,
} from '../support/a-directory.js'
import { anAccount } from '../support/an-account.js'
import { answering, away } from '../support/directory/sellers.js'
import { withResolvers } from '../support/with-resolvers.js'

const owner = anAccount()
const other = anAccount()

let directory: TestDirectory
beforeEach(async () => {
  directory = await startDirectory()
})
afterEach(() => directory.close())

/** Holds the answers of all endpoints, until the returned function is called. */
function holdSellers(): () => void {
  const { promise, resolve } = withResolvers()
  directory.sellers.before = () => promise
  return resolve
}

async function create(id = 'weather') {
  const request = await aSignedWrite(owner, { message: { merchantId: id } })
  expect((await send(directory, request, id)).statusCode).toBe(201)
  return request
}

/** Sends it and gives status and code. */
async function refusal(request: SignedRequest, ...rest: [id?: string, action?: 'listing.create']) {
  const response = await send(directory, request, ...rest)
  return [response.statusCode, response.json().error]
}

describe('a saved listing', () => {
  it('is there at once, as its owner sees it', async () => {
    const response = await send(directory, await aSignedWrite(owner))
    expect(response.statusCode).toBe(201)
    const read = await directory.app.inject('/api/merchants/weather')
    expect(read.json()).toEqual(response.json())
    expect(read.headers['cache-control']).toBe('no-store')
    expect(read.json()).toMatchObject({
      id: 'weather',
      owner: owner.address,
      revision: 1,
      network: 'eip155:5042',
      payTo: aListing().payTo,
      flags: { official: false, partner: false, hiddenReason: null },
      offer: null,
      warnings: [{ path: 'payTo', code: 'pay_to_unproven' }],
      endpoints: [
        {
          url: 'https://api.example.com/weather',
          price: '10000',
          output: { type: 'json' },
          state: {
            status: 'live',
            accepts: [{ scheme: 'exact', maxTimeoutSeconds: 60, amount: '10000' }],
            extras: { mimeType: 'application/json' },
            // Six hours, by a fifth more or less.
            nextProbeAt: expect.closeTo(startSeconds + 6 * 3_600, -4),
          },
        },
      ],
    })
  })

  it('is replaced by its owner, with the endpoints as answered, without their state', async () => {
    await create()
    const { name, description, payTo, endpoints } = (
      await directory.app.inject('/api/merchants/weather')
    ).json()
    const listed = endpoints.map(({ state: _, ...endpoint }: { state: unknown }) => endpoint)
    const body = { name: `${name} 2`, description, payTo, endpoints: listed }
    const request = await aSignedWrite(owner, {
      action: 'listing.update',
      body,
      message: { revision: 2 },
    })
    const response = await send(directory, request)
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({ name: 'Weather 2', revision: 2 })
  })

  it('takes integers as digits, as wallets write them, and any case of hex', async () => {
    const request = await aSignedWrite(owner)
    const { message } = request
    const spelled = {
      ...message,
      owner: message.owner.toLowerCase(),
      bodyHash: `0x${message.bodyHash.slice(2).toUpperCase()}`,
      revision: '1',
      issuedAt: String(message.issuedAt),
      deadline: String(message.deadline),
    }
    expect((await send(directory, { ...request, message: spelled } as never)).statusCode).toBe(201)
  })

  it('takes a signature with a parity of 0 or 1', async () => {
    const request = await aSignedWrite(owner)
    const v = request.signature.endsWith('1b') ? '00' : '01'
    const signature = `${request.signature.slice(0, -2) as Hex}${v}` as const
    expect((await send(directory, { ...request, signature })).statusCode).toBe(201)
  })
})

describe('a write is refused', () => {
  it('when it was accepted before', async () => {
    const request = await create()
    const again = await send(directory, request)
    expect(again.statusCode).toBe(409)
    expect(again.json()).toMatchObject({ error: 'replayed_nonce', details: { revision: 1 } })
  })

  it('when its nonce was used for another merchant', async () => {
    const { message } = await create()
    const { nonce } = message
    const again = await aSignedWrite(owner, { message: { nonce, merchantId: 'second' } })
    expect(await refusal(again, 'second')).toEqual([409, 'replayed_nonce'])
    expect(await directory.store.findMerchant('second')).toBeUndefined()
  })

  it('out of order, with the present revision in the answer', async () => {
    await create()
    for (const revision of [0, 1, 3]) {
      const request = await aSignedWrite(owner, {
        action: 'listing.update',
        message: { revision },
      })
      const response = await send(directory, request)
      expect([response.statusCode, response.json().error]).toEqual([409, 'stale_revision'])
      expect(response.json().details).toEqual({ revision: 1 })
    }
  })

  it('when made for another directory', async () => {
    const request = await aSignedWrite(owner, { message: { audience: 'https://other.example' } })
    expect(await refusal(request)).toEqual([400, 'wrong_audience'])
  })

  it('when signed in the domain of another chain, named or not', async () => {
    const request = await aSignedWrite(owner, { chain: 5042002 })
    expect(await refusal(request)).toEqual([400, 'wrong_chain'])
    expect(await refusal({ ...request, chainId: 5042002 })).toEqual([400, 'wrong_chain'])
    const right = await aSignedWrite(owner)
    expect((await send(directory, { ...right, chainId })).statusCode).toBe(201)
  })

  it.each([
    ['at its deadline', { deadline: startSeconds }, 'write_expired'],
    ['one second before', { deadline: startSeconds + 1 }, undefined],
    ['issued 60 seconds ahead', { issuedAt: startSeconds + 60 }, undefined],
    ['issued 61 seconds ahead', { issuedAt: startSeconds + 61 }, 'issued_in_future'],
    ['with ten minutes to go', { deadline: startSeconds + 600 }, undefined],
    ['with a second more', { deadline: startSeconds + 601 }, 'deadline_too_far'],
    ['issued eleven minutes before its deadline', { issuedAt: startSeconds - 60 }, undefined],
    ['issued longer ago', { issuedAt: startSeconds - 61 }, 'deadline_too_far'],
  ])('by its times: %s', async (_, message, code) => {
    const response = await send(directory, await aSignedWrite(owner, { message }))
    expect(response.statusCode).toBe(code === undefined ? 201 : 400)
    expect(response.json().error).toBe(code)
  })

  it('when its body was altered after signing', async () => {
    const request = await aSignedWrite(owner)
    const body = aListing({ name: 'Whether' })
    expect(await refusal({ ...request, body })).toEqual([400, 'body_mismatch'])
  })

  it('when any field of its message was altered after signing', async () => {
    const { message, ...rest } = await aSignedWrite(owner)
    const nonce = `0x${'ab'.repeat(32)}` as const
    for (const change of [
      { nonce },
      { issuedAt: startSeconds - 1 },
      { deadline: startSeconds + 9 },
    ]) {
      const altered = { ...rest, message: { ...message, ...change } }
      expect(await refusal(altered)).toEqual([401, 'invalid_signature'])
    }
    const owned = { ...rest, message: { ...message, owner: other.address } }
    expect(await refusal(owned)).toEqual([401, 'invalid_signature'])
  })

  it('when the payTo in clear is not that of the listing', async () => {
    const request = await aSignedWrite(owner, { message: { payTo: other.address } })
    expect(await refusal(request)).toEqual([400, 'pay_to_mismatch'])
    await create()
    const deletion = await aSignedWrite(owner, {
      action: 'listing.delete',
      body: {},
      message: { revision: 2, payTo: other.address },
    })
    expect(await refusal(deletion)).toEqual([400, 'pay_to_mismatch'])
  })

  it('when it is paid at an address that the operator refuses, and only then', async () => {
    await directory.close()
    const refused = other.address.toLowerCase()
    directory = await startDirectory({ ports: { isPayToBlocked: (payTo) => payTo === refused } })
    const payTo = other.address
    const request = await aSignedWrite(owner, { body: aListing({ payTo }), message: { payTo } })
    expect(await refusal(request)).toEqual([403, 'pay_to_not_allowed'])
    await create()
    const moved = await aSignedWrite(owner, {
      action: 'listing.update',
      body: aListing({ payTo }),
      message: { revision: 2, payTo },
    })
    expect(await refusal(moved)).toEqual([403, 'pay_to_not_allowed'])
    expect((await directory.app.inject('/api/merchants/weather')).json().payTo).not.toBe(payTo)
  })

  it('from anybody but the owner, for every action', async () => {
    await create()
    for (const [action, body] of [
      ['listing.update', aListing()],
      ['listing.delete', {}],
      ['owner.offer', { to: other.address }],
      ['agent.link', { agentId: '0' }],
    ] as const) {
      const request = await aSignedWrite(other, { action, body, message: { revision: 2 } })
      expect(await refusal(request)).toEqual([403, 'not_owner'])
    }
  })

  it('when sent to the route of another action, or named as none', async () => {
    const deletion = await aSignedWrite(owner, { action: 'listing.delete' })
    expect(await refusal(deletion, 'weather', 'listing.create')).toEqual([400, 'wrong_action'])
    const unknown = await aSignedWrite(owner, { action: 'listing.steal' as never })
    expect(await refusal(unknown)).toEqual([400, 'unknown_action'])
    const update = await aSignedWrite(owner, { action: 'listing.update' })
    expect(await refusal(update)).toEqual([400, 'wrong_action'])
  })

  it('when sent to another merchant', async () => {
    expect(await refusal(await aSignedWrite(owner), 'climate')).toEqual([400, 'wrong_merchant'])
  })

  it('for a merchant that is not there', async () => {
    const request = await aSignedWrite(owner, { action: 'listing.delete', body: {} })
    expect(await refusal(request)).toEqual([404, 'merchant_not_found'])
  })

  it.each([
    'ab',
    'openapi.json',
    '__proto__',
    'Weather',
    '-weather',
    'weather-',
    'a_b_c',
    'a'.repeat(41),
    'we ather',
  ])('for the malformed id %j', async (id) => {
    const request = await aSignedWrite(owner, { message: { merchantId: id } })
    expect(await refusal(request, encodeURIComponent(id))).toEqual([400, 'invalid_merchant_id'])
  })

  it.each([
    ...['validate', 'signing', 'constructor', 'prototype', 'tools', 'activity', 'owner-offer'],
    ...['payto-shop', `payto-${zeroAddress}`],
  ])('for the reserved id %s', async (id) => {
    const request = await aSignedWrite(owner, { message: { merchantId: id } })
    expect(await refusal(request, id)).toEqual([400, 'invalid_merchant_id'])
  })

  it.each([
    ['nothing', undefined],
    ['a list', []],
    ['an unknown member', async () => ({ ...(await aSignedWrite(owner)), extra: 1 })],
    ['no body', async () => ({ ...(await aSignedWrite(owner)), body: undefined })],
    [
      'a negative revision',
      () =>
        aSignedWrite(owner, { message: { revision: 0 } }).then((it) => ({
          ...it,
          message: { ...it.message, revision: -1 },
        })),
    ],
    [
      'a signature that is not hex',
      async () => ({ ...(await aSignedWrite(owner)), signature: '0xzz' }),
    ],
    [
      'an endless signature',
      async () => ({ ...(await aSignedWrite(owner)), signature: `0x${'00'.repeat(8_193)}` }),
    ],
  ])('when it holds %s', async (_, make) => {
    const payload = typeof make === 'function' ? await make() : make
    const response = await directory.app.inject({
      method: 'PUT',
      url: '/api/merchants/weather',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(payload ?? null),
    })
    expect([response.statusCode, response.json().error]).toEqual([400, 'invalid_write'])
  })

  it('beyond the published size, with that size in the answer', async () => {
    const response = await directory.app.inject({
      method: 'PUT',
      url: '/api/merchants/weather',
      payload: { padding: 'x'.repeat(1_048_576) },
    })
    expect(response.statusCode).toBe(413)
    expect(response.json()).toMatchObject({ error: 'body_too_large' })
    expect(response.json().message).toContain('524288 bytes')
  })
})

describe('two writes of one revision that come together', () => {
  it('are one accepted and one refused, and one is in the history', async () => {
    const open = holdSellers()
    const requests = [await aSignedWrite(owner), await aSignedWrite(owner)]
    const sent = requests.map((request) => send(directory, request))
    await vi.waitUntil(() => directory.sellers.called.length === 2, 15_000)
    open()
    const codes = (await Promise.all(sent)).map((response) => response.json().error)
    expect(codes.sort()).toEqual(['stale_revision', undefined])
    expect(await directory.store.historyOf('weather', 0, 10)).toHaveLength(1)
  })

  it('hold even when the deadline passes during the probes', async () => {
    const open = holdSellers()
    const sent = send(directory, await aSignedWrite(owner))
    await vi.waitUntil(() => directory.sellers.called.length === 1, 15_000)
    directory.clock.seconds += 601
    open()
    expect((await sent).statusCode).toBe(201)
  })
})

describe('the probes of a save', () => {
  it('come only after owner, revision and signature', async () => {
    await create()
    directory.sellers.called.length = 0
    const stranger = await aSignedWrite(other, {
      action: 'listing.update',
      message: { revision: 2 },
    })
    await send(directory, stranger)
    const forged = await aSignedWrite(other, {
      action: 'listing.update',
      message: { revision: 2, owner: owner.address },
    })
    expect(await refusal(forged)).toEqual([401, 'invalid_signature'])
    await send(directory, await aSignedWrite(owner, { action: 'listing.update' }))
    expect(directory.sellers.called).toEqual([])
  })

  it('refuse the save for definite wrong answers, and name each with the facts seen', async () => {
    const urls = ['https://a.example/x', 'https://b.example/x', 'https://c.example/x']
    for (const url of urls.slice(1)) directory.sellers.answers.set(url, answering(200))
    const body = aListing({ endpoints: urls.map((url) => anEndpoint({ url })) })
    const response = await send(directory, await aSignedWrite(owner, { body }))
    expect(response.statusCode).toBe(422)
    const { error, message, details } = response.json()
    expect(error).toBe('endpoint_refused')
    expect(message).toMatch(
      /endpoints\[1\] \(GET https:\/\/b.example\/x\): not_402.*endpoints\[2\]/,
    )
    expect(details.endpoints).toMatchObject([
      { path: 'endpoints[1]', url: urls[1], reason: 'not_402', seen: { status: 200 } },
      { path: 'endpoints[2]', url: urls[2], reason: 'not_402', seen: { status: 200 } },
    ])
    expect(await directory.store.findMerchant('weather')).toBeUndefined()
  })

  it('stop after ten definite wrong answers', async () => {
    const urls = Array.from({ length: 60 }, (_, index) => `https://a.example/${index}`)
    for (const url of urls) directory.sellers.answers.set(url, answering(200))
    const body = aListing({ endpoints: urls.map((url) => anEndpoint({ url })) })
    expect((await send(directory, await aSignedWrite(owner, { body }))).statusCode).toBe(422)
    expect(directory.sellers.called.length).toBeLessThan(15)
  })

  it('save an endpoint without an answer as unverified, with reason, time of the next probe, and the listed terms', async () => {
    directory.sellers.answers.set(anEndpoint().url, away)
    const response = await send(directory, await aSignedWrite(owner))
    expect(response.statusCode).toBe(201)
    const [{ state }] = response.json().endpoints
    expect(state).toMatchObject({
      status: 'unverified',
      failures: 1,
      probe: { verdict: 'unreachable', message: expect.stringContaining('does not resolve') },
      accepts: [{ scheme: 'exact', network: 'eip155:5042', amount: '10000' }],
    })
    expect(state.nextProbeAt).toBeGreaterThan(startSeconds)
    expect(response.json().warnings).toMatchObject([
      { path: 'payTo', code: 'pay_to_unproven' },
      { path: 'endpoints[0]', code: 'unverified' },
    ])
  })

  it('neither heal a failing endpoint nor make one fail by saving often', async () => {
    directory.sellers.answers.set(anEndpoint().url, away)
    await send(directory, await aSignedWrite(owner))
    for (const revision of [2, 3, 4]) {
      const request = await aSignedWrite(owner, { action: 'listing.update', message: { revision } })
      expect((await send(directory, request)).json().endpoints[0].state.status).toBe('unverified')
    }
    const [endpoint] = await directory.store.endpointsOf('weather')
    if (endpoint === undefined) throw new Error('no endpoint')
    await directory.store.saveProbe(endpoint.id, { ...endpoint, status: 'failing', failures: 3 }, 1)
    const request = await aSignedWrite(owner, {
      action: 'listing.update',
      message: { revision: 5 },
    })
    expect((await send(directory, request)).json().endpoints[0].state).toMatchObject({
      status: 'failing',
      failures: 4,
    })
  })

  const full = (wish = {}, count = 100) =>
    aListing({
      endpoints: Array.from({ length: count }, (_, i) =>
        anEndpoint({ url: `https://api.example.com/${i}`, ...wish }),
      ),
    })
  interface Saved {
    url: string
    state: { status: string; failures: number; probe: { verdict: string }; accepts: object[] }
  }
  const save = async (body: ReturnType<typeof aListing>, revision = 1): Promise<Saved[]> => {
    const action = revision === 1 ? 'listing.create' : 'listing.update'
    const message = { revision, payTo: body.payTo }
    const answer = await send(directory, await aSignedWrite(owner, { action, body, message }))
    expect(answer.statusCode).toBeLessThan(300)
    return answer.json().endpoints
  }

  it('run in the order of the listing, four at a time', async () => {
    const open = holdSellers()
    const body = full({}, 20)
    const saving = save(body)
    await vi.waitUntil(() => directory.sellers.called.length >= 4, 15_000)
    await new Promise(setImmediate)
    expect(directory.sellers.called).toHaveLength(4)
    open()
    const saved = await saving
    expect(saved.map(({ url }) => url)).toEqual(body.endpoints.map(({ url }) => url))
    expect(saved.every(({ state }) => state.status === 'live')).toBe(true)
    expect(directory.sellers.called).toHaveLength(20)
  })

  it('end after twenty seconds; the rest is unverified and probed in a minute', async () => {
    directory.sellers.before = () => {
      directory.clock.seconds += 5
    }
    const saved = await save(full({}, 20))
    const called = directory.sellers.called.length
    expect(called).toBeLessThan(10)
    for (const { state } of saved.slice(called)) {
      expect(state).toMatchObject({
        status: 'unverified',
        failures: 0,
        probe: { verdict: 'not_checked' },
        nextProbeAt: directory.clock.seconds + 60,
        accepts: [{ amount: '10000', payTo: aListing().payTo }],
      })
    }
  })

  it('keep the quote of a 402 while the endpoint is out of reach, and no terms that only a listing named', async () => {
    const quoteAt = async (price: string, revision: number, wish = {}) => {
      const [endpoint] = await save(
        aListing({ endpoints: [anEndpoint({ price })], ...wish }),
        revision,
      )
      return endpoint?.state.accepts
    }
    const { answers } = directory.sellers
    const { url } = anEndpoint()
    answers.set(url, away)
    expect(await quoteAt('9000000', 1)).toMatchObject([{ amount: '9000000' }])
    expect(await quoteAt('10000', 2)).toMatchObject([{ amount: '10000' }])
    answers.delete(url)
    expect(await quoteAt('9000000', 3)).toMatchObject([{ amount: '9000000' }])
    answers.set(url, away)
    expect(await quoteAt('10000', 4)).toMatchObject([{ amount: '9000000' }])
    const [before] = await directory.store.endpointsOf('weather')
    expect([before?.status, before?.failures]).toEqual(['live', 1])
    expect(await quoteAt('10000', 5, { payTo: other.address })).toMatchObject([
      { amount: '10000', payTo: other.address },
    ])
    answers.delete(url)
    expect(await quoteAt('9000000', 6)).toMatchObject([{ amount: '9000000' }])
    answers.set(url, away)
    const euros = { endpoints: [anEndpoint({ currency: 'EUR' })] }
    expect(await quoteAt('10000', 7, euros)).toMatchObject([
      { asset: getAddress(tokens[1]?.address ?? ''), amount: '10000', extra: { name: 'EURC' } },
    ])
  })

  it('are bounded for each host over all saves, and a missing probe refuses nothing', async () => {
    for (let revision = 1; revision <= 3; revision++) await save(full(), revision)
    expect(directory.sellers.called).toHaveLength(300)
    const [beyond] = await save(full({ title: 'New' }, 1), 4)
    expect(beyond?.state.probe.verdict).toBe('not_checked')
    expect(directory.sellers.called).toHaveLength(300)
    directory.clock.seconds += 1
    const [later] = await save(full({ title: 'Newer' }, 1), 5)
    expect([later?.state.status, directory.sellers.called.length]).toEqual(['live', 301])
  })

  it('are bounded per owner, with the time to try again', async () => {
    const body = full()
    const save = async (by: typeof owner, id: string) =>
      send(directory, await aSignedWrite(by, { body, message: { merchantId: id } }), id)
    for (let n = 1; n <= 6; n++) expect((await save(owner, `shop-${n}`)).statusCode).toBe(201)
    const response = await save(owner, 'shop-7')
    expect([response.statusCode, response.json().error]).toEqual([429, 'too_many_saves'])
    expect(response.headers['retry-after']).toBe('20')
    expect((await save(other, 'shop-7')).statusCode).toBe(201)
  })

  it('are bounded for fresh keys of one block of addresses, also where their schemas are refused', async () => {
    const body = full({ inputSchema: { type: 'object', $ref: '#' } })
    const save = async (remoteAddress: string, listing = aListing()) => {
      const payload = await aSignedWrite(anAccount(), { body: listing })
      const url = '/api/merchants/weather'
      const answer = await directory.app.inject({ method: 'PUT', url, payload, remoteAddress })
      return answer.json().error ?? answer.statusCode
    }
    const answers = []
    for (let n = 1; n <= 14; n++) answers.push(await save(`203.0.113.${n}`, body))
    expect(answers).toEqual([
      ...Array(12).fill('invalid_listing'),
      ...Array(2).fill('too_many_saves'),
    ])
    expect(await save('198.51.100.1')).toBe(201)
  })
})

it('an honest save is answered before those whose schemas were made to take for ever', async () => {
  const doubling: Record<string, unknown> = { d60: { type: 'string' } }
  for (let level = 0; level < 60; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` }
    doubling[`d${level}`] = { anyOf: [next, next] }
  }
  const evil = { type: 'object', $defs: doubling, $ref: '#/$defs/d0' }
  const order: string[] = []
  const save = async (id: string, schemas: Record<string, unknown>[]) => {
    const endpoints = schemas.map((inputSchema, n) =>
      anEndpoint({ url: `https://api.example.com/${id}/${n}`, inputSchema }),
    )
    const message = { merchantId: id }
    const request = await aSignedWrite(anAccount(), { body: aListing({ endpoints }), message })
    return async () => {
      const answer = await send(directory, request, id)
      order.push(`${id} ${answer.statusCode}`)
      return answer.json()
    }
  }
  // Thirty good schemas go before the bad one, so each of these saves takes thirty turns.
  const good = { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } } }
  const slow = await Promise.all(
    ['evil-a', 'evil-b', 'evil-c'].map((id) => save(id, [...Array(30).fill(good), evil])),
  )
  const honest = await save('honest', [good])
  const answers = await Promise.all([...slow, honest].map((send) => send()))
  expect(order[0]).toBe('honest 201')
  expect(order.slice(1)).toEqual(expect.arrayContaining(['evil-a 400', 'evil-b 400', 'evil-c 400']))
  expect(answers[0].message).toMatch(/endpoints\[30\].inputSchema .* takes too much work to check/)
})

describe('the quota of writes', () => {
  const from = (request: SignedRequest, id: string, remoteAddress: string) =>
    directory.app.inject({
      method: 'PUT',
      url: `/api/merchants/${id}`,
      payload: request,
      remoteAddress,
    })
  const fresh = (id: string, body: unknown = aListing()) =>
    aSignedWrite(anAccount(), { body, message: { merchantId: id } })

  it('admits a number of new owners from one block an hour, and again in the next', async () => {
    // Deleting a listing and making it anew is no new owner.
    const again = (action: ListingAction, revision: number) =>
      aSignedWrite(other, {
        action,
        message: { merchantId: 'shop-0', revision },
        body: action === 'listing.delete' ? {} : aListing(),
      })
    const actions = ['listing.create', 'listing.delete', 'listing.create'] as const
    for (const [i, action] of actions.entries()) {
      const answer = await directory.app.inject({
        method: i === 1 ? 'DELETE' : 'PUT',
        url: '/api/merchants/shop-0',
        payload: await again(action, i + 1),
        remoteAddress: '192.0.2.0',
      })
      expect(answer.statusCode).toBe(i === 1 ? 200 : 201)
    }
    for (let i = 1; i < 30; i++) {
      expect((await from(await fresh(`shop-${i}`), `shop-${i}`, `192.0.2.${i}`)).statusCode).toBe(
        201,
      )
    }
    const late = await fresh('late')
    const refused = await from(late, 'late', '192.0.2.99')
    expect([refused.statusCode, refused.json().error]).toEqual([429, 'too_many_new_owners'])
    expect(refused.json().message).toContain('try again in 60 minutes')
    expect(Number(refused.headers['retry-after'])).toBe(3_600)
    expect((await from(late, 'late', '192.0.3.1')).statusCode).toBe(201)
    directory.clock.seconds += 3_600
    const later = await aSignedWrite(anAccount(), {
      message: {
        merchantId: 'later',
        issuedAt: directory.clock.seconds,
        deadline: directory.clock.seconds + 600,
      },
    })
    expect((await from(later, 'later', '192.0.2.99')).statusCode).toBe(201)
  })

  it('is not used by refused writes', async () => {
    directory.sellers.answers.set(anEndpoint().url, answering(200))
    for (let i = 0; i < 40; i++) {
      expect((await from(await fresh(`bad-${i}`), `bad-${i}`, '192.0.2.1')).statusCode).toBe(422)
    }
    directory.sellers.answers.clear()
    expect((await from(await fresh('good'), 'good', '192.0.2.1')).statusCode).toBe(201)
  })

  it('is bounded for one owner over all actions, and a deletion needs none', async () => {
    await create()
    const bulk = (revision: number) =>
      aSignedWrite(owner, {
        action: 'listing.update',
        body: aListing({
          endpoints: Array.from({ length: 20 }, (_, at) =>
            anEndpoint({
              url: `https://api.example.com/${at}`,
              inputSchema: { type: 'object', description: 'x'.repeat(15_000) },
              output: { type: 'json', example: 'x'.repeat(8_000) },
            }),
          ),
        }),
        message: { revision },
      })
    let revision = 2
    let response = await send(directory, await bulk(revision))
    while (response.statusCode === 200) response = await send(directory, await bulk(++revision))
    expect([response.statusCode, response.json().error]).toEqual([429, 'too_much_written'])
    expect(revision).toBeGreaterThan(5)
    expect(revision).toBeLessThan(15)
    const deletion = await aSignedWrite(owner, {
      action: 'listing.delete',
      body: {},
      message: { revision },
    })
    expect((await send(directory, deletion)).statusCode).toBe(200)
  })

  it('leaves a nearly full disk to payments', async () => {
    await create()
    directory.disk.isLow = true
    const refused = await from(await fresh('late'), 'late', '192.0.2.1')
    expect([refused.statusCode, refused.json().error]).toEqual([503, 'storage_low'])
    expect(refused.headers['retry-after']).toBe('300')
    const offer = await aSignedWrite(owner, {
      action: 'owner.offer',
      body: { to: other.address },
      message: { revision: 2 },
    })
    expect((await send(directory, offer)).statusCode).toBe(200)
    directory.disk.isLow = false
    expect((await from(await fresh('late'), 'late', '192.0.2.1')).statusCode).toBe(201)
  })
})

describe('a schema', () => {
  const inputSchema = {
    type: 'object',
    properties: { city: { type: 'string', minLength: 3 } },
    required: ['city'],
  }
  const withSchema = (wish: object) => aListing({ endpoints: [anEndpoint(wish)] })

  it('is satisfied by the example, or the save is refused', async () => {
    const bad = withSchema({ inputSchema, example: { queryParams: { city: 'x' } } })
    const response = await send(directory, await aSignedWrite(owner, { body: bad }))
    expect([response.statusCode, response.json().error]).toEqual([400, 'invalid_listing'])
    expect(response.json().message).toContain('endpoints[0].example.queryParams')
    const posted = { method: 'POST' as const, inputSchema, example: { body: { city: 'x' } } }
    const body = withSchema(posted)
    expect((await send(directory, await aSignedWrite(owner, { body }))).json().message).toContain(
      'endpoints[0].example.body',
    )
    const good = withSchema({ inputSchema })
    expect((await send(directory, await aSignedWrite(owner, { body: good }))).statusCode).toBe(201)
  })

  it('that cannot be compiled is refused', async () => {
    const body = withSchema({
      inputSchema: { type: 'object', properties: { a: { type: 'nope' } } },
    })
    const response = await send(directory, await aSignedWrite(owner, { body }))
    expect(response.json()).toMatchObject({ error: 'invalid_listing' })
    expect(response.json().message).toContain('endpoints[0].inputSchema')
  })
})

describe('ownership', () => {
  const offer = (to: string | null, revision = 2) =>
    aSignedWrite(owner, { action: 'owner.offer', body: { to }, message: { revision } })
  const accept = (by = other, revision = 3, message = {}) =>
    aSignedWrite(by, { action: 'owner.accept', body: {}, message: { revision, ...message } })

  it('passes in two steps: one offers, the other accepts', async () => {
    await create()
    const link = { agentId: '7' }
    await send(
      directory,
      await aSignedWrite(owner, { action: 'agent.link', body: link, message: { revision: 2 } }),
    )
    const offered = await send(directory, await offer(other.address, 3))
    expect(offered.json().offer).toEqual({ to: other.address, until: startSeconds + 7 * 86_400 })
    expect(offered.json().owner).toBe(owner.address)
    const accepted = await send(directory, await accept(other, 4))
    expect(accepted.statusCode).toBe(200)
    expect(accepted.json()).toMatchObject({ owner: other.address, offer: null, agentId: null })
    const old = await aSignedWrite(owner, { action: 'listing.update', message: { revision: 5 } })
    expect(await refusal(old)).toEqual([403, 'not_owner'])
    const fresh = await aSignedWrite(other, { action: 'listing.update', message: { revision: 5 } })
    expect((await send(directory, fresh)).statusCode).toBe(200)
  })

  it('is not accepted without an offer, by somebody else, or too late', async () => {
    await create()
    expect(await refusal(await accept(other, 2))).toEqual([403, 'not_offered'])
    await send(directory, await offer(other.address))
    expect(await refusal(await accept(owner))).toEqual([403, 'not_offered'])
    directory.clock.seconds += 7 * 86_400
    const times = { issuedAt: directory.clock.seconds, deadline: directory.clock.seconds + 60 }
    expect(await refusal(await accept(other, 3, times))).toEqual([403, 'not_offered'])
    expect((await directory.app.inject('/api/merchants/weather')).json().offer).toBeNull()
  })

  it('that was offered can be taken back', async () => {
    await create()
    await send(directory, await offer(other.address))
    const back = await send(directory, await offer(null, 3))
    expect(back.json().offer).toBeNull()
    expect(await refusal(await accept(other, 4))).toEqual([403, 'not_offered'])
  })

  it('is not offered to the owner there is', async () => {
    await create()
    expect(await refusal(await offer(owner.address))).toEqual([400, 'offer_to_self'])
    expect((await directory.app.inject('/api/merchants/weather')).json().revision).toBe(1)
  })

  it('of what was found in payments is claimed by the key that is paid, and by no other', async () => {
    const id = `payto-${owner.address.toLowerCase()}`
    const [endpoint] = endpointsOf(aListing())
    if (endpoint === undefined) throw new Error('no endpoint')
    const health = {
      accepts: [],
      status: 'unverified',
      probe: null,
      failures: 0,
      nextProbeAt: null,
    } as const
    await directory.store.saveUnclaimed(
      {
        id,
        name: '0x1111…1111',
        network: 'eip155:5042',
        asset: '0x3600000000000000000000000000000000000000',
        payTo: owner.address.toLowerCase() as never,
      },
      { ...endpoint, ...health, accepts: [], extras: {} },
      startSeconds,
    )
    const shown = await directory.app.inject(`/api/merchants/${id}`)
    expect(shown.json()).toMatchObject({ owner: null, revision: 0, flags: { unclaimed: true } })
    const body = aListing({ payTo: owner.address })
    const message = { merchantId: id, payTo: owner.address }
    expect(await refusal(await aSignedWrite(other, { body, message }), id)).toEqual([
      403,
      'not_owner',
    ])
    const deletion = await aSignedWrite(owner, { action: 'listing.delete', body: {}, message })
    expect(await refusal(deletion, id)).toEqual([403, 'not_owner'])
    const claimed = await send(directory, await aSignedWrite(owner, { body, message }), id)
    expect(claimed.statusCode).toBe(201)
    expect(claimed.json()).toMatchObject({ owner: owner.address, flags: { unclaimed: false } })
  })
})

describe('the address that is paid', () => {
  const treasury = anAccount()
  const confirm = (to: string | null, revision = 2, by = treasury, payTo = treasury.address) =>
    aSignedWrite(by, {
      action: 'payto.confirm',
      body: { owner: to },
      message: { revision, payTo },
    })
  const proof = async () => (await directory.app.inject('/api/merchants/weather')).json().payToProof
  const save = (action: ListingAction, revision: number, payTo = treasury.address) =>
    aSignedWrite(owner, { action, body: aListing({ payTo }), message: { payTo, revision } })

  it('proves its own listings by itself, and others once its key confirms them', async () => {
    const own = { body: aListing({ payTo: owner.address }), message: { payTo: owner.address } }
    await send(directory, await aSignedWrite(owner, own))
    expect(await proof()).toBe('owner')
    const elsewhere = await send(directory, await save('listing.update', 2))
    expect(elsewhere.json().warnings).toEqual([
      {
        path: 'payTo',
        code: 'pay_to_unproven',
        message: expect.stringContaining(treasury.address),
      },
    ])
    expect(await proof()).toBeNull()
    const confirmed = await send(directory, await confirm(owner.address, 3))
    expect(confirmed.statusCode).toBe(200)
    expect(confirmed.json()).toMatchObject({
      owner: owner.address,
      payToProof: 'confirmation',
      warnings: [],
    })
    await send(directory, await save('listing.update', 4))
    expect(await proof()).toBe('confirmation')
    await send(directory, await confirm(null, 5))
    expect(await proof()).toBeNull()
  })

  it('is proven for that owner and that address alone', async () => {
    await send(directory, await save('listing.create', 1))
    await send(directory, await confirm(owner.address))
    await send(directory, await save('listing.update', 3, anAccount().address))
    expect(await proof()).toBeNull()
    await send(directory, await save('listing.update', 4))
    expect(await proof()).toBe('confirmation')
    const { address } = treasury
    const offer = { action: 'owner.offer', body: { to: other.address } } as const
    await send(
      directory,
      await aSignedWrite(owner, { ...offer, message: { revision: 5, payTo: address } }),
    )
    const accept = { action: 'owner.accept', body: {} } as const
    await send(
      directory,
      await aSignedWrite(other, { ...accept, message: { revision: 6, payTo: address } }),
    )
    expect(await proof()).toBeNull()
  })

  it('is confirmed by its own signature only, for the present owner of an existing listing', async () => {
    expect(await refusal(await confirm(owner.address, 1))).toEqual([404, 'merchant_not_found'])
    await send(directory, await save('listing.create', 1))
    const bySomebody = await confirm(owner.address, 2, owner)
    expect(await refusal(bySomebody)).toEqual([403, 'not_pay_to'])
    const forged = { ...(await confirm(owner.address)), signature: bySomebody.signature }
    expect(await refusal(forged)).toEqual([401, 'invalid_signature'])
    expect(await refusal(await confirm(other.address))).toEqual([400, 'invalid_listing'])
    const request = await confirm(owner.address)
    expect((await send(directory, request)).statusCode).toBe(200)
    expect(await refusal(request)).toEqual([409, 'replayed_nonce'])
    expect(await refusal(await confirm(owner.address))).toEqual([409, 'stale_revision'])
  })
})

describe('a deleted merchant', () => {
  it('is gone, keeps its id for its owner, and goes on in its revisions', async () => {
    await create()
    const deletion = { action: 'listing.delete', body: {}, message: { revision: 2 } } as const
    expect((await send(directory, await aSignedWrite(owner, deletion))).statusCode).toBe(200)
    const read = await directory.app.inject('/api/merchants/weather')
    expect(read.statusCode).toBe(410)
    expect(read.json()).toMatchObject({ error: 'merchant_deleted', details: { revision: 2 } })
    const again = { ...deletion, message: { revision: 3 } }
    expect(await refusal(await aSignedWrite(owner, again))).toEqual([410, 'merchant_deleted'])
    const taken = await aSignedWrite(other, { message: { revision: 3 } })
    expect(await refusal(taken)).toEqual([403, 'not_owner'])
    const back = await aSignedWrite(owner, { message: { revision: 3 } })
    expect((await send(directory, back)).statusCode).toBe(201)
  })
})

describe('an agent', () => {
  const link = (agentId: unknown, revision = 2) =>
    aSignedWrite(owner, { action: 'agent.link', body: { agentId }, message: { revision } })

  it('is linked by its number, zero too, and unlinked', async () => {
    await create()
    expect((await send(directory, await link('0'))).json().agentId).toBe('0')
    expect((await send(directory, await link(null, 3))).json().agentId).toBeNull()
  })

  it('is looked up in its registry right after it was linked', async () => {
    const idle = await startDirectory({ isIdle: true })
    const asked = vi.spyOn(idle.chain.rpc, 'batch')
    await send(idle, await aSignedWrite(owner))
    await new Promise(setImmediate)
    expect(asked).not.toHaveBeenCalled()
    await send(idle, await link('7'))
    await vi.waitFor(() => expect(asked).toHaveBeenCalled(), 15_000)
    await idle.close()
  })

  it.each(['', '-1', '01', '0x1', '1e3', 1, (2n ** 256n).toString()])(
    'is not linked as %j',
    async (agentId) => {
      await create()
      expect(await refusal(await link(agentId))).toEqual([400, 'invalid_listing'])
    },
  )
})

describe('a contract wallet', () => {
  const wallet = '0x2222222222222222222222222222222222222222'
  const asWallet = (message = {}) => aSignedWrite(other, { message: { owner: wallet, ...message } })

  it('owns a listing when its code accepts the signature, and is asked each time', async () => {
    const asked: unknown[] = []
    directory.chain.isContractSignature = async (claim) => asked.push(claim) > 0
    const request = await asWallet()
    expect((await send(directory, request)).json().owner).toBe(wallet)
    expect(asked).toEqual([
      {
        address: wallet,
        signature: request.signature,
        hash: hashTypedData(listingTypedData(chainId, toListingWrite(request.message))),
      },
    ])
    directory.chain.isContractSignature = async () => false
    const next = await aSignedWrite(other, {
      action: 'listing.update',
      message: { owner: wallet, revision: 2 },
    })
    expect(await refusal(next)).toEqual([401, 'invalid_signature'])
  })

  it('is not asked when the key of the address signed', async () => {
    directory.chain.isContractSignature = async () => {
      throw new Error('asked')
    }
    await create()
  })

  it('gets a 503 while the chain cannot be asked', async () => {
    directory.chain.isContractSignature = async () => {
      throw new RpcUnavailableError('no node')
    }
    expect(await refusal(await asWallet())).toEqual([503, 'chain_unavailable'])
  })
})

describe('the history', () => {
  async function writeThree() {
    await create()
    const update = { action: 'listing.update', message: { revision: 2 } } as const
    await send(directory, await aSignedWrite(owner, update))
    const offer = { action: 'owner.offer', body: { to: other.address }, message: { revision: 3 } }
    await send(directory, await aSignedWrite(owner, offer as never))
  }

  it('lets anybody verify every signed write again', async () => {
    await writeThree()
    const { entries, domain, next } = (
      await directory.app.inject('/api/merchants/weather/history')
    ).json()
    expect(next).toBeNull()
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'listing.create',
      'listing.update',
      'owner.offer',
    ])
    for (const { message, body, signature } of entries) {
      expect(hashBody(body)).toBe(message.bodyHash)
      const signed = {
        domain,
        types: listingWriteTypes,
        primaryType: LISTING_PRIMARY_TYPE,
        message,
      }
      expect(await recoverTypedDataAddress({ ...signed, signature } as never)).toBe(owner.address)
    }
  })

  it('is read in pages that make up the whole', async () => {
    await writeThree()
    const first = (await directory.app.inject('/api/merchants/weather/history?limit=2')).json()
    expect([first.entries.length, first.next]).toEqual([2, 2])
    const rest = (
      await directory.app.inject('/api/merchants/weather/history?after=2&limit=2')
    ).json()
    expect([rest.entries.length, rest.next]).toEqual([1, null])
    const exact = (await directory.app.inject('/api/merchants/weather/history?limit=3')).json()
    expect([exact.entries.length, exact.next]).toEqual([3, null])
  })

  it.each([
    ['limit=0', 'limit must be an integer from 1 on; above 100 it counts as 100'],
    ['after=-1', 'after must be'],
    ['after=1&after=2', 'after must be'],
  ])('names the wrong parameter and its limit: %s', async (query, message) => {
    const response = await directory.app.inject(`/api/merchants/weather/history?${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json().message).toContain(message)
  })

  it('of an id that was never used is a 404', async () => {
    const response = await directory.app.inject('/api/merchants/nobody/history')
    expect([response.statusCode, response.json().error]).toEqual([404, 'merchant_not_found'])
  })
})

describe('GET /api/signing', () => {
  it('answers everything that a client needs', async () => {
    const response = await directory.app.inject('/api/signing')
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.json()).toMatchObject({
      domain: { name: 'Arcus', version: '1', chainId: 5042 },
      primaryType: 'ListingWrite',
      types: { ListingWrite: listingWriteTypes.ListingWrite },
      audience: directoryUrl,
      network: 'eip155:5042',
      asset: '0x3600000000000000000000000000000000000000',
      time: { now: startSeconds, skewSeconds: 60, maxDeadlineSeconds: 600 },
      limits: { name: { maxChars: 60 }, endpoints: { max: 100 } },
    })
    expect(Object.keys(response.json().actions)).toEqual([...listingActions])
  })
})

it('saves take turns by the block of addresses that they come from', async () => {
  const inputSchema = { type: 'object', description: 'x'.repeat(1_500) }
  const url = (i: number) => `https://api.example.com/${i}`
  const endpoints = Array.from({ length: 100 }, (_, i) => anEndpoint({ url: url(i), inputSchema }))
  // Refused once it is read: that work is what it takes from others.
  const large = { body: aListing({ endpoints, name: '' }), message: { merchantId: 'large' } }
  const crowd = await Promise.all(
    Array.from({ length: 30 }, () => aSignedWrite(anAccount(), large)),
  )
  const honest = await aSignedWrite(owner)
  const answered: string[] = []
  const save = async (from: string, id: string, payload: SignedRequest) => {
    const remoteAddress = from
    const path = `/api/merchants/${id}`
    const { statusCode } = await directory.app.inject({
      method: 'PUT',
      url: path,
      payload,
      remoteAddress,
    })
    answered.push(`${from} ${statusCode}`)
  }
  const all = crowd.map((it, i) => save(`192.0.2.${i}`, 'large', it))
  await Promise.all([...all, save('198.51.100.1', 'weather', honest)])
  expect(answered).toHaveLength(31)
  expect(answered.indexOf('198.51.100.1 201')).toBeGreaterThanOrEqual(0)
  expect(answered.indexOf('198.51.100.1 201')).toBeLessThan(10)
})
