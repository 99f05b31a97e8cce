import type { ServerResponse } from 'node:http'
import { createArcusClient } from '@arcus/client'
import { ArcusError } from '@arcus/client/calls'
import type { PayOptions } from '@arcus/client/pay'
import { x402 } from '@arcus/merchant'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../../src/devnet/fixtures.js'
import { startServer } from '../../support/a-server.js'
import { startWorld, type World } from '../../support/arcus.js'

let world: World
let shop: FastifyInstance
let shopUrl: string
let arcus: ReturnType<typeof createArcusClient>

const owner = devnetMerchant
/** Everything that the payer was asked to sign. */
const signed: unknown[] = []
const signer: PayOptions['signer'] = {
  address: devnetPayer.address,
  signTypedData(typedData) {
    signed.push(typedData)
    return devnetPayer.account.signTypedData(typedData as never)
  },
}

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  shop = fastify()
  await shop.register(x402, { facilitator: world.url, payTo: owner.address })
  shop.get('/weather', { config: { x402: '$0.01' } }, ({ query }) => query)
  shop.post('/summary', { config: { x402: '$0.02' } }, ({ body }) => body)
  shopUrl = await shop.listen({ port: 0, host: '127.0.0.1' })
  arcus = createArcusClient({ url: world.url })
  await list('weather-house')
})
afterAll(async () => {
  await shop.close()
  await world.stop()
})
beforeEach(() => {
  signed.length = 0
})

function list(id: string) {
  // The service was told no public name, so it goes by the default one.
  const audience = `http://localhost:${new URL(world.url).port}`
  return arcus.listings(owner.account, { audience }).save(id, {
    name: id,
    payTo: owner.address,
    endpoints: [
      {
        url: `${shopUrl}/weather`,
        method: 'GET',
        title: 'Weather of a city',
        price: '10000',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
      },
      { url: `${shopUrl}/summary`, method: 'POST', title: 'Summary of a text', price: '20000' },
    ],
  })
}

async function errorOf(promise: Promise<unknown>): Promise<ArcusError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ArcusError)
  return error as ArcusError
}

const maxAmount = '10000'

describe('the client', () => {
  it('finds an endpoint, describes it, pays for it, and sees the payment', async () => {
    const { resources } = await arcus.find('weather city')
    expect(resources.map(({ resource }) => resource)).toEqual([`${shopUrl}/weather`])
    const { item, state } = await arcus.describe(resources[0] as (typeof resources)[0])
    expect(item.metadata.inputSchema).toMatchObject({ properties: { city: { type: 'string' } } })
    expect(state.status).toBe('live')

    const balance = () => usdcBalance(world.chainUrl, owner.address)
    const before = await balance()
    const queryParams = { city: 'Porto & Gaia', day: [1, 2] }
    const paid = await arcus.pay(item, { signer, maxAmount, queryParams })
    expect(paid.response.status).toBe(200)
    expect(await paid.response.json()).toEqual({ city: 'Porto & Gaia', day: ['1', '2'] })
    expect((await balance()) - before).toBe(10_000n)
    expect(paid.amount).toBe(10_000n)

    const path = paid.payment as { network: string; payer: string; nonce: string }
    const payment = await arcus.call('GET /payments/{network}/{payer}/{nonce}', { path })
    expect(payment).toMatchObject({ state: 'confirmed', transaction: paid.settlement?.transaction })
  })

  it('sees paid calls on the badge of the merchant', async () => {
    const path = { merchant: 'weather-house' }
    const badge = () => arcus.call('GET /badge/{merchant}.svg', { path })
    // Activity is recorded after the answer.
    await expect.poll(badge, { timeout: 20_000 }).toContain('live · 1 paid call<')
  })

  it('pays for a POST by its address alone', async () => {
    const body = { text: 'long' }
    const options = { signer, maxAmount: 20_000n, body }
    const { response, amount } = await arcus.pay(`${shopUrl}/summary`, options)
    expect([response.status, await response.json(), amount]).toEqual([200, body, 20_000n])
  })

  it('describes an endpoint by name, and says what is not listed', async () => {
    const name = { merchant: 'weather-house', url: `${shopUrl}/summary`, method: 'POST' }
    expect((await arcus.describe(name)).item.resource).toBe(name.url)
    const error = await errorOf(arcus.describe({ ...name, method: 'GET' }))
    expect(error).toMatchObject({ code: 'not_found', status: 404 })
    expect(await errorOf(arcus.describe({ ...name, merchant: 'nobody' }))).toMatchObject({
      code: 'merchant_not_found',
    })
  })

  it('calls any route, with types from the description, and rejects with its refusal', async () => {
    const { kinds } = await arcus.call('GET /supported')
    expect(kinds.map(({ scheme }) => scheme)).toContain('exact')
    const text: string = await arcus.call('GET /api/merchants/{id}/llms.txt', {
      path: { id: 'weather-house' },
    })
    expect(text).toContain('Weather of a city')
    const query = { limit: 0 }
    const error = await errorOf(arcus.call('GET /discovery/resources', { query }))
    expect(error).toMatchObject({ code: 'invalid_request', status: 400 })
    expect(error.message).toContain('limit')
    // @ts-expect-error: there is no such route
    expect(await errorOf(arcus.call('GET /nothing'))).toMatchObject({ code: 'not_found' })
    // @ts-expect-error: the id is required
    const missing = arcus.call('GET /api/merchants/{id}', {})
    expect(await errorOf(missing)).toMatchObject({ status: 404 })
    const nowhere = createArcusClient({ url: 'http://127.0.0.1:9/' })
    expect(await errorOf(nowhere.find('weather'))).toMatchObject({ code: 'unreachable', status: 0 })
  })

  it('reads the refusals of verify and settle, which have a form of their own', async () => {
    const error = await errorOf(arcus.call('POST /verify', { body: {} as never }))
    expect(error.status).toBe(400)
    expect(error.code).toMatch(/^invalid_/)
  })
})

describe('pay', () => {
  it('refuses to pay without a limit, before it calls anybody', async () => {
    for (const wrong of [undefined, 0.01, 10_000, '0.01', '0', 0n, -1n, '-1', '']) {
      const options = { signer, maxAmount: wrong as never }
      const error = await errorOf(arcus.pay('http://127.0.0.1:9/', options))
      expect([wrong, error.code]).toEqual([wrong, 'no_limit'])
    }
  })

  it.each([
    ['another scheme than http', 'ftp://127.0.0.1/', {}],
    ['no address', 'weather', {}],
    ['a GET with a body', 'http://127.0.0.1:9/', { method: 'get', body: {} }],
    ['a form of a text', 'http://127.0.0.1:9/', { body: 'a', bodyType: 'form-data' as const }],
  ])('calls nobody for %s', async (_, url, call) => {
    const error = await errorOf(arcus.pay(url, { signer, maxAmount, ...call }))
    expect(error.code).toBe('not_payable')
  })

  it('signs nothing above the limit', async () => {
    const error = await errorOf(arcus.pay(`${shopUrl}/weather`, { signer, maxAmount: '9999' }))
    expect(error).toMatchObject({ code: 'too_dear', status: 402 })
    expect(error.message).toBe('The seller asks for 10000, and the limit is 9999.')
    expect(signed).toEqual([])
  })

  it('says why a payment was refused', async () => {
    const { privateKeyToAccount } = await import('viem/accounts')
    const poor = privateKeyToAccount(`0x${'11'.repeat(32)}`)
    const paid = await arcus.pay(`${shopUrl}/weather`, { signer: poor, maxAmount })
    expect(paid.response.status).toBe(402)
    expect(paid.refusal).toBe('invalid_exact_evm_insufficient_balance')
  })
})

/** A seller that answers as it likes, until the end of the test. */
async function aSeller(answer: (call: number, response: ServerResponse) => void) {
  let calls = 0
  const { url, close } = await startServer((_request, response) => answer(calls++, response))
  onTestFinished(close)
  return { url: `${url}/`, calls: () => calls }
}

const offer = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '10000',
  asset: devnetContracts.usdc,
  payTo: devnetMerchant.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}
const by = (assetTransferMethod: string) => ({
  ...offer,
  extra: { ...offer.extra, assetTransferMethod },
})
const asking = (required: unknown) => ({
  'payment-required': Buffer.from(JSON.stringify(required)).toString('base64'),
})
const offering = (...accepts: unknown[]) =>
  asking({ x402Version: 2, resource: { url: '/' }, accepts })

describe('a hostile seller', () => {
  it.each([
    ['no terms', {}],
    ['terms that are no JSON', { 'payment-required': '%%%' }],
    ['terms of nothing', asking(null)],
    ['terms without offers', asking({ x402Version: 2, accepts: 7 })],
    ['offers that are none', offering(null, 7, 'free', [])],
    ['another version', asking({ x402Version: 1, accepts: [offer] })],
    ['another network', offering({ ...offer, network: 'eip155:1' })],
    ['another token', offering({ ...offer, asset: devnetMerchant.address })],
    ['euros', offering({ ...offer, asset: devnetContracts.eurc, extra: { name: 'EURC' } })],
    ['another scheme', offering({ ...offer, scheme: 'batch-settlement' })],
    ['a scheme without its settler', offering({ ...offer, scheme: 'upto' })],
    ['a method that nobody knows', offering(by('other'))],
    ['a token without a domain', offering({ ...offer, extra: { name: 'USDC' } })],
    ['a payee that is none', offering({ ...offer, payTo: 'me' })],
    ['an authorization that is over', offering({ ...offer, maxTimeoutSeconds: 0 })],
    ['an authorization for a year', offering({ ...offer, maxTimeoutSeconds: 31_536_000 })],
    ['a time that is a text', offering({ ...offer, maxTimeoutSeconds: '9' })],
    ['an amount in dollars', offering({ ...offer, amount: '0.01' })],
    ['an amount below nothing', offering({ ...offer, amount: '-10000' })],
    ['an amount that is a number', offering({ ...offer, amount: 10_000 })],
  ])('gets no signature for %s', async (_, headers) => {
    const seller = await aSeller((_call, response) => response.writeHead(402, headers).end('{}'))
    const error = await errorOf(arcus.pay(seller.url, { signer, maxAmount }))
    expect([error.code, signed, seller.calls()]).toEqual(['not_payable', [], 1])
  })

  it('gets the cheapest of its offers, whatever their order', async () => {
    const headers = offering({ ...offer, amount: '9000' }, { ...offer, amount: '80' }, offer)
    const seller = await aSeller((call, response) =>
      response.writeHead(call === 0 ? 402 : 200, headers).end(),
    )
    expect((await arcus.pay(seller.url, { signer, maxAmount })).amount).toBe(80n)
  })

  it.each([
    ['at an address', { payTo: devnetPayer.address }, {}],
    ['in a token', { asset: devnetContracts.eurc }, { asset: 'EURC' as const }],
    ['on a network', { network: 'eip155:5042002' }, { network: 'eip155:5042002' as const }],
  ])('is not paid %s that its listing does not name', async (_, wish, wanted) => {
    const { resources } = await arcus.find('weather city')
    const headers = offering({ ...offer, ...wish })
    const seller = await aSeller((_call, response) => response.writeHead(402, headers).end())
    const item = { ...(resources[0] as (typeof resources)[0]), resource: seller.url }
    const error = await errorOf(arcus.pay(item, { signer, maxAmount, ...wanted }))
    expect([error.code, signed]).toEqual(['not_as_listed', []])
  })

  it('cannot hand the call or the payment on to another address', async () => {
    const away = { location: `${shopUrl}/weather` }
    const first = await aSeller((_, response) => response.writeHead(307, away).end())
    const early = await errorOf(arcus.pay(first.url, { signer, maxAmount }))
    expect([early.code, early.details, signed]).toEqual(['redirected', undefined, []])
    const second = await aSeller((call, response) =>
      response.writeHead(call === 0 ? 402 : 307, { ...offering(offer), ...away }).end(),
    )
    const late = await errorOf(arcus.pay(second.url, { signer, maxAmount }))
    expect(late).toMatchObject({ code: 'redirected', details: { payer: devnetPayer.address } })
    expect(late.message).toMatch('leads to another address')
  })

  it('that takes the payment and hangs up leaves the name of the payment', async () => {
    const seller = await aSeller((call, response) => {
      if (call === 0) response.writeHead(402, offering(offer)).end()
      else response.destroy()
    })
    const error = await errorOf(arcus.pay(seller.url, { signer, maxAmount }))
    const { payer: from, nonce } = error.details as { payer: string; nonce: string }
    expect([error.code, from]).toEqual(['unreachable', devnetPayer.address])
    expect(signed).toMatchObject([{ message: { nonce } }])
  })

  it('that asks for nothing is not paid, and one that says nonsense of a settlement is not believed', async () => {
    const free = await aSeller((_, response) => response.end('free'))
    const given = await arcus.pay(free.url, { signer, maxAmount })
    expect([given.amount, await given.response.text(), signed]).toEqual([0n, 'free', []])
    const seller = await aSeller((call, response) =>
      response
        .writeHead(call === 0 ? 402 : 200, { ...offering(offer), 'payment-response': '%' })
        .end(),
    )
    const paid = await arcus.pay(seller.url, { signer, maxAmount })
    expect([paid.response.status, paid.settlement, paid.amount]).toEqual([200, undefined, 10_000n])
  })
})

describe('watch', () => {
  it('gives the whole catalog, then each change, through an outage, until it is stopped', async () => {
    const stopping = new AbortController()
    let outages = 2
    const watched = createArcusClient({
      url: world.url,
      fetch: (url, init) =>
        outages-- === 1 ? Promise.reject(new Error('gone')) : fetch(url, init),
    })
    const pages = watched.watch({ signal: stopping.signal, pauseSeconds: 0.05 })
    const first = await pages.next()
    expect(first.value.changes.map(({ merchant }) => merchant)).toContain('weather-house')
    await list('second-house')
    const next = await pages.next()
    expect(next.value.changes).toMatchObject([{ merchant: 'second-house', removed: false }])
    expect(next.value.next).toBeGreaterThan(first.value.next)

    const idle = pages.next()
    stopping.abort(new Error('enough'))
    await expect(idle).rejects.toThrow('enough')

    const later = watched.watch({ since: first.value.next })
    expect((await later.next()).value.changes).toHaveLength(1)
    await later.return(undefined as never)
  })

  it('begins again where the service knows its number no more, and says so', async () => {
    const pages = arcus.watch({ since: 1_000_000 })
    const { value } = await pages.next()
    expect([value.resync, value.changes.map(({ merchant }) => merchant)]).toEqual([
      true,
      expect.arrayContaining(['weather-house', 'second-house']),
    ])
    await pages.return(undefined as never)
  })

  const nothing = { x402Version: 2, changes: [], next: 7 }
  it.each([
    ['is away', 60, () => Promise.reject(new Error('gone'))],
    [
      'has no change and does not wait',
      15,
      async () => Response.json({ ...nothing, hasMore: false }),
    ],
    [
      'says that there is more and gives nothing',
      15,
      async () => Response.json({ ...nothing, hasMore: true }),
    ],
  ])(
    'asks a service that %s less and less often, and every %i s at least',
    async (_, most, answer) => {
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const asked: number[] = []
      const idle = createArcusClient({
        url: world.url,
        fetch: () => {
          asked.push(Date.now())
          return answer()
        },
      })
      const stopping = new AbortController()
      const ended = expect(idle.watch({ signal: stopping.signal }).next()).rejects.toThrow('enough')
      await vi.advanceTimersByTimeAsync(600_000)
      stopping.abort(new Error('enough'))
      await ended
      const pauses = asked.slice(1).map((at, i) => (at - (asked[i] as number)) / 1_000)
      expect(pauses.length).toBeGreaterThan(12)
      for (const [i, pause] of pauses.entries()) {
        const longest = Math.min(2 ** i, most)
        expect(pause).toBeLessThanOrEqual(longest + 0.01)
        expect(pause).toBeGreaterThanOrEqual(longest * 0.74)
      }
    },
  )

  it('ends with a refusal that does not pass', async () => {
    for (const since of [-1, 0.5]) {
      expect(await errorOf(arcus.watch({ since }).next())).toMatchObject({ status: 400 })
    }
  })

  it('reports a change within a second, also right after another, and goes on after a restart', async () => {
    const stopping = new AbortController()
    const seen: string[] = []
    let heard = () => {}
    const watching = (async () => {
      const { next } = await arcus.call('GET /discovery/changes', { query: { limit: 100 } })
      for await (const { changes } of arcus.watch({ since: next, signal: stopping.signal })) {
        seen.push(...changes.map(({ merchant, sequence }) => `${merchant} ${sequence}`))
        heard()
      }
    })()
    const tellsOf = async (count: number) => {
      if (seen.length < count) await new Promise<void>((resolve) => (heard = resolve))
      expect(seen).toHaveLength(count)
    }
    for (const count of [1, 2]) {
      await list('quick-house')
      const savedAt = performance.now()
      await tellsOf(count)
      expect(performance.now() - savedAt).toBeLessThan(1_000)
    }
    await world.stopService()
    await world.startService()
    await list('later-house')
    await tellsOf(3)
    expect(new Set(seen).size).toBe(3)
    expect(seen[2]).toContain('later-house')
    const stoppedAt = performance.now()
    stopping.abort(new Error('enough'))
    await expect(watching).rejects.toThrow('enough')
    expect(performance.now() - stoppedAt).toBeLessThan(200)
  })
})
