import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type AutoCatalog,
  type AutoCatalogOptions,
  createAutoCatalog,
} from '../../../../src/directory/auto-catalog/auto-catalog.js'
import { unclaimedLimits } from '../../../../src/directory/auto-catalog/place.js'
import { createSchemaCheck } from '../../../../src/directory/schema-check.js'
import type { ListingStore } from '../../../../src/store/listings.js'
import { anEndpoint, asset, openListings, payTo } from '../listed-merchants.js'
import {
  aRequirement,
  aSettledPayment,
  getInfo,
  getSchema,
  id,
  network,
  querySchema,
  url,
} from './an-offer.js'

const other: Address = '0x2222222222222222222222222222222222222222'

let listings: ReturnType<typeof openListings>
let store: ListingStore
let schemaCheck: ReturnType<typeof createSchemaCheck>
let catalog: AutoCatalog
let clock = 1_000_000_000
const changed: string[] = []
const logged: object[] = []

function open(over: Partial<AutoCatalogOptions> = {}): AutoCatalog {
  catalog = createAutoCatalog({
    store,
    networks: new Map([[network, { asset }]]),
    schemaCheck,
    targetRules: { allowPrivateHosts: false, ownOrigins: ['https://pay.example.com'] },
    isPayToBlocked: (address) => address === other,
    now: () => clock,
    log: { info: (details) => logged.push(details), warn: (details) => logged.push(details) },
    onChange: (merchantId) => changed.push(merchantId),
    ...over,
  })
  return catalog
}

beforeAll(() => {
  schemaCheck = createSchemaCheck()
})

afterAll(() => schemaCheck.close())

beforeEach(() => {
  clock = 1_000_000_000
  changed.length = 0
  logged.length = 0
  listings = openListings()
  store = listings.store
  open()
})

afterEach(async () => {
  await catalog.stop()
  await listings.close()
})

/** Offers, and waits until it has become an entry or a reason. */
async function offer(payment = aSettledPayment()) {
  const first = catalog.offer(payment)
  for (let waited = 0; waited < 400; waited++) {
    const status = catalog.offer(payment)
    if (status?.status !== 'processing') return { first, later: status }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the offer was never judged')
}

async function reasonOf(payment = aSettledPayment()): Promise<string> {
  const { later } = await offer(payment)
  return later?.status === 'rejected' ? later.rejectedReason : `${later?.status}`
}

const entries = () => store.scanEntries(0, 1_000)

async function theEntry() {
  const [entry, ...more] = await entries()
  if (entry === undefined || more.length > 0) throw new Error('there is not just one entry')
  return entry
}

describe('a settled payment with a bazaar extension', () => {
  it('adds an unclaimed resource, unverified and due for a look', async () => {
    const { first, later } = await offer()
    expect(first).toEqual({ status: 'processing' })
    expect(later).toEqual({ status: 'success' })
    const { endpoint, merchant } = await theEntry()
    expect(merchant).toMatchObject({
      id,
      owner: null,
      name: 'api.example.com',
      payTo,
      asset,
      network,
    })
    expect(endpoint).toMatchObject({
      url,
      method: 'GET',
      title: 'GET /v1/weather',
      description: 'By city',
      pricing: 'fixed',
      price: 10_000n,
      example: { queryParams: { city: 'Lisbon' } },
      inputSchema: querySchema,
      output: { type: 'json', example: { celsius: 21 } },
      status: 'unverified',
      probe: null,
      nextProbeAt: clock / 1000,
      lastUpdated: clock / 1000,
      extras: { extensions: { bazaar: { info: getInfo, schema: getSchema } } },
    })
    expect(endpoint.accepts).toMatchObject([{ scheme: 'exact', network, amount: '10000' }])
    expect(changed).toEqual([id])
    expect(await store.dueEndpoints(clock / 1000, 10)).toHaveLength(1)
  })

  it('is one entry however often and with whatever query it is called', async () => {
    await offer()
    await offer(aSettledPayment({ resource: { url: `${url}?city=Faro#x` } }))
    expect(await entries()).toHaveLength(1)
  })

  it('writes nothing when the very same resource is paid again within a minute', async () => {
    await offer()
    const before = await store.lastChange()
    for (let n = 0; n < 20; n++) {
      expect(catalog.offer(aSettledPayment())).toEqual({ status: 'success' })
    }
    expect(await store.lastChange()).toBe(before)
  })

  it('moves lastUpdated when what is published changes, and not by a mere repeat', async () => {
    await offer()
    clock += 120_000
    await offer()
    expect((await theEntry()).endpoint.lastUpdated).toBe(1_000_000)
    await offer(aSettledPayment({ resource: { description: 'By city and day' } }))
    expect((await theEntry()).endpoint).toMatchObject({
      description: 'By city and day',
      lastUpdated: 1_000_120,
    })
  })

  it('says nothing about a payment without one', () => {
    expect(
      catalog.offer(aSettledPayment({ settled: { payload: { x402Version: 2 } } })),
    ).toBeUndefined()
  })

  it('lists a POST with its body, and a route under its template', async () => {
    const input = { type: 'http', method: 'POST', bodyType: 'json', body: { city: 'Lisbon' } }
    const bazaar = { info: { input }, schema: { type: 'object' }, routeTemplate: '/v1/:city' }
    expect(await reasonOf(aSettledPayment({ bazaar }))).toBe('success')
    expect((await theEntry()).endpoint).toMatchObject({
      url: 'https://api.example.com/v1/:city',
      method: 'POST',
      example: { body: { city: 'Lisbon' } },
      inputSchema: null,
    })
  })

  it('ignores a route template that climbs', async () => {
    await offer(aSettledPayment({ bazaar: { routeTemplate: '/%252e%252e/admin' } }))
    expect((await theEntry()).endpoint.url).toBe(url)
  })
})

describe('what is no entry', () => {
  it.each([
    ['a tool', { bazaar: { info: { input: { type: 'mcp' } } } }, /MCP tools/],
    ['another payTo accepted', { accepted: { payTo: other } }, /must agree/],
    ['another amount accepted', { accepted: { amount: '1' } }, /must agree/],
    ['another asset accepted', { accepted: { asset: other } }, /must agree/],
    ['another network accepted', { accepted: { network: 'eip155:1' } }, /must agree/],
    ['nothing accepted', { accepted: { payTo: null } }, /must agree/],
    ['requirements of another payment', { settled: { amount: 9n } }, /must agree/],
    ['a payTo the operator blocks', { requirement: { payTo: other } }, /payTo is not listed here/],
    [
      'a network not listed',
      { requirement: { network: 'eip155:5042002' } },
      /eip155:5042002 are not/,
    ],
    ['a private address', { resource: { url: 'https://127.0.0.1/x' } }, /not one of the public/],
    ['a spelling of one', { resource: { url: 'https://0x7f.1/x' } }, /not one of the public/],
    ['plain http', { resource: { url: 'http://api.example.com/x' } }, /Only https/],
    [
      'the service itself',
      { resource: { url: 'https://pay.example.com/x' } },
      /back to this service/,
    ],
  ])('%s', async (_, wish, reason) => {
    const status = catalog.offer(aSettledPayment(wish))
    expect(status).toMatchObject({
      status: 'rejected',
      rejectedReason: expect.stringMatching(reason),
    })
    expect(await entries()).toEqual([])
  })

  it('accepted by another spelling of the same address is the same', async () => {
    expect(
      await reasonOf(
        aSettledPayment({ accepted: { payTo: payTo.toUpperCase().replace('X', 'x') } }),
      ),
    ).toBe('success')
  })

  it.each([
    [
      'info that its schema refuses',
      { info: { input: { ...getInfo.input, queryParams: {} } } },
      /does not match its schema: .*city/,
    ],
    ['a schema that does not compile', { schema: { type: 'nonsense' } }, /schema cannot be used/],
    [
      'a schema of another dialect',
      { schema: { $schema: 'http://json-schema.org/draft-07/schema#' } },
      /2020-12/,
    ],
    ['an asynchronous schema', { schema: { $async: true } }, /\$async/],
  ])(
    '%s: the first payment hears that it is looked at, the next one why not',
    async (_, bazaar, reason) => {
      const { first, later } = await offer(aSettledPayment({ bazaar }))
      expect(first).toEqual({ status: 'processing' })
      expect(later).toMatchObject({
        status: 'rejected',
        rejectedReason: expect.stringMatching(reason),
      })
      expect(await entries()).toEqual([])
      expect(logged).toHaveLength(1)
    },
  )

  it('is told at once when it was judged while the payment was under way', async () => {
    const payment = aSettledPayment({ bazaar: { schema: { type: 'array' } } })
    catalog.prepare(payment.payload)
    await schemaCheck.check({}, {})
    expect(catalog.offer(payment)).toMatchObject({ status: 'rejected' })
  })

  it('is a schema made to take for ever, which holds up nobody', async () => {
    const evil = {
      properties: { input: { properties: { method: { pattern: '^(([a-zA-Z])+)+$' } } } },
    }
    const input = { type: 'http', method: 'GET', queryParams: { a: 1 } }
    const slow = {
      info: { input, note: `${'a'.repeat(60)}!` },
      schema: { ...evil, propertyNames: {}, additionalProperties: { pattern: '^(([a-zA-Z])+)+$' } },
    }
    // The thread starts with the first question it is asked.
    await schemaCheck.check({}, {})
    let longestMs = 0
    let last = performance.now()
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last)
      last = performance.now()
    }, 5)
    expect(await reasonOf(aSettledPayment({ bazaar: slow }))).toMatch(/too long/)
    clearInterval(timer)
    expect(longestMs).toBeLessThan(250)
  })
})

describe('hostile text', () => {
  it('loses what cannot be seen or turns text around, in every field', async () => {
    const evil = 'a\u202eb\u0000c\u200bd\u{e0041}e'
    const payment = aSettledPayment({
      resource: { description: `<script>${evil}`, serviceName: evil, tags: [evil, 'ok'] },
      bazaar: {
        info: { input: { type: 'http', method: 'GET', queryParams: { city: evil, __proto__: 1 } } },
        schema: {
          type: 'object',
          properties: {
            input: { properties: { queryParams: { properties: { city: { description: evil } } } } },
          },
        },
      },
    })
    expect(await reasonOf(payment)).toBe('success')
    const entry = await theEntry()
    const text = JSON.stringify(entry, (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    expect(text).not.toMatch(/[\u0000-\u001f\u200b\u202e]|\\u|\u{e0041}/u)
    expect(entry.merchant.name).toBe('api.example.com')
    expect(entry.endpoint).toMatchObject({ tags: ['ok'], description: '<script>a b cd e' })
  })

  it('leaves out an example or a schema past the limits of listings, and keeps the entry', async () => {
    const long = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, 'x']))
    const bazaar = {
      info: { input: { type: 'http', method: 'GET', queryParams: long } },
      schema: {},
    }
    expect(await reasonOf(aSettledPayment({ bazaar }))).toBe('success')
    expect((await theEntry()).endpoint.example).toEqual({ queryParams: {} })
  })

  it('never throws, whatever a payload is', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
        getOwnPropertyDescriptor: () => {
          throw new Error('no')
        },
      },
    )
    expect(catalog.offer(aSettledPayment({ settled: { payload: hostile } }))).toMatchObject({
      status: 'rejected',
    })
    for (const payload of [null, 7, 'x', [], { extensions: [] }]) {
      expect(catalog.offer(aSettledPayment({ settled: { payload } }))).toBeUndefined()
    }
  })
})

describe("an owner's listing", () => {
  it('stays as it is when the same URL and method are paid', async () => {
    await listings.list('weather')
    const before = await entries()
    expect(await reasonOf()).toBe('its owner lists this URL.')
    expect(await entries()).toEqual(before)
  })

  it('takes the place of what was found, and keeps it', async () => {
    await offer()
    await listings.write(
      id,
      {
        kind: 'save',
        merchant: { name: 'Mine', description: '', network, asset, payTo },
        endpoints: [anEndpoint({ url: 'https://api.example.com/other' })],
      },
      payTo,
    )
    clock += 120_000
    expect(await reasonOf()).toMatch(/owner of this payTo/)
    expect((await theEntry()).endpoint.url).toBe('https://api.example.com/other')
  })

  it('that the operator hides keeps its payTo out altogether', async () => {
    await listings.list('weather', [anEndpoint({ url: 'https://api.example.com/other' })])
    await store.setFlags('weather', { hiddenReason: 'Fraud' }, 1)
    expect(await reasonOf()).toMatch(/operator hides/)
    expect(await store.findMerchant(id)).toBeUndefined()
  })
})

describe('what the endpoint itself answered', () => {
  const live = { verdict: 'live', message: '', warnings: [], seen: {}, checkedAt: 1_000_000 }

  async function seenLive(accepts = [aRequirement()]) {
    await offer()
    const { endpoint } = await theEntry()
    const health = {
      accepts,
      status: 'live',
      probe: live,
      failures: 0,
      nextProbeAt: 2_000_000,
    } as const
    await store.saveProbe(endpoint.id, health, 1_000_000)
    clock += 120_000
  }

  it('stands when the same resource is paid again', async () => {
    await seenLive()
    expect(await reasonOf(aSettledPayment({ resource: { description: 'New words' } }))).toBe(
      'success',
    )
    expect((await theEntry()).endpoint).toMatchObject({
      description: 'New words',
      status: 'live',
      probe: live,
      nextProbeAt: 2_000_000,
    })
  })

  it('stands against a payment on other terms, which only brings the next look forward', async () => {
    await seenLive([aRequirement({ amount: '20000' })])
    expect(await reasonOf(aSettledPayment({ resource: { description: 'Defaced' } }))).toMatch(
      /other terms/,
    )
    expect((await theEntry()).endpoint).toMatchObject({
      description: 'By city',
      accepts: [{ amount: '20000' }],
      status: 'live',
      nextProbeAt: 1_000_600,
    })
  })

  it('keeps other payTos from its URL', async () => {
    await seenLive()
    const squatter = '0x4444444444444444444444444444444444444444'
    expect(await reasonOf(aSettledPayment({ requirement: { payTo: squatter } }))).toMatch(
      /names another payTo/,
    )
    expect(await entries()).toHaveLength(1)
  })
})

describe('growth', () => {
  const at = (n: number) => aSettledPayment({ resource: { url: `https://api.example.com/${n}` } })

  it('is bounded for one payTo', async () => {
    for (let n = 0; n < unclaimedLimits.perPayTo; n++) expect(await reasonOf(at(n))).toBe('success')
    expect(await reasonOf(at(unclaimedLimits.perPayTo))).toMatch(/too many URLs/)
    clock += 120_000
    expect(await reasonOf(at(0))).toBe('success')
    expect(await entries()).toHaveLength(unclaimedLimits.perPayTo)
  })

  it('is bounded for one URL', async () => {
    const paidTo = (n: number) =>
      aSettledPayment({ requirement: { payTo: `0x${`${n + 1}`.repeat(40)}` } })
    const reasons = []
    for (let n = 0; n <= unclaimedLimits.perUrl + 1; n++)
      if (n !== 1) reasons.push(await reasonOf(paidTo(n)))
    expect(reasons.slice(0, -1)).toEqual(Array(unclaimedLimits.perUrl).fill('success'))
    expect(reasons.at(-1)).toMatch(/too many payTos/)
  })

  it('is bounded within the hour, and goes on in the next', async () => {
    open({ maxNewPerHour: 2 })
    expect(await reasonOf(at(0))).toBe('success')
    expect(await reasonOf(at(1))).toBe('success')
    expect(await reasonOf(at(2))).toMatch(/within the hour/)
    clock += 3_600_000
    expect(await reasonOf(at(2))).toBe('success')
  })

  it('of the queue is bounded for one payTo, and says so', () => {
    const states = Array.from({ length: 25 }, (_, n) => catalog.offer(at(n))?.status)
    expect(states.filter((status) => status === 'processing')).toHaveLength(20)
    expect(catalog.offer(at(99))).toMatchObject({
      rejectedReason: expect.stringMatching(/too many resources wait/),
    })
  })
})

it('outlives a store that fails, and lists with the next payment', async () => {
  let isBroken = true
  open({
    store: {
      ...store,
      saveUnclaimed: (...saved) =>
        isBroken ? Promise.reject(new Error('disk full')) : store.saveUnclaimed(...saved),
    },
  })
  catalog.offer(aSettledPayment())
  while (logged.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(logged[0]).toMatchObject({ err: { message: 'disk full' } })
  isBroken = false
  expect(await reasonOf()).toBe('success')
})

it('stops with its work done or dropped, and takes no more', async () => {
  for (let n = 0; n < 10; n++) {
    catalog.offer(aSettledPayment({ resource: { url: `https://api.example.com/${n}` } }))
  }
  await catalog.stop()
  const kept = (await entries()).length
  expect(kept).toBeLessThanOrEqual(1)
  expect(catalog.offer(aSettledPayment())).toMatchObject({ status: 'rejected' })
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await entries()).toHaveLength(kept)
})
