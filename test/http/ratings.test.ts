import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import { type RatingJson, ratingTypedData } from '@arcus/protocol/listing/rating-message'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import fastify, { type FastifyInstance } from 'fastify'
import { type Address, getAddress, type Hex } from 'viem'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStores } from '../../src/app/stores/sqlite.js'
import type { Stores } from '../../src/app/stores/stores.js'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import { loadSignerRecovery } from '../../src/chain/signer-recovery.js'
import {
  createSignatureCheck,
  createWriteCheck,
  type IsContractSignature,
} from '../../src/directory/listings/signed-write.js'
import { createWriteQuota } from '../../src/directory/listings/write-limits.js'
import { createFeedbackMaker } from '../../src/directory/ratings/feedback.js'
import { createRatings, type FindPayment } from '../../src/directory/ratings/ratings.js'
import { ratingRoutes } from '../../src/directory/ratings/routes.js'
import type { Pricing } from '../../src/directory/store/listings.js'
import { installErrorHandling } from '../../src/http/errors.js'
import {
  anAccount,
  aSignedWrite,
  asset,
  chainId,
  directoryUrl,
  network,
  startSeconds,
} from '../support/a-directory.js'
import { aQuote, inEuros, save } from '../unit/discovery/a-catalog.js'

const seller = anAccount()
const buyer = anAccount()
const stranger = anAccount()
const lower = ({ address }: { address: Address }) => address.toLowerCase() as Address
const url = 'https://api.example/weather'
const tides = 'https://api.example/tides'

let stores: Stores
let app: FastifyInstance
let clock: { seconds: number }
let payments: Map<Hex, Exclude<Awaited<ReturnType<FindPayment>>, undefined>>
let isContractSignature: IsContractSignature
let keccak256: Awaited<ReturnType<typeof createKeccak256>>
let recovery: Awaited<ReturnType<typeof loadSignerRecovery>>
let world: { isDiskLow: boolean; blocked: Address[] }
/** What each payer got from the addresses that were asked about. */
let given: Map<Address, bigint>
let ratings: ReturnType<typeof createRatings>

beforeAll(async () => {
  keccak256 = await createKeccak256()
  recovery = await loadSignerRecovery(keccak256)
})
beforeEach(async () => {
  stores = openSqliteStores(':memory:')
  clock = { seconds: startSeconds }
  payments = new Map()
  isContractSignature = async () => false
  world = { isDiskLow: false, blocked: [] }
  given = new Map()
  const { listings, history, ratings: store } = stores
  const now = () => clock.seconds * 1_000
  const checkSignature = createSignatureCheck({
    ...{ chainId, recovery },
    isContractSignature: (claim) => isContractSignature(claim),
  })
  const common = { listings, audience: directoryUrl, now }
  ratings = createRatings({
    ...{ ...common, store, history, network, checkSignature },
    check: createWriteCheck({ ...common, chainId, checkSignature, keccak256 }),
    quota: createWriteQuota({ listings, maxNewOwners: 0, isDiskLow: () => false, now }),
    findPayment: async (_network, payer, nonce, which) => {
      const found = payments.get(nonce)
      if (found === undefined || 'queries' in found) return found
      const { status } = found
      const isMeant = lower({ address: status.payer as Address }) === payer
      return isMeant && status.asset.toLowerCase() === which.asset ? found : undefined
    },
    isRelayer: () => false,
    refundWallets: new Map(),
    readReceived: async ({ from, to }) =>
      from.includes(lower(seller)) ? (given.get(to) ?? 0n) : 0n,
    isPayerBlocked: (payer) => world.blocked.includes(payer),
    isDiskLow: () => world.isDiskLow,
  })
  const feedback = createFeedbackMaker({
    ...{ ratings, rpc: undefined, reputationRegistry: asset, identityRegistry: asset },
    ...{ directoryUrl, keccak256, checksum: getAddress, now },
  })
  app = fastify()
  installErrorHandling(app)
  await app.register(ratingRoutes, { ratings, feedback, store, listings, checksum: getAddress })
  await save(listings, { id: 'weather', owner: lower(seller), payTo: lower(seller) }, [
    { url },
    { url: tides },
  ])
})
afterEach(async () => {
  await app.close()
  await stores.close()
})

let nonces = 0

/** Lets the journal know a payment, of the buyer to the seller for the weather unless said. */
function pay(
  over: Partial<PaymentStatus> = {},
  resourceUrl = url,
  toolName?: string,
  scheme: 'exact' | 'upto' = 'exact',
): Hex {
  const nonce: Hex = `0x${(++nonces).toString(16).padStart(64, '0')}`
  const status = {
    settlementId: `settlement-${nonces}`,
    ...{
      network,
      asset,
      nonce,
      amount: '10000',
      symbol: 'USDC',
      state: 'confirmed',
      transaction: nonce,
    },
    ...{ payer: buyer.address, payTo: seller.address, blockNumber: 7 },
    createdAt: new Date(clock.seconds * 1_000).toISOString(),
    ...over,
  } as PaymentStatus
  payments.set(nonce, { status, resourceUrl, toolName, scheme })
  return nonce
}

async function sign(nonce: Hex, over: Partial<RatingJson> = {}, by = buyer, chain = chainId) {
  const message: RatingJson = {
    ...{ audience: directoryUrl, network, asset, payer: buyer.address, nonce, resource: url },
    ...{ toolName: '', score: 87, tag: 'quick', link: '' },
    ...{ issuedAt: startSeconds, deadline: startSeconds + 600 },
    ...over,
  }
  return { message, signature: await by.signTypedData(ratingTypedData(chain, message)) }
}

async function post(payload: object) {
  const answer = await app.inject({ method: 'POST', url: '/api/ratings', payload })
  return { status: answer.statusCode, body: answer.json() }
}

/** Rates, and gives status and code. */
async function refusal(...signing: Parameters<typeof sign>) {
  const { status, body } = await post(await sign(...signing))
  return [status, body.error]
}

const read = async (path: string) => {
  const answer = await app.inject(path)
  return { status: answer.statusCode, body: answer.json() }
}
const page = (query = '') => read(`/api/merchants/weather/endpoints/1/ratings${query}`)

async function answer(rating: string, text: string, by = seller, message: object = {}) {
  const payload = await aSignedWrite(by, {
    action: 'rating.answer',
    body: { rating, text },
    message: { payTo: seller.address, ...message },
  })
  const path = '/api/merchants/weather/rating-answer'
  const answer = await app.inject({ method: 'POST', url: path, payload })
  return { status: answer.statusCode, body: answer.json() }
}

describe('a rating', () => {
  it('of a payment is kept and published with what proves it', async () => {
    const nonce = pay()
    const link = 'https://buyer.example/why?a=1'
    const request = await sign(nonce, { link })
    const { status, body } = await post(request)
    const view = {
      ...{
        id: 'settlement-1',
        score: 87,
        tag: 'quick',
        link,
        amount: '10000',
        weight: '10000',
        transaction: nonce,
      },
      ...{ payer: buyer.address, asset: getAddress(asset), ratedAt: startSeconds, answer: null },
    }
    const id = body.id
    expect([status, body]).toEqual([
      201,
      {
        ...{ ...view, id, network, payTo: seller.address, resource: url },
        message: { ...request.message, asset, payer: lower(buyer) },
        signature: request.signature,
      },
    ])
    expect(await read(`/api/ratings/${id}`)).toEqual({ status: 200, body })
    expect((await page()).body).toEqual({
      merchant: 'weather',
      endpoint: 1,
      rating: { average: 87, count: 1, payers: 1, topPayerShare: 1 },
      ratings: [{ ...view, id }],
      next: null,
    })
    const other = await read('/api/merchants/weather/endpoints/2/ratings')
    expect(other.body).toMatchObject({ rating: null, ratings: [] })
  })

  it('is read page by page, newest first', async () => {
    for (const score of [1, 2, 3]) await post(await sign(pay(), { score }))
    const first = (await page('?limit=2')).body
    expect(first.ratings.map(({ score }: { score: number }) => score)).toEqual([3, 2])
    const last = (await page(`?limit=2&before=${first.next}`)).body
    expect(last).toMatchObject({ ratings: [{ score: 1 }], next: null })
  })

  it('is one a payment, whatever it says the second time', async () => {
    const nonce = pay()
    const request = await sign(nonce)
    expect((await post(request)).status).toBe(201)
    expect((await post(request)).body.error).toBe('already_rated')
    expect(await refusal(nonce, { score: 0 })).toEqual([409, 'already_rated'])
    expect((await page()).body.rating).toMatchObject({ average: 87, count: 1 })
  })

  it('takes a confirmed payment of that payer in that token', async () => {
    expect(await refusal(`0x${'ab'.repeat(32)}`)).toEqual([404, 'payment_not_found'])
    expect(await refusal(pay(), { asset: seller.address })).toEqual([404, 'payment_not_found'])
    const others = pay({ payer: stranger.address })
    expect(await refusal(others)).toEqual([404, 'payment_not_found'])
    for (const state of ['queued', 'submitted', 'failed'] as const) {
      expect(await refusal(pay({ state }))).toEqual([409, 'payment_not_confirmed'])
    }
    const twice = pay()
    payments.set(twice, { queries: ['method=eip3009', 'method=permit2'] })
    expect(await refusal(twice)).toEqual([409, 'payment_unclear'])
    const { body } = await post(await sign(`0x${'ab'.repeat(32)}`))
    expect(body.message).toContain('channel')
  })

  it('takes a payment for that endpoint alone', async () => {
    expect(await refusal(pay({}, tides))).toEqual([403, 'payment_elsewhere'])
    expect(await refusal(pay(), { resource: tides })).toEqual([403, 'payment_elsewhere'])
    expect(await refusal(pay(), { toolName: 'forecast' })).toEqual([403, 'payment_elsewhere'])
    expect(await refusal(pay(), { resource: 'https://a.example' })).toEqual([
      403,
      'payment_elsewhere',
    ])
    expect(await refusal(pay({ payTo: stranger.address }))).toEqual([403, 'payment_elsewhere'])
    const nameless = pay()
    const { status } = payments.get(nameless) as { status: PaymentStatus }
    payments.set(nameless, {
      status,
      resourceUrl: undefined,
      toolName: undefined,
      scheme: 'exact',
    })
    expect(await refusal(nameless)).toEqual([409, 'payment_unclear'])
    // The query belongs to the buyer.
    expect((await post(await sign(pay({}, `${url}?city=Oslo`)))).status).toBe(201)
  })

  it('takes a payment for an endpoint whose listed URL has a query, which no row keeps', async () => {
    const inKelvin = `${url}?unit=kelvin`
    const merchant = { id: 'weather', owner: lower(seller), payTo: lower(seller) }
    await save(stores.listings, merchant, [{ url }, { url: inKelvin }], 1_000)
    expect((await post(await sign(pay(), { resource: inKelvin }))).status).toBe(201)
    expect((await post(await sign(pay(), { resource: url }))).status).toBe(201)
    expect(await refusal(pay({}, tides), { resource: inKelvin })).toEqual([
      403,
      'payment_elsewhere',
    ])
  })

  const dear = 'https://api.example/dear'
  const merchant = () => ({ id: 'weather', owner: lower(seller), payTo: lower(seller) })
  const sell = (price: bigint, accepts: object[], at: number, pricing: Pricing = 'fixed') =>
    save(
      stores.listings,
      merchant(),
      [{ url: dear, price, pricing, accepts: accepts as never }],
      at,
    )
  /** Rates what was paid for at that second. */
  const rateAt = (seconds: number, over: Partial<PaymentStatus>, scheme?: 'upto') => {
    const createdAt = new Date(seconds * 1_000).toISOString()
    return refusal(pay({ createdAt, ...over }, dear, undefined, scheme), { resource: dear })
  }
  const elsewhere = [403, 'payment_elsewhere']
  const kept = [201, undefined]

  it('takes a payment of the price that was asked when it was paid', async () => {
    const inEurc = (amount: string) => aQuote({ asset: inEuros.asset, amount })
    const euros = (amount: string) =>
      refusal(pay({ asset: inEuros.asset, symbol: 'EURC', amount }, dear), {
        ...{ resource: dear, asset: inEuros.asset },
      })
    await sell(50_000n, [aQuote({ amount: '50000' })], 10_000)
    expect(await rateAt(20_000, { amount: '49999' })).toEqual(elsewhere)
    expect(await euros('50000')).toEqual(elsewhere)
    expect(await rateAt(20_000, { amount: '50000' })).toEqual(kept)
    // A payment of the price before still counts, if it was made then; the 402 may take another token too.
    await sell(90_000n, [aQuote({ amount: '90000' }), inEurc('80000')], 100_000)
    expect(await rateAt(20_001, { amount: '50000' })).toEqual(kept)
    expect(await rateAt(100_500, { amount: '50000' })).toEqual(kept)
    expect(await rateAt(101_000, { amount: '50000' })).toEqual(elsewhere)
    expect(await rateAt(101_000, { amount: '89999' })).toEqual(elsewhere)
    expect(await rateAt(101_000, { amount: '90000' })).toEqual(kept)
    expect(await euros('79999')).toEqual(elsewhere)
    expect(await euros('80000')).toEqual(kept)
    // A price that was lowered later makes no earlier payment enough.
    await sell(100n, [aQuote({ amount: '100' })], 300_000)
    expect(await rateAt(150_000, { amount: '100' })).toEqual(elsewhere)
  })

  it('takes a payment by a scheme that asked, and no less than the price where another asked for less', async () => {
    const batch = aQuote({ scheme: 'batch-settlement', amount: '1' })
    await sell(50_000n, [aQuote({ amount: '50000' }), batch], 10_000)
    expect(await rateAt(20_000, { amount: '1' })).toEqual(elsewhere)
    expect(await rateAt(20_000, { amount: '50000' }, 'upto')).toEqual(elsewhere)
    expect(await rateAt(20_000, { amount: '50000' })).toEqual(kept)
    await sell(50_000n, [aQuote({ scheme: 'upto', amount: '50000' })], 30_000, 'metered')
    expect(await rateAt(40_000, { amount: '50000' })).toEqual(elsewhere)
  })

  it.each([
    [200_000n, '19999', '20000'],
    [50_000n, '9999', '10000'],
    [10_000n, '9999', '10000'],
    [4_000n, '3999', '4000'],
  ])('takes a part of a ceiling of %d from %s on no, from %s on yes', async (ceiling, no, yes) => {
    const accepts = ['upto', 'exact'].map((scheme) => aQuote({ scheme, amount: String(ceiling) }))
    await sell(ceiling, accepts, 10_000, 'metered')
    expect(await rateAt(20_000, { amount: no }, 'upto')).toEqual(elsewhere)
    expect(await rateAt(20_000, { amount: yes }, 'upto')).toEqual(kept)
    // Who pays by exact pays the whole price.
    expect(await rateAt(20_000, { amount: String(ceiling - 1n) })).toEqual(elsewhere)
    expect(await rateAt(20_000, { amount: String(ceiling) })).toEqual(kept)
  })

  it('weighs what was paid, at most the price that was asked', async () => {
    await sell(50_000n, [aQuote({ scheme: 'upto', amount: '50000' })], 10_000, 'metered')
    const rate = async (amount: string, score: number) => {
      const nonce = pay({ amount }, dear, undefined, 'upto')
      return (await post(await sign(nonce, { resource: dear, score }))).body.weight
    }
    expect(await rate('10000', 0)).toBe('10000')
    expect(await rate('900000', 100)).toBe('50000')
    const [endpoint] = await stores.listings.endpointsOf('weather')
    const { body } = await read(`/api/merchants/weather/endpoints/${endpoint?.id}/ratings`)
    expect(body.rating).toMatchObject({ average: 83.3, count: 2 })
  })

  it('weighs nothing where the money came from the recipient, and less where a part did', async () => {
    const rateBy = async (by: typeof buyer, score: number) => {
      const nonce = pay({ payer: by.address })
      return (await post(await sign(nonce, { score, payer: by.address }, by))).body.weight
    }
    given.set(lower(buyer), 10_000n)
    expect(await rateBy(buyer, 100)).toBe('0')
    expect((await page()).body).toMatchObject({ rating: null, ratings: [{ weight: '0' }] })
    // The same gift is not taken off twice.
    expect(await rateBy(buyer, 100)).toBe('10000')
    given.set(lower(stranger), 4_000n)
    expect(await rateBy(stranger, 0)).toBe('6000')
    expect((await page()).body.rating).toMatchObject({ average: 62.5, count: 2 })
  })

  it('loses its weight by a refund after it, however often the refund is seen', async () => {
    await post(await sign(pay(), { score: 0 }))
    await post(
      await sign(
        pay({ payer: stranger.address }),
        { score: 100, payer: stranger.address },
        stranger,
      ),
    )
    given.set(lower(buyer), 9_000n)
    for (let i = 0; i < 3; i++) await ratings.reweigh(lower(seller), lower(buyer))
    expect((await page()).body.rating).toMatchObject({ average: 90.9, count: 2 })
    given.set(lower(buyer), 10_000n)
    await ratings.reweigh(lower(seller), lower(buyer))
    expect((await page()).body.rating).toMatchObject({ average: 100, count: 1 })
  })

  it('of a tool takes a payment that names the tool, where its server has several', async () => {
    const server = 'https://tools.example/mcp'
    const tool = (toolName: string) => ({ url: server, method: 'MCP' as const, toolName })
    const merchant = { id: 'tools', owner: lower(seller), payTo: lower(seller) }
    await save(stores.listings, merchant, [tool('sum'), tool('mean')])
    const rate = (nonce: Hex, toolName: string) => refusal(nonce, { resource: server, toolName })
    expect(await rate(pay({}, server), 'sum')).toEqual([403, 'payment_elsewhere'])
    expect(await rate(pay({}, server, 'mean'), 'sum')).toEqual([403, 'payment_elsewhere'])
    expect(await rate(pay({}, server, 'sum'), '')).toEqual([403, 'payment_elsewhere'])
    expect(await rate(pay({}, server, 'sum'), 'sum')).toEqual([201, undefined])
    const [first] = await stores.listings.endpointsOf('tools')
    const { body } = await read(`/api/merchants/tools/endpoints/${first?.id}/ratings`)
    expect(body).toMatchObject({ rating: { count: 1 }, ratings: [{ score: 87 }] })
  })

  it('does not count for a stranger who lists the address that was paid', async () => {
    await save(stores.listings, { id: 'copy', owner: lower(stranger), payTo: lower(seller) }, [
      { url },
      { url: 'https://copy.example' },
    ])
    const copied = pay({}, 'https://copy.example')
    expect(await refusal(copied, { resource: 'https://copy.example' })).toEqual([
      403,
      'payment_elsewhere',
    ])
    await post(await sign(pay()))
    const { body } = await read('/api/merchants/copy/endpoints/3/ratings')
    expect(body).toMatchObject({ rating: null, ratings: [] })
  })

  it('of a payment to oneself is refused', async () => {
    const own = pay({ payer: seller.address })
    expect(await refusal(own, { payer: seller.address }, seller)).toEqual([403, 'self_rating'])
    const confirmation = { owner: lower(stranger), payTo: lower(seller) }
    const ownedBy = { id: 'weather', owner: lower(stranger), payTo: lower(seller), confirmation }
    await save(stores.listings, ownedBy, [{ url }])
    // The owner is another key now, and the key that is paid is still the payer.
    const byRecipient = pay({ payer: seller.address })
    expect(await refusal(byRecipient, { payer: seller.address }, seller)).toEqual([
      403,
      'self_rating',
    ])
    const byOwner = pay({ payer: stranger.address })
    expect(await refusal(byOwner, { payer: stranger.address }, stranger)).toEqual([
      403,
      'self_rating',
    ])
    expect((await post(await sign(pay()))).status).toBe(201)
  })

  it('is signed by the payer, for this directory, this chain and this moment', async () => {
    expect(await refusal(pay(), {}, stranger)).toEqual([401, 'invalid_signature'])
    // A stranger is not told what was paid for.
    const elsewhere = pay({}, 'https://api.example.com/private/42')
    expect(await refusal(elsewhere, {}, stranger)).toEqual([401, 'invalid_signature'])
    expect(await refusal(pay(), {}, buyer, 5_042_002)).toEqual([400, 'wrong_chain'])
    expect(await refusal(pay(), { network: 'eip155:5042002' })).toEqual([400, 'wrong_chain'])
    expect(await refusal(pay(), { audience: 'https://other.example' })).toEqual([
      400,
      'wrong_audience',
    ])
    expect(await refusal(pay(), { issuedAt: startSeconds + 61 })).toEqual([400, 'issued_in_future'])
    expect(await refusal(pay(), { deadline: startSeconds + 601 })).toEqual([
      400,
      'deadline_too_far',
    ])
    const nonce = pay()
    const signed = await sign(nonce)
    for (const part of [{ score: 88 }, { tag: 'slow' }, { link: 'https://x.example/' }]) {
      const { body } = await post({ ...signed, message: { ...signed.message, ...part } })
      expect(body.error).toBe('invalid_signature')
    }
    clock.seconds += 600
    expect((await post(signed)).body.error).toBe('write_expired')
  })

  it('may be signed by a contract wallet, which is asked only for a payment that is known', async () => {
    const asked: Address[] = []
    isContractSignature = async ({ address }) => {
      asked.push(address)
      return true
    }
    expect(await refusal(`0x${'ab'.repeat(32)}`, {}, stranger)).toEqual([404, 'payment_not_found'])
    expect(asked).toEqual([])
    expect((await post(await sign(pay(), {}, stranger))).status).toBe(201)
    expect(asked).toEqual([lower(buyer)])
    isContractSignature = async () => {
      throw new RpcUnavailableError('the node is away')
    }
    expect(await refusal(pay(), {}, stranger)).toEqual([503, 'chain_unavailable'])
  })

  it.each([
    ['score', 101],
    ['score', -1],
    ['score', 1.5],
    ['score', '100 '],
    ['tag', 'x'.repeat(33)],
    ['tag', ' quick'],
    ['tag', 'quíck'],
    ['tag', 'qu\u202eick'],
    ['tag', 'two\nlines'],
    ['link', 'http://buyer.example/'],
    ['link', 'https://user@buyer.example/'],
    ['link', 'https://10.0.0.1/'],
    ['link', 'https://localhost/'],
    ['link', 'https://bücher.example/'],
    ['link', 'https://a.example\\@b.example/'],
    ['link', `https://buyer.example/${'x'.repeat(300)}`],
    ['link', 'javascript:alert(1)'],
    ['resource', `https://api.example/${'x'.repeat(2_048)}`],
    ['toolName', 'two words'],
    ['nonce', '0x12'],
    ['payer', 'me'],
    ['more', 'than is known'],
  ])('with a wrong %s is refused by name: %j', async (member, value) => {
    const { message, signature } = await sign(pay())
    const { status, body } = await post({ message: { ...message, [member]: value }, signature })
    expect([status, body.error]).toEqual([400, 'invalid_rating'])
    expect(body.message).toContain(member)
  })

  it('is refused of a payer whom the operator blocks, and on a disk that is nearly full', async () => {
    world.blocked = [lower(buyer)]
    expect(await refusal(pay())).toEqual([403, 'rater_blocked'])
    world = { isDiskLow: true, blocked: [] }
    expect(await refusal(pay())).toEqual([503, 'storage_low'])
  })

  it('that the operator hides is gone from list, figures and look-up, with the reason', async () => {
    const { id } = (await post(await sign(pay()))).body
    await stores.ratings.setHidden(id, 'an insult')
    expect((await page()).body).toMatchObject({ rating: null, ratings: [] })
    const { status, body } = await read(`/api/ratings/${id}`)
    expect([status, body.error]).toEqual([404, 'rating_not_found'])
    expect(body.message).toBe('The operator hides this rating: an insult.')
    expect((await answer(id, 'Hm.')).body.error).toBe('rating_not_found')
  })
})

describe('the owner', () => {
  it('answers a rating once, and cannot remove it', async () => {
    const { id } = (await post(await sign(pay(), { score: 3 }))).body
    const first = await answer(id, ' Sorry.\nIt is mended. ')
    const kept = { text: 'Sorry.\nIt is mended.', at: startSeconds }
    expect(first).toMatchObject({ status: 200, body: { id, score: 3, answer: kept } })
    const second = await answer(id, 'No!')
    expect([second.status, second.body.error]).toEqual([409, 'already_answered'])
    expect((await page()).body.ratings).toMatchObject([{ id, answer: kept }])
    // The listing is deleted, and made anew.
    await save(stores.listings, { id: 'weather', owner: lower(seller), payTo: lower(seller) }, [])
    await save(stores.listings, { id: 'reborn', owner: lower(seller), payTo: lower(seller) }, [
      { url },
    ])
    const [entry] = await stores.listings.scanEntries(0, 1)
    const { body } = await read(`/api/merchants/reborn/endpoints/${entry?.endpoint.id}/ratings`)
    expect(body).toMatchObject({ rating: { count: 1, average: 3 }, ratings: [{ id }] })
  })

  it('is who answers, for an address that is proven, about their own rating', async () => {
    const { id } = (await post(await sign(pay()))).body
    expect((await answer(id, 'Hi.', stranger)).body.error).toBe('not_owner')
    expect((await answer('nothing', 'Hi.')).body.error).toBe('rating_not_found')
    expect((await answer(id, '')).body.error).toBe('invalid_listing')
    expect((await answer(id, 'x'.repeat(501))).body.error).toBe('invalid_listing')
    expect((await answer(id, 'a\u202eb')).body.error).toBe('invalid_listing')
    const unproven = { id: 'weather', owner: lower(stranger), payTo: lower(seller) }
    await save(stores.listings, unproven, [{ url }])
    expect((await answer(id, 'Hi.', stranger)).body.error).toBe('pay_to_unproven')
    await save(stores.listings, { ...unproven, payTo: lower(stranger) }, [{ url }])
    const elsewhere = await answer(id, 'Hi.', stranger, { payTo: stranger.address })
    expect(elsewhere.body.error).toBe('rating_not_found')
    expect((await read(`/api/ratings/${id}`)).body.answer).toBeNull()
  })

  it('gets no call for the registry without an agent, or without a registry', async () => {
    const { id } = (await post(await sign(pay()))).body
    for (const path of ['feedback', 'feedback/7']) {
      const { status, body } = await read(`/api/ratings/${id}/${path}`)
      expect([status, body.error]).toEqual([409, 'feedback_unavailable'])
    }
    expect((await read('/api/ratings/nothing/feedback')).body.error).toBe('rating_not_found')
  })
})
