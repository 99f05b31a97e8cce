import { asSentence } from '@arcus/protocol/listing/text'
import type { BazaarStatus } from '@arcus/protocol/x402/bazaar'
import { circleTokens } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  AutoCatalog,
  type AutoCatalogOptions,
} from '../../../../src/directory/seen-in-payments/auto-catalog.js'
import { unclaimedLimits } from '../../../../src/directory/seen-in-payments/entry-place.js'
import { createInfoCheck } from '../../../../src/directory/seen-in-payments/info-check.js'
import {
  type OfferingPayment,
  type OfferRules,
  readOffer,
} from '../../../../src/directory/seen-in-payments/offer.js'
import type { EndpointHealth, ListingStore } from '../../../../src/directory/store/listings.js'
import { network } from '../../../support/directory/a-402.js'
import {
  anEndpoint,
  asset,
  openListings,
  payTo,
  owner as stranger,
} from '../../../support/directory/listed-merchants.js'
import {
  aRequirement,
  aSettledPayment,
  getInfo,
  getSchema,
  id,
  querySchema,
  url,
} from './an-offer.js'

const other: Address = '0x2222222222222222222222222222222222222222'

let listings: ReturnType<typeof openListings>
let store: ListingStore
let catalog: AutoCatalog
let clock = 1_000_000_000
const probes: number[] = []
const logged: object[] = []

const rules: OfferRules = {
  networks: new Map([[network, circleTokens[network]]]),
  targetRules: { allowPrivateHosts: false, ownOrigins: ['https://pay.example.com'] },
  isPayToBlocked: (address) => address === other,
}

function open(over: Partial<AutoCatalogOptions> = {}): AutoCatalog {
  catalog = new AutoCatalog({
    store,
    infoCheck: createInfoCheck(() => clock),
    probeSoon: (endpointId) => probes.push(endpointId),
    keepProbe: async () => {},
    isDiskLow: () => false,
    now: () => clock,
    log: { info: (details) => logged.push(details), warn: (details) => logged.push(details) },
    ...over,
  })
  return catalog
}

beforeEach(() => {
  clock = 1_000_000_000
  probes.length = 0
  logged.length = 0
  listings = openListings()
  store = listings.store
  open()
})

afterEach(async () => {
  await listings.close()
})

/** Reads the offer of a payment as the facilitator hands it over, and has it taken in. */
async function takeIn(payment: OfferingPayment): Promise<BazaarStatus | undefined> {
  const read = readOffer(payment, rules)
  if (read === undefined) return undefined
  if (!read.ok) return { status: 'rejected', rejectedReason: asSentence(read.rejectedReason) }
  return catalog.take(read.offer)
}

/** Offers, and offers again once it was judged. */
async function offer(payment = aSettledPayment()) {
  const first = await takeIn(payment)
  return { first, later: await takeIn(payment) }
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
  it('adds an unclaimed resource that waits for its first probe, which is requested at once', async () => {
    const { first, later } = await offer()
    expect([first, later]).toEqual([{ status: 'processing' }, { status: 'processing' }])
    const { endpoint, merchant } = await theEntry()
    expect(merchant).toMatchObject({
      id,
      owner: null,
      name: '0xabcd…abcd',
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
    expect(probes).toEqual([endpoint.id])
    expect(await store.dueEndpoints(clock / 1000, 10)).toHaveLength(1)
  })

  it('is one entry however often and with whatever query it is called', async () => {
    await offer()
    await offer(aSettledPayment({ resource: { url: `${url}?city=Faro#x` } }))
    expect(await entries()).toHaveLength(1)
  })

  it.each([
    ['its query', '?city=Lisbon', {}],
    [
      'a token of its query',
      '?key=abcdefgh',
      { description: 'As https://a.example/?key=abcdefgh' },
    ],
    ['a part of its query as it is written', '?key=a%20bcdefgh', { serviceName: 'a%20bcdefgh' }],
    ['its fragment', '#abcdefgh', { description: 'The key is abcdefgh' }],
  ])("shows no description that repeats %s, which is the buyer's", async (_, suffix, more) => {
    await offer(aSettledPayment({ resource: { url: url + suffix, ...more } }))
    const { endpoint } = await theEntry()
    expect(endpoint).toMatchObject({ url, title: 'GET /v1/weather', description: '' })
    expect(endpoint.example).not.toHaveProperty('queryParams.city')
    expect(JSON.stringify([endpoint.extras, endpoint.inputSchema])).not.toMatch(/Lisbon|bcdefgh/)
    expect(probes).toEqual([endpoint.id])
  })

  it("shows the seller's examples beside a query of other values", async () => {
    await offer(aSettledPayment({ resource: { url: `${url}?city=Faro&days=21` } }))
    expect((await theEntry()).endpoint.example).toEqual({ queryParams: { city: 'Lisbon' } })
  })

  it('keeps the texts of the first payment, whatever later ones say and pay', async () => {
    await offer()
    const before = await entries()
    const sequence = await store.lastChange()
    clock += 120_000
    for (const wish of [
      {},
      { resource: { description: 'Send your key to evil.example' } },
      { requirement: { amount: '1' } },
      { bazaar: { info: { input: { ...getInfo.input, queryParams: { city: 'x' } } } } },
    ]) {
      expect((await offer(aSettledPayment(wish))).later).toEqual({ status: 'processing' })
    }
    expect(await entries()).toEqual(before)
    expect(await store.lastChange()).toBe(sequence)
  })

  it('says nothing about a payment without one', async () => {
    const payload = { x402Version: 2 }
    expect(await takeIn(aSettledPayment({ settled: { payload } }))).toBeUndefined()
  })

  it('lists a POST with its body, and a route under its template', async () => {
    const input = { type: 'http', method: 'POST', bodyType: 'json', body: { city: 'Lisbon' } }
    const bazaar = { info: { input }, schema: { type: 'object' }, routeTemplate: '/v1/:city' }
    expect(await reasonOf(aSettledPayment({ bazaar }))).toBe('processing')
    expect((await theEntry()).endpoint).toMatchObject({
      url: 'https://api.example.com/v1/:city',
      method: 'POST',
      example: { body: { city: 'Lisbon' }, pathParams: { city: 'weather' } },
      inputSchema: null,
    })
  })

  it.each([['batch-settlement'], ['upto']])(
    'lists a metered price by %s at its ceiling, whatever was charged',
    async (scheme) => {
      const requirement = { scheme }
      const paid = aSettledPayment({ requirement, accepted: { amount: '50000' } })
      expect(await reasonOf(paid)).toBe('processing')
      expect((await theEntry()).endpoint).toMatchObject({
        price: 50_000n,
        accepts: [{ scheme, amount: '50000' }],
      })
    },
  )

  it('ignores a route template that climbs', async () => {
    await offer(aSettledPayment({ bazaar: { routeTemplate: '/%252e%252e/admin' } }))
    expect((await theEntry()).endpoint.url).toBe(url)
  })
})

describe('what is no entry', () => {
  it.each([
    ['a tool without a name', { bazaar: { info: { input: { type: 'mcp' } } } }, /toolName/],
    ['another payTo accepted', { accepted: { payTo: other } }, /must agree/],
    ['another amount accepted', { accepted: { amount: '1' } }, /must agree/],
    ['a part of the price by exact', { accepted: { amount: '10001' } }, /must agree/],
    [
      'more than the price by channel',
      { requirement: { scheme: 'batch-settlement' }, accepted: { amount: '9999' } },
      /must agree/,
    ],
    ['another asset accepted', { accepted: { asset: other } }, /must agree/],
    ['another network accepted', { accepted: { network: 'eip155:1' } }, /must agree/],
    [
      'the same accepted through Circle Gateway',
      {
        accepted: {
          extra: {
            name: 'GatewayWalletBatched',
            version: '1',
            verifyingContract: '0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE',
          },
        },
      },
      /must agree/,
    ],
    ['nothing accepted', { accepted: { payTo: null } }, /must agree/],
    ['requirements of another payment', { settled: { amount: 9n } }, /must agree/],
    ['a payTo the operator blocks', { requirement: { payTo: other } }, /payTo is not listed here/],
    [
      'a network not listed',
      { requirement: { network: 'eip155:5042002' } },
      /^payments on eip155:5042002 are not listed here: .* lists endpoints on eip155:5042 alone\. Offer the endpoint on eip155:5042 too, or settle its payments at a service that serves eip155:5042002 alone\.$/,
    ],
  ])('%s', async (_, wish, reason) => {
    const status = await takeIn(aSettledPayment(wish))
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
    ).toBe('processing')
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
  ])('%s: the very first payment hears why', async (_, bazaar, reason) => {
    const { first, later } = await offer(aSettledPayment({ bazaar }))
    const rejectedReason = expect.stringMatching(reason)
    expect([first, later]).toMatchObject(Array(2).fill({ status: 'rejected', rejectedReason }))
    expect(await entries()).toEqual([])
    expect(logged).toHaveLength(1)
  })

  it('that cannot be checked now is checked when it is taken in again', async () => {
    let calls = 0
    const real = createInfoCheck(() => clock)
    open({
      infoCheck: {
        check: (described) =>
          ++calls === 1 ? Promise.reject(new Error('busy')) : real.check(described),
      },
    })
    await expect(takeIn(aSettledPayment())).rejects.toThrow('busy')
    expect(await takeIn(aSettledPayment())).toEqual({ status: 'processing' })
    expect(await entries()).toHaveLength(1)
  })

  it('is a schema whose references double without end: it is refused, and honest ones beside it are listed', async () => {
    const doubling: Record<string, unknown> = { d60: { type: 'string' } }
    for (let level = 0; level < 60; level++) {
      const next = { $ref: `#/$defs/d${level + 1}` }
      doubling[`d${level}`] = { anyOf: [next, next] }
    }
    const infoAs = (n: number) => ({ ...getInfo, note: n })
    const evil = { ...getSchema, $defs: doubling, $ref: '#/$defs/d0' }
    expect(await reasonOf(aSettledPayment({ bazaar: { info: infoAs(0), schema: evil } }))).toMatch(
      /takes too much work/,
    )
    // Others of its kind use up what may be spent on such schemas; that of an honest payment needs none of it.
    for (let n = 1; n < 30; n++) {
      await takeIn(aSettledPayment({ bazaar: { info: infoAs(n), schema: evil } })).catch(() => {})
    }
    expect((await offer()).first).toEqual({ status: 'processing' })
    expect(await entries()).toHaveLength(1)
  })
})

/** Keeps the health that a probe would. */
async function probedAs(endpointId: number, health: Partial<EndpointHealth>): Promise<void> {
  const [entry] = await store.entriesById([endpointId])
  if (entry === undefined) throw new Error('no such endpoint')
  const { accepts, extras } = entry.endpoint
  const seconds = Math.floor(clock / 1000)
  const probe = { verdict: 'seen', message: 'Seen.', warnings: [], seen: {}, checkedAt: seconds }
  const whole = { accepts, extras, status: 'live', failures: 0, nextProbeAt: seconds + 99 } as const
  await store.saveProbe(endpointId, { ...whole, probe, ...health }, seconds)
  clock += 1_001
}

describe('the result of its probe', () => {
  it('is live: later payments on the same terms get success, and write nothing', async () => {
    await offer()
    const { endpoint } = await theEntry()
    await probedAs(endpoint.id, {})
    const sequence = await store.lastChange()
    const { later } = await offer(aSettledPayment({ resource: { description: 'Defaced' } }))
    expect(later).toEqual({ status: 'success' })
    expect((await theEntry()).endpoint.description).toBe('By city')
    expect(await store.lastChange()).toBe(sequence)
  })

  it('stands against a payment on other terms, which causes another probe, but not too often', async () => {
    await offer()
    const { endpoint } = await theEntry()
    await probedAs(endpoint.id, { accepts: [aRequirement({ amount: '20000' })] })
    probes.length = 0
    expect(await reasonOf()).toMatch(/other terms/)
    expect(probes).toEqual([])
    clock += 600_000
    expect(await reasonOf()).toMatch(/other terms/)
    expect(probes).toContain(endpoint.id)
    expect((await theEntry()).endpoint.accepts).toMatchObject([{ amount: '20000' }])
  })

  it('keeps other payTos from its URL', async () => {
    await offer()
    await probedAs((await theEntry()).endpoint.id, {})
    const squatter = '0x4444444444444444444444444444444444444444'
    expect(await reasonOf(aSettledPayment({ requirement: { payTo: squatter } }))).toMatch(
      /names another payTo/,
    )
    expect(await entries()).toHaveLength(1)
  })

  it('is wrong for one path: a payment for another path of the route renews it at once', async () => {
    const bought = (path: string) => {
      const resource = { url: `https://api.example.com/v1/${path}` }
      return aSettledPayment({ resource, bazaar: { routeTemplate: '/v1/:id' } })
    }
    await offer(bought('nothing'))
    const { endpoint } = await theEntry()
    await probedAs(endpoint.id, { status: 'failing' })
    expect(await reasonOf(bought('nothing'))).toBe('a probe of it found: Seen.')
    expect(await reasonOf(bought('5'))).toBe('processing')
    const renewed = (await theEntry()).endpoint
    expect(renewed).toMatchObject({ status: 'unverified', example: { pathParams: { id: '5' } } })
    await probedAs(renewed.id, {})
    expect(await reasonOf(bought('6'))).toBe('success')
    expect((await theEntry()).endpoint.example).toMatchObject({ pathParams: { id: '5' } })
  })

  it('is wrong: the next payment gets the reason, and a later one causes a new probe', async () => {
    await offer()
    const { endpoint } = await theEntry()
    await probedAs(endpoint.id, { status: 'failing' })
    expect(await reasonOf()).toBe('a probe of it found: Seen.')
    clock += 600_000
    probes.length = 0
    expect(await reasonOf(aSettledPayment({ resource: { description: 'Second' } }))).toBe(
      'processing',
    )
    expect((await theEntry()).endpoint).toMatchObject({
      id: endpoint.id,
      status: 'unverified',
      probe: null,
      description: 'Second',
    })
    expect(probes).toEqual([endpoint.id])
  })
})

describe('a URL that is never called', () => {
  it.each([
    ['a private address', 'https://127.0.0.1/x', 'not one of the public internet.'],
    ['a spelling of one', 'https://0x7f.1/x', 'not one of the public internet.'],
    ['plain http on this machine', 'http://localhost:4021/x', 'Only https URLs are called.'],
    ['the service itself', 'https://pay.example.com/x', 'The URL leads back to this service.'],
  ])('%s: is kept as unverified with the reason, and the payment is told', async (_, at, why) => {
    const { first, later } = await offer(aSettledPayment({ resource: { url: at } }))
    const rejectedReason = expect.stringMatching(
      /^[^.]+(\.\d[^.]*)*\. It is kept as unverified, outside the default order\. The seller's server wrote this URL into its 402: .*listed\.$/,
    )
    expect([first, later]).toEqual(Array(2).fill({ status: 'rejected', rejectedReason }))
    expect((await theEntry()).endpoint).toMatchObject({
      status: 'unverified',
      nextProbeAt: null,
      probe: { verdict: 'blocked_target', message: expect.stringContaining(why) },
    })
    expect(probes).toEqual([])
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
    expect(await reasonOf(payment)).toBe('processing')
    const entry = await theEntry()
    const text = JSON.stringify(entry, (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    expect(text).not.toMatch(/[\u0000-\u001f\u200b\u202e]|\\u|\u{e0041}/u)
    expect(entry.merchant.name).toBe('0xabcd…abcd')
    expect(entry.endpoint).toMatchObject({ tags: ['ok'], description: '<script>ab cde' })
  })

  it('leaves out an example or a schema past the limits of listings, and keeps the entry', async () => {
    const long = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, 'x']))
    const bazaar = {
      info: { input: { type: 'http', method: 'GET', queryParams: long } },
      schema: {},
    }
    expect(await reasonOf(aSettledPayment({ bazaar }))).toBe('processing')
    expect((await theEntry()).endpoint.example).toEqual({ queryParams: {} })
  })

  it('is nothing in a payload of any other form', async () => {
    for (const payload of [null, 7, 'x', [], { extensions: [] }]) {
      expect(await takeIn(aSettledPayment({ settled: { payload } }))).toBeUndefined()
    }
  })
})

describe("an owner's listing", () => {
  it('stays as it is when the same URL and method are paid', async () => {
    await listings.write(
      'weather',
      {
        kind: 'save',
        merchant: { name: 'Weather', description: '', network, asset, payTo },
        endpoints: [anEndpoint()],
      },
      payTo,
    )
    const before = await entries()
    expect(await offer()).toEqual({ first: { status: 'success' }, later: { status: 'success' } })
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

  const elsewhere = [anEndpoint({ url: 'https://api.example.com/other' })]
  const hide = (merchantId: string) =>
    store.setFlags(merchantId, { hiddenReason: 'Fraud' }, 1_000_000_000)
  const save = (endpoints: typeof elsewhere) =>
    ({
      kind: 'save',
      merchant: { name: 'W', description: '', network, asset, payTo },
      endpoints,
    }) as const

  it('that the operator hides keeps its payTo out altogether where that stands behind it', async () => {
    await listings.write('own', save(elsewhere), payTo)
    await hide('own')
    expect(await reasonOf()).toMatch(/operator hides/)
    await listings.write('own', { kind: 'delete' }, payTo)
    await listings.list('confirmed', elsewhere)
    await listings.write('confirmed', { kind: 'confirm', owner: stranger }, payTo)
    await hide('confirmed')
    clock += 120_000
    expect(await reasonOf()).toMatch(/operator hides/)
    expect(await store.findMerchant(id)).toBeUndefined()
  })

  it('that the operator hides does nothing to an address that only a stranger named in it', async () => {
    await listings.list('bad', elsewhere)
    await hide('bad')
    expect((await offer()).first).toEqual({ status: 'processing' })
    expect((await entries()).map(({ merchant }) => merchant.id)).toEqual([id])
  })

  it.each([
    ['pays the same address', payTo],
    ['is live', other],
  ])('of a stranger that is hidden keeps nobody from its URL, though it %s', async (_, paid) => {
    const change = save([anEndpoint()])
    await listings.write('bad', { ...change, merchant: { ...change.merchant, payTo: paid } })
    await hide('bad')
    expect((await offer()).first).toEqual({ status: 'processing' })
    expect((await entries()).map(({ merchant }) => merchant.id)).toEqual([id])
  })
})

describe('growth', () => {
  const payToOf = (n: number): Address => `0x${(n + 64).toString(16).repeat(20)}`
  const at = (n: number) => aSettledPayment({ resource: { url: `https://api.example.com/${n}` } })

  it('is bounded for one payTo', async () => {
    for (let n = 0; n < unclaimedLimits.perPayTo; n++)
      expect(await reasonOf(at(n))).toBe('processing')
    expect(await reasonOf(at(unclaimedLimits.perPayTo))).toMatch(/too many URLs/)
    clock += 120_000
    expect(await reasonOf(at(0))).toBe('processing')
    expect(await entries()).toHaveLength(unclaimedLimits.perPayTo)
  })

  it('is bounded for one URL', async () => {
    for (let n = 0; n < unclaimedLimits.perUrl; n++) {
      expect(await reasonOf(aSettledPayment({ requirement: { payTo: payToOf(n) } }))).toBe(
        'processing',
      )
    }
    expect(await reasonOf()).toMatch(/too many payTos/)
  })

  it('is not used up by failed entries: the oldest of them gives way', async () => {
    for (let n = 0; n < unclaimedLimits.perUrlInAll; n++) {
      const { later } = await offer(aSettledPayment({ requirement: { payTo: payToOf(n) } }))
      expect(later).toEqual({ status: 'processing' })
      await probedAs((await entries()).at(-1)?.endpoint.id as number, { status: 'failing' })
    }
    expect(await reasonOf()).toBe('processing')
    const paid = (await entries()).map((entry) => entry.merchant.payTo)
    expect(paid).toHaveLength(unclaimedLimits.perUrlInAll)
    expect(paid).not.toContain(payToOf(0))
    expect(paid).toContain(payTo)
  })

  /** A payment in which nothing is as in others, but what is given. */
  const apart = (n: number, own: { payer?: Address; payTo?: Address; host?: string } = {}) =>
    aSettledPayment({
      settled: { payer: own.payer ?? payToOf(n) },
      requirement: { payTo: own.payTo ?? payToOf(n) },
      resource: { url: `https://${own.host ?? `api${n}`}.example.com/${n}` },
    })
  const seen = 'too many new resources were seen'

  it('is bounded within the hour, and goes on in the next', async () => {
    for (let round = 0; round < 10; round++) {
      const url = (n: number) => `https://api${n}.example.com/${round}`
      for (let n = 0; n < 100; n++) {
        const settled = { payer: payToOf(n) }
        const requirement = { payTo: payToOf(n) }
        await takeIn(aSettledPayment({ settled, requirement, resource: { url: url(n) } }))
      }
    }
    expect(await entries()).toHaveLength(1_000)
    expect(await reasonOf(apart(101))).toBe(`${seen} within the hour.`)
    clock += 3_600_000
    expect(await reasonOf(apart(101))).toBe('processing')
  })

  it.each([
    ['payer', 50, { payer: payTo }],
    ['payTo', 50, { payTo }],
    ['host', 100, { host: 'api' }],
  ] as const)('of one %s leaves room for others after %i', async (what, bound, alike) => {
    for (let n = 0; n < bound; n++) expect(await reasonOf(apart(n, alike))).toBe('processing')
    // One that failed makes room among the entries of a payTo, and not in their growth.
    const [first] = await entries()
    await probedAs(first?.endpoint.id as number, { status: 'failing' })
    expect(await reasonOf(apart(bound, alike))).toBe(`${seen} of this ${what} within the hour.`)
    expect(await reasonOf(apart(bound + 1))).toBe('processing')
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
  await expect(takeIn(aSettledPayment())).rejects.toThrow('disk full')
  isBroken = false
  expect(await reasonOf()).toBe('processing')
})
