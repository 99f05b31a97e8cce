import type { Address, Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import type { EndpointDraft } from '../../../../src/directory/store/listings.js'
import type {
  CheckTarget,
  SignedCheckPayment,
} from '../../../../src/directory/store/paid-checks.js'
import { anEndpoint, asset } from '../../../support/directory/listed-merchants.js'
import { type Engine, network } from '../../app/stores/store-contract.js'

const DAY = 86_400
const bounds = { dailyLimit: 30_000n, gapSeconds: 60 }
const keyOf = (digit: number) => `0x${String(digit).repeat(40)}` as Address
const seller = keyOf(4)

/** What every engine must do with paid checks. */
export function describeChecks(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  let stores: Stores
  let nonces = 0
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    stores = await engine.empty()
  })

  const nonce = () => `0x${(++nonces).toString(16).padStart(64, '0')}` as Hex

  /** Lists endpoints of one owner, who is paid at an address. Gives their ids. */
  async function list(
    merchantId: string,
    urls: string[],
    payTo = seller,
    { owner = seller, ...more }: { owner?: Address } & Partial<EndpointDraft> = {},
  ) {
    const endpoints = urls.map((url): EndpointDraft => ({ ...anEndpoint({ url }), ...more }))
    const { state } = await stores.listings.applyWrite(
      {
        merchantId,
        revision: 1,
        owner,
        nonce: nonce(),
        action: 'listing.create',
        message: '{}',
        body: '{}',
        signature: '0x',
        acceptedAt: 1_000,
      },
      {
        kind: 'save',
        merchant: { name: merchantId, description: '', network, asset, payTo },
        endpoints,
      },
    )
    expect(state).toBe('applied')
    return (await stores.listings.endpointsOf(merchantId)).map(({ id }) => id)
  }

  const targetOf = (endpointId: number, url: string): CheckTarget => ({
    endpointId,
    merchantId: 'a',
    network,
    url,
    method: 'GET',
    toolName: '',
    asset,
    payTo: seller,
    kind: 'oldest',
    block: '192.0.2.0/24',
  })
  const aPayment = (amount = 10_000n): SignedCheckPayment => {
    return { payer: keyOf(7), nonce: nonce(), amount, validBefore: 9_999_999, afterBlock: 1 }
  }
  const figures = () =>
    stores.checks.figures({ asset, mostAtomic: 50_000n, dailyLimit: 1_000_000n })
  const budget = { asset, mostAtomic: 50_000n, dailyLimit: 500_000n }
  const candidates = async (now: number) =>
    (await stores.checks.candidates({ ...budget, now }, 20)).map(({ id }) => id)
  const aVerdict = (reason: 'delivered' | 'no_answer' | 'interrupted', ms: number, at: number) => ({
    reason,
    ms,
    bytes: 2,
    sha256: `0x${'ab'.repeat(32)}` as Hex,
    closedAt: at,
    transaction: `0x${'cd'.repeat(32)}` as Hex,
    checker: null,
    signature: null,
  })

  describe(`paid checks in ${name}`, () => {
    it('are for live endpoints of a proven payee, asked for first, and none twice in seven days', async () => {
      const [one, two] = (await list('a', ['https://a.example/1', 'https://a.example/2'])) as [
        number,
        number,
      ]
      await list('stranger', ['https://b.example/1'], keyOf(5))
      await list('failing', ['https://c.example/1'], seller, { status: 'failing' })
      await list('dear', ['https://d.example/1'], seller, { price: 60_000n })
      const now = 100 * DAY
      expect(await candidates(now)).toEqual([one, two])
      const wish = { owner: seller, merchantId: 'a', endpointId: two, now }
      const first = { ...wish, nonce: nonce() }
      expect(await stores.checks.request(first)).toEqual({ state: 'done', left: 2 })
      expect(await stores.checks.request(first)).toMatchObject({ state: 'replayed' })
      expect(await candidates(now)).toEqual([two, one])
      const target = targetOf(two, 'https://a.example/2')
      const id = (await stores.checks.reserve(target, aPayment(), now, bounds)) as number
      await stores.listings.saveCheck(id, aVerdict('delivered', 20, now + 1))
      expect(await candidates(now + 6 * DAY)).toEqual([one])
      // The oldest check and a first one take turns by what was spent, the oldest first.
      expect(await candidates(now + 8 * DAY)).toEqual([two, one])
      // The same URL under another number is no new endpoint.
      const [again] = await list('again', ['https://a.example/2'])
      expect(await candidates(now + 6 * DAY)).not.toContain(again)
      for (const left of [1, 0]) {
        expect(await stores.checks.request({ ...wish, nonce: nonce() })).toMatchObject({ left })
      }
      const late = { ...wish, nonce: nonce() }
      expect(await stores.checks.request(late)).toMatchObject({ state: 'tooMany' })
      // Another merchant of the same owner is no second purse.
      const other = { ...late, merchantId: 'again' }
      expect(await stores.checks.request(other)).toMatchObject({ state: 'tooMany' })
      expect(await stores.checks.request({ ...late, now: now + DAY })).toMatchObject({ left: 2 })
    })

    it('go on to those who were bought from before, whoever lists something new every day', async () => {
      const start = 1_000 * DAY
      const all = new Map<number, { url: string; price: bigint }>()
      const add = async (id: string, payTo: Address, urls: string[], price: bigint) => {
        const ids = await list(id, urls, payTo, { price, owner: payTo })
        for (const [i, it] of ids.entries()) all.set(it, { url: urls[i] as string, price })
      }
      const key = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as Address
      for (let i = 0; i < 5; i++) {
        await add(`honest-${i}`, key(0xa0 + i), [`https://honest${i}.org/a`], 10_000n)
      }
      const bought = { honest: 0, rival: 0 }
      const daily = 500_000n
      for (let day = 0; day < 15; day++) {
        const urls = Array.from(
          { length: 10 },
          (_, i) => `https://rival.example/q?day=${day}&n=${i}`,
        )
        if (day > 0) await add(`rival-${day}`, key(0xbad0 + day), urls, 50_000n)
        for (let minute = 1; minute < 200; minute++) {
          const now = start + day * DAY + minute * 60
          const left = daily - (await stores.checks.signedAwaySince(start + day * DAY))
          const mostAtomic = left < 50_000n ? left : 50_000n
          if (mostAtomic <= 0n) break
          const limits = { ...budget, mostAtomic, dailyLimit: daily, now }
          const [next] = await stores.checks.candidates(limits, 1)
          if (next === undefined) break
          const { url, price } = all.get(next.id) as { url: string; price: bigint }
          const target = { ...targetOf(next.id, url), kind: next.kind }
          const id = await stores.checks.reserve(target, aPayment(price), now, {
            dailyLimit: daily,
            gapSeconds: 60,
          })
          await stores.listings.saveCheck(id as number, aVerdict('delivered', 20, now + 1))
          bought[url.includes('rival') ? 'rival' : 'honest']++
        }
      }
      // Each honest one at the start, after a week and after two; the rival once a day, and what is due of it.
      expect(bought.honest).toBe(15)
      expect(bought.rival).toBeLessThan(25)
    })

    it('are first checks of the cheapest, one a day for each site and each block of addresses', async () => {
      const dear = await list('dear', ['https://dear.org/1'], seller, { price: 50_000n })
      const [one, two] = await list('many', ['https://a.many.org/1', 'https://b.many.org/2'])
      const now = 100 * DAY
      expect(await candidates(now)).toEqual([one, two, ...dear])
      const target = {
        ...targetOf(one as number, 'https://a.many.org/1'),
        kind: 'first' as const,
        block: '192.0.2.0/24',
      }
      await stores.checks.reserve(target, aPayment(), now, bounds)
      expect(await candidates(now + 60)).toEqual(dear)
      expect(await candidates(now + DAY)).toEqual([two, ...dear])
      expect(await stores.checks.isFirstOfBlock('192.0.2.0/24', now + 60)).toBe(false)
      expect(await stores.checks.isFirstOfBlock('192.0.2.0/24', now + DAY)).toBe(true)
      expect(await stores.checks.isFirstOfBlock('198.51.100.0/24', now + 60)).toBe(true)
    })

    it('are drawn by lot for less than half of the money, where customers who count weigh', async () => {
      const ids = await list(
        'a',
        Array.from({ length: 40 }, (_, i) => `https://shop${i}.org/1`),
      )
      const now = 100 * DAY
      for (const [i, id] of ids.entries()) {
        const target = targetOf(id, `https://shop${i}.org/1`)
        await stores.checks.reserve(target, aPayment(1n), now + i * 60, {
          ...bounds,
          dailyLimit: 10n ** 9n,
        })
      }
      const figures = { '24h': 0, '7d': 0, '30d': 1_000 }
      const place = { merchantId: 'a', endpointId: ids[39] as number, first: 1, last: 1 }
      const usage = {
        calls: figures,
        payers: figures,
        onlyHere: figures,
        topPayerShare: 1,
        settleP50Ms: 1,
        settleP95Ms: 1,
        firstPaid: 1,
        lastPaid: 1,
      }
      await stores.usage.save([{ place, usage, dueAt: null }])
      const later = now + 8 * DAY
      const [first] = await stores.checks.candidates({ ...budget, now: later }, 1)
      expect(first).toEqual({ id: ids[0], kind: 'oldest' })
      const target = targetOf(ids[0] as number, 'https://shop0.org/1')
      await stores.checks.reserve(target, aPayment(10_000n), later, bounds)
      const drawn = new Map<number, number>()
      for (let i = 0; i < 20; i++) {
        const [next] = await stores.checks.candidates({ ...budget, now: later + 60 }, 1)
        expect(next?.kind).toBe('lot')
        drawn.set(next?.id ?? 0, (drawn.get(next?.id ?? 0) ?? 0) + 1)
      }
      expect(drawn.get(ids[39] as number)).toBeGreaterThan(12)
    })

    it('go on after a clock that was ahead for a while', async () => {
      const [one] = (await list('a', ['https://a.example/1'])) as [number]
      const target = targetOf(one, 'https://a.example/1')
      const now = 100 * DAY
      await stores.checks.reserve(target, aPayment(), now + 3_650 * DAY, bounds)
      expect(await stores.checks.lastStart(now)).toBe(0)
      expect(await stores.checks.reserve(target, aPayment(), now, bounds)).toBeDefined()
      expect(await stores.checks.lastStart(now)).toBe(now)
    })

    it('come to our own endpoints every hour, as far as half of the money of the day goes', async () => {
      const hosted = ['https://own.example/1', 'https://own.example/2']
      const [one, two] = (await list('own', hosted)) as [number, number]
      const [other] = (await list('a', ['https://a.example/1'])) as [number]
      const next = async (now: number, dailyLimit = 1_000_000n) =>
        (await stores.checks.candidates({ asset, mostAtomic: 50_000n, dailyLimit, now }, 20)).map(
          ({ id }) => id,
        )
      const check = async (
        endpoint: number,
        url: string,
        reason: 'delivered' | 'no_answer',
        at: number,
      ) => {
        const id = await stores.checks.reserve(targetOf(endpoint, url), aPayment(), at, bounds)
        await stores.listings.saveCheck(id as number, aVerdict(reason, 20, at + 1))
      }
      for (const id of [one, two]) await stores.listings.setHosted(id, true, 1_000)
      const now = 100 * DAY
      // Never checked: ours first, and after what an owner asks for.
      expect(await next(now)).toEqual([one, two, other])
      expect((await figures()).own).toEqual([])
      await stores.checks.request({
        owner: seller,
        nonce: nonce(),
        merchantId: 'a',
        endpointId: other,
        now,
      })
      expect(await next(now)).toEqual([other, one, two])
      await check(one, hosted[0] as string, 'delivered', now)
      await check(two, hosted[1] as string, 'no_answer', now + 60)
      expect(await next(now + 3_599)).toEqual([other])
      // Later on ours come before all others.
      expect(await next(now + 3_600)).toEqual([one, other])
      expect(await next(now + 3_660)).toEqual([one, two, other])
      const { own, ownPauseSeconds } = await figures()
      expect(ownPauseSeconds).toBe(3_600)
      expect(own.sort((a, b) => a.at - b.at)).toEqual([
        { reason: 'delivered', at: now + 1 },
        { reason: 'no_answer', at: now + 61 },
      ])
      // Both cost 0.02 together: half of 0.10 buys them 2.5 times a day.
      const pause = (24 * 3_600) / 2.5
      expect(await next(now + pause - 1, 100_000n)).toEqual([other])
      expect(await next(now + pause, 100_000n)).toEqual([one, other])
      // An attempt that said nothing is not made again at once, and the others have their turns.
      await stores.checks.keepUnpaid(targetOf(one, hosted[0] as string), undefined, now + pause)
      expect(await next(now + pause + 1, 100_000n)).toEqual([other])
      await check(other, 'https://a.example/1', 'delivered', now + pause + 60)
      expect(await next(now + pause + 3_600, 100_000n)).toEqual([one, two])
    })

    it('reserve no more than a day may cost, and one a minute', async () => {
      const target = targetOf(1, 'https://a.example/1')
      const reserve = (now: number, amount = 10_000n) =>
        stores.checks.reserve(target, aPayment(amount), now, bounds)
      const now = 100 * DAY
      const both = await Promise.all([reserve(now), reserve(now)])
      expect(both.filter((id) => id !== undefined)).toHaveLength(1)
      expect(await reserve(now + 59)).toBeUndefined()
      expect(await reserve(now + 60, 20_001n)).toBeUndefined()
      expect(await reserve(now + 60, 20_000n)).toEqual(expect.any(Number))
      expect(await reserve(now + DAY - 1, 1n)).toBeUndefined()
      expect(await stores.checks.signedAwaySince(now)).toBe(30_000n)
      expect(await reserve(now + DAY)).toEqual(expect.any(Number))
    })

    it('publish the last one, the share of ten and the median, and nothing of one that broke off', async () => {
      const url = 'https://a.example/1'
      const [endpoint] = (await list('a', [url])) as [number]
      const before = await stores.listings.changeOf('a')
      const check = async (reason: 'delivered' | 'no_answer' | 'interrupted', ms: number) => {
        const at = (++nonces + 100) * DAY
        const id = await stores.checks.reserve(targetOf(endpoint, url), aPayment(), at, bounds)
        await stores.listings.saveCheck(id as number, aVerdict(reason, ms, at))
        return id as number
      }
      await stores.checks.request({
        owner: seller,
        nonce: nonce(),
        merchantId: 'a',
        endpointId: endpoint,
        now: 1_000,
      })
      await check('interrupted', 1)
      // Who asked may ask again: it does not go on by itself.
      expect(await candidates((nonces + 100) * DAY + 60)).toEqual([])
      const delivery = async () => (await stores.listings.endpointsOf('a'))[0]?.delivery
      expect(await delivery()).toBeNull()
      expect(await stores.listings.changeOf('a')).toBe(before)
      for (let i = 0; i < 10; i++) await check('no_answer', 1)
      for (const ms of [30, 10, 20]) await check('delivered', ms)
      expect(await delivery()).toMatchObject({ share: 0.3, p50Ms: 20, outdated: false })
      const last = await check('no_answer', 5)
      expect(await delivery()).toMatchObject({ share: 0.3, last: { reason: 'no_answer' } })
      expect(await stores.listings.changeOf('a')).toBeGreaterThan(before)
      // A verdict stands.
      await stores.listings.saveCheck(last, aVerdict('delivered', 1, 1))
      expect(await delivery()).toMatchObject({ last: { reason: 'no_answer' } })
      const news = await stores.events.queued(99)
      expect(news.filter(({ type }) => type === 'endpoint.not_delivered')).toHaveLength(11)
      expect(await stores.checks.open(9)).toEqual([])
      const { byReason } = await figures()
      expect(byReason.find(({ reason }) => reason === 'delivered')?.count).toBe(3)
    })
  })
}
