import type { BazaarStatus } from '@arcus/protocol/x402/bazaar'
import { circleTokens } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type BarePayment,
  type OfferingPayment,
  type OfferRules,
  readBare,
  readOffer,
} from '../../../../src/directory/seen-in-payments/offer.js'
import {
  aListing,
  anEndpoint,
  aSignedWrite,
  send,
  startDirectory,
  type TestDirectory,
} from '../../../support/a-directory.js'
import { anAccount } from '../../../support/an-account.js'
import {
  aPaymentRequired,
  aRequirement,
  asset,
  bazaar,
  network,
  payTo,
  toHeader,
} from '../../../support/directory/a-402.js'
import { aTarget, type Target } from '../../../support/directory/a-target.js'
import { answering } from '../../../support/directory/sellers.js'

const url = 'https://api.example.com/weather'
const payer: Address = '0x7777777777777777777777777777777777777777'
const addressOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`

const rules: OfferRules = {
  networks: new Map([[network, circleTokens[network]]]),
  targetRules: { allowPrivateHosts: false, ownOrigins: ['https://pay.example.com'] },
  isPayToBlocked: () => false,
}

let directory: TestDirectory
const open: Target[] = []

beforeEach(async () => {
  directory = await startDirectory()
})
afterEach(async () => {
  await directory.close()
  await Promise.all(open.splice(0).map((it) => it.close()))
})

/** A settled payment of a client that sends neither the resource nor the extension, unless wished otherwise. */
function aPayment(
  payload: Record<string, unknown> = {},
  over: Partial<OfferingPayment> = {},
): OfferingPayment {
  const { payTo: to = payTo, amount = 10_000n } = over
  const requirement = aRequirement({ payTo: to, amount: amount.toString() })
  return {
    network,
    asset: asset.address,
    payTo: to,
    payer,
    amount,
    requirements: requirement,
    payload: { x402Version: 2, accepted: requirement, payload: {}, ...payload },
    settlementId: 'settlement',
    ...over,
  }
}

function aBare(at: string | undefined, over: Partial<OfferingPayment> = {}): BarePayment {
  const read = readBare(aPayment(at === undefined ? {} : { resource: { url: at } }, over), {
    ...rules,
    targetRules: { allowPrivateHosts: true, ownOrigins: [] },
  })
  if (!read?.ok) throw new Error(`not taken in: ${read?.rejectedReason}`)
  return read.bare
}

/** Takes a payment in, and resolves with what is reported of it. Every host is called once a second. */
async function taken(bare: BarePayment): Promise<BazaarStatus> {
  const second = setInterval(() => {
    directory.clock.ms += 1_000
  }, 20)
  try {
    return await new Promise((resolve, reject) => {
      const report = async (status: BazaarStatus) => resolve(status)
      directory.directory.ports.takeBare(bare, report).catch(reject)
    })
  } finally {
    clearInterval(second)
  }
}

async function reasonOf(bare: BarePayment): Promise<string> {
  const status = await taken(bare)
  return status.status === 'rejected' ? status.rejectedReason : status.status
}

/** Has an imitated endpoint answer 402. */
function sellAt(place: string, over: Record<string, unknown> = {}): void {
  const required = aPaymentRequired({ extensions: { bazaar }, ...over })
  directory.sellers.answers.set(place, answering(402, { 'payment-required': toHeader(required) }))
}

const callsOf = (host = 'api.example.com') =>
  directory.sellers.called.filter((request) => new URL(request.url).hostname.endsWith(host))

const listed = async () => (await directory.get('/discovery/resources')).json().items
/** Returns the list once it has entries, while the turns of hosts come. */
const listedInTime = () =>
  vi.waitUntil(
    async () => {
      directory.clock.ms += 1_000
      const items = await listed()
      return items.length > 0 && items
    },
    { timeout: 10_000 },
  )
const statusOf = async (resource: string) =>
  (await directory.get(`/discovery/status?${new URLSearchParams({ resource })}`)).json()

describe('a payment for a URL, without the extension', () => {
  it('lists what the 402 of the URL declares, after one GET without the query of the buyer', async () => {
    sellAt(url, { resource: { url: 'x', description: 'By city', serviceName: 'Skies' } })
    expect(await taken(aBare(`${url}?city=Porto&key=secret`))).toEqual({ status: 'processing' })
    expect(callsOf()).toEqual([expect.objectContaining({ url, method: 'GET' })])
    expect(await listed()).toMatchObject([
      {
        resource: url,
        accepts: [{ amount: '10000', payTo }],
        serviceName: 'Skies',
        metadata: {
          description: 'By city',
          input: { method: 'GET', queryParams: { city: 'Lisbon' } },
        },
      },
    ])
    expect(await taken(aBare(url))).toEqual({ status: 'success' })
    expect(callsOf()).toHaveLength(1)
    expect((await statusOf(url)).message).toBe('1 of 1 entries at this URL are in the list.')
  })

  it('lists a route under the template that its 402 names', async () => {
    sellAt('https://api.example.com/city/porto', {
      extensions: { bazaar: { ...bazaar, routeTemplate: '/city/:name' } },
    })
    await taken(aBare('https://api.example.com/city/porto'))
    expect(await listed()).toMatchObject([{ resource: 'https://api.example.com/city/:name' }])
    expect(await taken(aBare('https://api.example.com/city/faro'))).toEqual({ status: 'success' })
    expect(callsOf()).toHaveLength(1)
  })

  it('lists at the price of the 402, whatever was paid', async () => {
    sellAt(url, { accepts: [aRequirement({ amount: '20000' })] })
    expect(await taken(aBare(url))).toEqual({ status: 'processing' })
    expect(await listedInTime()).toMatchObject([{ accepts: [{ amount: '20000' }] }])
    expect(await taken(aBare(url))).toMatchObject({
      status: 'processing',
      reason: expect.stringContaining('asked for other terms than were paid'),
    })
  })

  it.each([
    [
      'names another payTo',
      { accepts: [aRequirement({ payTo: addressOf(9) })] },
      `The 402 pays to ${addressOf(9)}, and the payment went to ${payTo}.`,
    ],
    ['declares no extension', { extensions: {} }, 'its 402 declares no bazaar extension'],
    [
      'declares one that refers outside itself',
      { extensions: { bazaar: { ...bazaar, schema: { $ref: 'https://evil.example/s' } } } },
      'its 402 declares no bazaar extension',
    ],
    [
      'is for another network',
      { accepts: [aRequirement({ network: 'eip155:8453' })] },
      'asks for payment on Base (eip155:8453)',
    ],
    [
      'is for a token that nobody knows',
      { accepts: [aRequirement({ asset: addressOf(8) })] },
      'asks for payment in 0x0000000000000000000000000000000000000008',
    ],
  ])('lists nothing if the 402 %s, and says so', async (_, over, found) => {
    sellAt(url, over)
    const reason = await reasonOf(aBare(url))
    expect(reason).toMatch(/^the buyer's client left the bazaar extension out, and a GET of/)
    expect(reason).toContain(found)
    expect(await listed()).toEqual([])
    const { message, refusals } = await statusOf(`${url}?city=Porto`)
    expect(refusals).toMatchObject([{ reason }])
    expect(message).toBe(`It was paid for and not listed: ${reason}`)
    // The URL is not asked again by the payments that follow.
    expect(await reasonOf(aBare(url))).toBe(reason)
    expect(callsOf()).toHaveLength(1)
  })

  it.each([
    ['405', 405, {}, 'answered 405 instead of 402: it does not serve GET'],
    ['a redirect', 302, { location: 'http://127.0.0.1:1/secret' }, 'redirect'],
    ['200', 200, {}, 'answered 200 instead of 402'],
  ])(
    'is never asked by POST, and is noted with the reason: %s',
    async (_, status, headers, why) => {
      const methods: (string | undefined)[] = []
      const target = await aTarget((request, response) => {
        methods.push(request.method)
        response.writeHead(status, headers).end('{}')
      })
      open.push(target)
      const reason = await reasonOf(aBare(`${target.url}/orders`))
      expect(reason).toContain(why)
      expect(reason).toContain('A payment whose client sends the extension, or a signed listing')
      expect(methods).toEqual(['GET'])
    },
  )

  it('is not said to be tried again where its host is away', async () => {
    const reason = await reasonOf(aBare('https://away.example.com/x'))
    expect(reason).toContain('found: The host name does not resolve to an address. A payment whose')
  })

  it('is not asked at a private host, which the seller reads', () => {
    for (const at of ['https://10.0.0.1/x', 'http://localhost:3000/x', 'https://0x7f.1/']) {
      const read = readBare(aPayment({ resource: { url: at } }), rules)
      expect(read).toEqual({
        ok: false,
        rejectedReason: expect.stringContaining("The seller's server wrote this URL into its 402"),
      })
    }
  })

  it('heals by the next good payment, and by an owner who lists it', async () => {
    const owner = anAccount()
    const to = owner.address.toLowerCase() as Address
    sellAt(url, { accepts: [aRequirement({ payTo: to })], extensions: {} })
    expect(await reasonOf(aBare(url, { payTo: to }))).toContain('declares no bazaar extension')
    sellAt(url, { accepts: [aRequirement({ payTo: to })] })
    const good = readOffer(
      aPayment({ resource: { url }, extensions: { bazaar } }, { payTo: to }),
      rules,
    )
    if (!good?.ok) throw new Error('no offer')
    await directory.directory.ports.takeOffer(good.offer)
    expect(await listedInTime()).toHaveLength(1)
    expect((await statusOf(url)).refusals).toEqual([])
    // After the time of a probe, the URL is looked at again too.
    const other = 'https://api.example.com/tides'
    sellAt(other, { accepts: [aRequirement({ payTo: to })], extensions: {} })
    await reasonOf(aBare(other, { payTo: to }))
    sellAt(other, { accepts: [aRequirement({ payTo: to })] })
    directory.clock.seconds += 601
    expect(await taken(aBare(other, { payTo: to }))).toEqual({ status: 'processing' })
  })
})

describe('a payment that names no URL', () => {
  const sell = async (endpoints: Parameters<typeof anEndpoint>[0][]) => {
    const owner = anAccount()
    const to = owner.address.toLowerCase() as Address
    const body = aListing({ payTo: owner.address, endpoints: endpoints.map(anEndpoint) })
    const request = await aSignedWrite(owner, { body, message: { payTo: owner.address } })
    expect((await send(directory, request)).statusCode).toBe(201)
    return { owner, to }
  }

  it('counts for the one API of its payTo at its price', async () => {
    const { to } = await sell([{ url }, { url: `${url}/week`, price: '20000' }])
    expect(await taken(aBare(undefined, { payTo: to }))).toEqual({
      status: 'success',
      reason: expect.stringContaining(`it counts for GET ${url},`),
    })
    await directory.pay({ payTo: to, amount: 10_000n, resourceUrl: undefined })
    await directory.pay({ payTo: to, amount: 10_000n, resourceUrl: undefined, kind: 'verify' })
    const rows = await directory.stores.activity.list({ merchantId: 'weather', limit: 10 })
    const [{ state }] = (await directory.get('/api/merchants/weather')).json().endpoints
    expect(rows.map(({ kind, endpointId }) => [kind, endpointId])).toEqual([
      ['verify', null],
      ['settle', state.id],
    ])
  })

  it.each([
    ['two have its price', [{ url }, { url: `${url}/week` }]],
    ['none has its price', [{ url, price: '20000' }]],
  ])('is noted for the owner where %s', async (_, endpoints) => {
    const { owner, to } = await sell(endpoints)
    const reason = await reasonOf(aBare(undefined, { payTo: to }))
    expect(reason).toMatch(/client left resource\.url out.*not just one API is listed/)
    const cookie = await directory.signIn(owner)
    const { unlisted } = (await directory.get('/api/merchants/weather/activity', { cookie })).json()
    expect(unlisted).toEqual([{ url: null, reason, at: expect.any(Number) }])
    expect((await directory.get('/api/merchants/weather/activity')).statusCode).toBe(401)
  })

  it('gives money back, or is described in full, and is none of these', () => {
    const refund = { refund: { info: { nonce: '0x' } } }
    expect(readBare(aPayment({ extensions: refund }), rules)).toBeUndefined()
    const whole = { resource: { url }, extensions: { bazaar } }
    expect(readBare(aPayment(whole), rules)).toBeUndefined()
  })

  it.each([[{ resource: 7 }], [{ resource: { url: ['x'] } }], [{ resource: { url: 'mcp://a' } }]])(
    'may have any shape: %j',
    (payload) => {
      expect(readBare(aPayment(payload), rules)).toMatchObject({ ok: true })
    },
  )
})

describe('the bounds on calls of paid URLs', () => {
  it('let one payTo cause thirty within an hour, at however many hosts', async () => {
    for (let i = 0; i < 60; i++) {
      await taken(aBare(`https://a.host${i}-example.com/`, { payer: addressOf(9_000 + i) }))
    }
    expect(callsOf('example.com')).toHaveLength(30)
    expect(await reasonOf(aBare('https://b.next-example.com/'))).toContain('of this payTo within')
    const of = { payTo: addressOf(2), payer: addressOf(3) }
    expect(await reasonOf(aBare('https://b.next-example.com/', of))).toContain('GET of the URL')
    directory.clock.seconds += 3_600
    await taken(aBare('https://b.after-example.com/'))
    expect(callsOf('example.com')).toHaveLength(32)
  })

  it('let one domain be called thirty times, by however many payTos, payers and subdomains', async () => {
    for (let i = 0; i < 1_000; i++) {
      const of = { payTo: addressOf(1_000 + i), payer: addressOf(9_000 + i) }
      await directory.directory.ports.takeBare(
        aBare(`https://s${i % 50}.victim-example.com/${i}`, of),
        async () => {},
      )
    }
    const other = aBare('https://api.other-example.com/', { payTo: addressOf(1) })
    expect(await reasonOf(other)).toContain('GET of the URL found')
    expect(callsOf('victim-example.com').length).toBeGreaterThan(3)
    expect(callsOf('victim-example.com').length).toBeLessThanOrEqual(30)
  })

  it('count the seconds that a host lets a call wait', async () => {
    directory.sellers.before = () => {
      directory.clock.ms += 9_000
    }
    for (let i = 0; i < 8; i++) {
      const of = { payTo: addressOf(1_000 + i), payer: addressOf(9_000 + i) }
      await taken(aBare(`https://slow-example.com/${i}`, of))
    }
    expect(callsOf('slow-example.com').length).toBeLessThanOrEqual(3)
  })

  it('are others for a payTo that the host has named, which strangers do not use up', async () => {
    sellAt(url)
    await taken(aBare(url))
    for (let i = 0; i < 40; i++) {
      const of = { payTo: addressOf(1_000 + i), payer: addressOf(9_000 + i) }
      await taken(aBare(`https://api.example.com/x/${i}`, of))
    }
    const stranger = { payTo: addressOf(5), payer: addressOf(6) }
    expect(await reasonOf(aBare('https://api.example.com/y', stranger))).toContain('not asked yet')
    sellAt('https://api.example.com/tides')
    expect(await taken(aBare('https://api.example.com/tides'))).toEqual({ status: 'processing' })
    expect(await listed()).toHaveLength(2)
  })

  it('leave out who pays themselves', async () => {
    sellAt(url)
    expect(await reasonOf(aBare(url, { payer: payTo }))).toContain('the payer paid themselves')
    expect(callsOf()).toEqual([])
    expect(await taken(aBare(url))).toEqual({ status: 'processing' })
  })
})
