import { type RatingJson, ratingTypedData } from '@arcus/protocol/listing/rating-message'
import { type Address, getAddress, type Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import type { Pricing } from '../../src/directory/store/listings.js'
import {
  anAccount,
  aSignedWrite,
  asset,
  chainId,
  directoryUrl,
  network,
  startDirectory,
  startSeconds,
  type TestDirectory,
} from '../support/a-directory.js'
import type { PaymentWish } from '../support/directory/payments.js'
import { aQuote, inEuros, save } from '../unit/discovery/a-catalog.js'

const seller = anAccount()
const buyer = anAccount()
const stranger = anAccount()
const lower = ({ address }: { address: Address }) => address.toLowerCase() as Address
const url = 'https://api.example/weather'
const tides = 'https://api.example/tides'

let directory: TestDirectory
let app: TestDirectory['app']
let stores: TestDirectory['stores']
let blocked: Address[]

beforeEach(async () => {
  blocked = []
  directory = await startDirectory({
    ports: { isPayerBlocked: (payer) => blocked.includes(payer) },
  })
  ;({ app, stores } = directory)
  await save(stores.listings, { id: 'weather', owner: lower(seller), payTo: lower(seller) }, [
    { url },
    { url: tides },
  ])
})
afterEach(() => directory.close())

/** Makes a payment, of the buyer to the seller for the weather unless said. */
async function pay(over: PaymentWish = {}, resourceUrl: string | undefined = url): Promise<Hex> {
  const parties = { payer: lower(buyer), payTo: lower(seller) }
  const [nonce] = await directory.pay({ ...parties, resourceUrl, ...over })
  return nonce as Hex
}

/** The seller sends money to somebody on the chain. */
function give(to: Address, value: bigint): void {
  directory.chain.transfers.push({ asset, from: lower(seller), to, value })
}

async function sign(
  nonce: Hex | Promise<Hex>,
  over: Partial<RatingJson> = {},
  by = buyer,
  chain = chainId,
) {
  const message: RatingJson = {
    ...{
      audience: directoryUrl,
      network,
      asset,
      payer: buyer.address,
      resource: url,
      nonce: await nonce,
    },
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
    const nonce = await pay()
    const link = 'https://buyer.example/why?a=1'
    const request = await sign(nonce, { link })
    const { status, body } = await post(request)
    const view = {
      ...{
        score: 87,
        tag: 'quick',
        link,
        amount: '10000',
        weight: '10000',
        transaction: nonce,
      },
      ...{ payer: buyer.address, asset: getAddress(asset), ratedAt: startSeconds, answer: null },
    }
    const { id } = body
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
    const nonce = await pay()
    const request = await sign(nonce)
    expect((await post(request)).status).toBe(201)
    expect((await post(request)).body.error).toBe('already_rated')
    expect(await refusal(nonce, { score: 0 })).toEqual([409, 'already_rated'])
    expect((await page()).body.rating).toMatchObject({ average: 87, count: 1 })
  })

  it('takes a confirmed payment of that payer in that token', async () => {
    expect(await refusal(`0x${'ab'.repeat(32)}`)).toEqual([404, 'payment_not_found'])
    expect(await refusal(pay(), { asset: seller.address })).toEqual([404, 'payment_not_found'])
    const others = pay({ payer: lower(stranger) })
    expect(await refusal(others)).toEqual([404, 'payment_not_found'])
    for (const state of ['pending', 'failed'] as const) {
      expect(await refusal(pay({ state }))).toEqual([409, 'payment_not_confirmed'])
    }
    const twice = await pay()
    await pay({ nonce: twice, scheme: 'upto' })
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
    expect(await refusal(pay({ payTo: lower(stranger) }))).toEqual([403, 'payment_elsewhere'])
    expect(await refusal(pay({ resourceUrl: undefined }))).toEqual([409, 'payment_unclear'])
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
  const rateAt = (seconds: number, amount: bigint, scheme: 'exact' | 'upto' = 'exact') =>
    refusal(pay({ at: seconds * 1_000, amount, scheme }, dear), { resource: dear })
  const elsewhere = [403, 'payment_elsewhere']
  const kept = [201, undefined]

  it('takes a payment of the price that was asked when it was paid', async () => {
    const inEurc = (amount: string) => aQuote({ asset: inEuros.asset, amount })
    const euros = (amount: bigint) =>
      refusal(pay({ asset: inEuros.asset, amount }, dear), {
        ...{ resource: dear, asset: inEuros.asset },
      })
    await sell(50_000n, [aQuote({ amount: '50000' })], 10_000)
    expect(await rateAt(20_000, 49999n)).toEqual(elsewhere)
    expect(await euros(50000n)).toEqual(elsewhere)
    expect(await rateAt(20_000, 50000n)).toEqual(kept)
    // A payment of the price before still counts, if it was made then; the 402 may take another token too.
    await sell(90_000n, [aQuote({ amount: '90000' }), inEurc('80000')], 100_000)
    expect(await rateAt(20_001, 50000n)).toEqual(kept)
    expect(await rateAt(100_600, 50000n)).toEqual(kept)
    expect(await rateAt(100_601, 50000n)).toEqual(elsewhere)
    expect(await rateAt(101_000, 50000n)).toEqual(elsewhere)
    expect(await rateAt(101_000, 89999n)).toEqual(elsewhere)
    expect(await rateAt(101_000, 90000n)).toEqual(kept)
    expect(await euros(79999n)).toEqual(elsewhere)
    expect(await euros(80000n)).toEqual(kept)
    // A price that was lowered later makes no earlier payment enough.
    await sell(100n, [aQuote({ amount: '100' })], 300_000)
    expect(await rateAt(150_000, 100n)).toEqual(elsewhere)
  })

  it('takes a payment by a scheme that asked, and no less than the price where another asked for less', async () => {
    const batch = aQuote({ scheme: 'batch-settlement', amount: '1' })
    await sell(50_000n, [aQuote({ amount: '50000' }), batch], 10_000)
    expect(await rateAt(20_000, 1n)).toEqual(elsewhere)
    expect(await rateAt(20_000, 50000n, 'upto')).toEqual(elsewhere)
    expect(await rateAt(20_000, 50000n)).toEqual(kept)
    await sell(50_000n, [aQuote({ scheme: 'upto', amount: '50000' })], 30_000, 'metered')
    expect(await rateAt(40_000, 50000n)).toEqual(elsewhere)
  })

  it.each([
    [200_000n, '19999', '20000'],
    [50_000n, '9999', '10000'],
    [10_000n, '9999', '10000'],
    [4_000n, '3999', '4000'],
  ])('takes a part of a ceiling of %d from %s on no, from %s on yes', async (ceiling, no, yes) => {
    const accepts = ['upto', 'exact'].map((scheme) => aQuote({ scheme, amount: String(ceiling) }))
    await sell(ceiling, accepts, 10_000, 'metered')
    expect(await rateAt(20_000, BigInt(no), 'upto')).toEqual(elsewhere)
    expect(await rateAt(20_000, BigInt(yes), 'upto')).toEqual(kept)
    // Who pays by exact pays the whole price.
    expect(await rateAt(20_000, ceiling - 1n)).toEqual(elsewhere)
    expect(await rateAt(20_000, ceiling)).toEqual(kept)
  })

  it('weighs what was paid, at most the price that was asked', async () => {
    await sell(50_000n, [aQuote({ scheme: 'upto', amount: '50000' })], 10_000, 'metered')
    const rate = async (amount: string, score: number) => {
      const nonce = pay({ amount: BigInt(amount), scheme: 'upto' }, dear)
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
      const nonce = pay({ payer: lower(by) })
      return (await post(await sign(nonce, { score, payer: by.address }, by))).body.weight
    }
    give(lower(buyer), 10_000n)
    expect(await rateBy(buyer, 100)).toBe('0')
    expect((await page()).body).toMatchObject({ rating: null, ratings: [{ weight: '0' }] })
    // The same gift is not taken off twice.
    expect(await rateBy(buyer, 100)).toBe('10000')
    give(lower(stranger), 4_000n)
    expect(await rateBy(stranger, 0)).toBe('6000')
    expect((await page()).body.rating).toMatchObject({ average: 62.5, count: 2 })
  })

  it('loses its weight by a refund after it, however often the refund is seen', async () => {
    await post(await sign(pay(), { score: 0 }))
    await post(
      await sign(
        pay({ payer: lower(stranger) }),
        { score: 100, payer: stranger.address },
        stranger,
      ),
    )
    const back = { payer: lower(seller), payTo: lower(buyer) }
    const shown = (rating: object) =>
      vi.waitFor(async () => expect((await page()).body.rating).toMatchObject(rating), 15_000)
    give(lower(buyer), 9_000n)
    for (let i = 0; i < 3; i++) await pay(back)
    await shown({ average: 90.9, count: 2 })
    give(lower(buyer), 1_000n)
    await pay(back)
    await shown({ average: 100, count: 1 })
  })

  it('of a tool takes a payment that names the tool, where its server has several', async () => {
    const server = 'https://tools.example/mcp'
    const tool = (toolName: string) => ({ url: server, method: 'MCP' as const, toolName })
    const merchant = { id: 'tools', owner: lower(seller), payTo: lower(seller) }
    await save(stores.listings, merchant, [tool('sum'), tool('mean')])
    const rate = (nonce: Promise<Hex>, toolName: string) =>
      refusal(nonce, { resource: server, toolName })
    expect(await rate(pay({}, server), 'sum')).toEqual([403, 'payment_elsewhere'])
    expect(await rate(pay({ toolName: 'mean' }, server), 'sum')).toEqual([403, 'payment_elsewhere'])
    expect(await rate(pay({ toolName: 'sum' }, server), '')).toEqual([403, 'payment_elsewhere'])
    expect(await rate(pay({ toolName: 'sum' }, server), 'sum')).toEqual([201, undefined])
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
    const own = pay({ payer: lower(seller) })
    expect(await refusal(own, { payer: seller.address }, seller)).toEqual([403, 'self_rating'])
    const confirmation = { owner: lower(stranger), payTo: lower(seller) }
    const ownedBy = { id: 'weather', owner: lower(stranger), payTo: lower(seller), confirmation }
    await save(stores.listings, ownedBy, [{ url }])
    // The owner is another key now, and the key that is paid is still the payer.
    const byRecipient = pay({ payer: lower(seller) })
    expect(await refusal(byRecipient, { payer: seller.address }, seller)).toEqual([
      403,
      'self_rating',
    ])
    const byOwner = pay({ payer: lower(stranger) })
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
    const nonce = await pay()
    const signed = await sign(nonce)
    for (const part of [{ score: 88 }, { tag: 'slow' }, { link: 'https://x.example/' }]) {
      const { body } = await post({ ...signed, message: { ...signed.message, ...part } })
      expect(body.error).toBe('invalid_signature')
    }
    directory.clock.seconds += 600
    expect((await post(signed)).body.error).toBe('write_expired')
  })

  it('may be signed by a contract wallet, which is asked only for a payment that is known', async () => {
    const asked: Address[] = []
    directory.chain.isContractSignature = async ({ address }) => {
      asked.push(address)
      return true
    }
    expect(await refusal(`0x${'ab'.repeat(32)}`, {}, stranger)).toEqual([404, 'payment_not_found'])
    expect(asked).toEqual([])
    expect((await post(await sign(pay(), {}, stranger))).status).toBe(201)
    expect(asked).toEqual([lower(buyer)])
    directory.chain.isContractSignature = async () => {
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
    blocked = [lower(buyer)]
    expect(await refusal(pay())).toEqual([403, 'rater_blocked'])
    blocked = []
    directory.disk.isLow = true
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
