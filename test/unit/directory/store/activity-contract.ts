import fc from 'fast-check'
import type { Address } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import {
  type ActivityFilter,
  type ActivityStore,
  type NewActivity,
  PAGE_LOOKS_AT,
  type PaymentFilter,
} from '../../../../src/directory/store/activity.js'
import { anActivity } from '../../../support/an-activity.js'
import { save } from '../../../support/directory/a-catalog.js'
import { aJob, anOutcome, type Engine } from '../../app/stores/store-contract.js'

const noon = anActivity().at
const all = { merchantId: 'weather', span: 'd', since: 0 } as const

const day = 86_400_000
const payerOf = (i: number) => `0x${i.toString(16).padStart(40, '0')}` as const

/** What every engine must do with activity. */
export function describeActivity(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  let stores: Stores
  let store: ActivityStore

  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    stores = await engine.empty()
    store = stores.activity
  })

  /** What the journal keeps of a payment whose success was told. */
  async function journalDelivery(id: string, deliveredAt: number): Promise<void> {
    await stores.journal.claim(aJob({ id }), undefined, 0)
    await stores.journal.resolve({ outcomes: [{ id, round: 0, outcome: anOutcome() }], now: 0 })
    await stores.deliveries.leaseDelivery(id, 'token', 1_000)
    await stores.deliveries.completeDelivery(id, 'token', null, deliveredAt)
  }

  describe(`activity on ${name}`, () => {
    it('counts an answer that is kept in the sums alone, without a row', async () => {
      const refused = { kind: 'verify', state: 'invalid', reason: 'x', settlementId: null } as const
      const rows = Array.from({ length: 3 }, () => anActivity({ ...refused, isSumOnly: true }))
      await store.append([...rows, anActivity(refused)])
      const scope = { merchantId: 'weather', span: 'd', since: 0 } as const
      expect(await store.sums(scope)).toMatchObject([{ state: 'invalid', count: 4 }])
      const listed = await store.list({ merchantId: 'weather', limit: 10 })
      expect(listed).toHaveLength(1)
      expect(listed[0]).not.toHaveProperty('isSumOnly')
    })

    it('counts a payment as settled once, however often its success is told', async () => {
      const row = anActivity({ settlementId: 'one' })
      await store.append([row, row])
      await store.append([row])
      const [sum, ...more] = await store.sums(all)
      expect(more).toEqual([])
      expect(sum).toMatchObject({ count: 1, amount: 10_000n })
      expect(await store.list({ merchantId: 'weather', limit: 9 })).toHaveLength(1)
      expect(await store.payers(all)).toMatchObject({ unique: 1, repeat: 0 })
    })

    it('counts it once even when the row is long forgotten', async () => {
      await store.append([anActivity({ settlementId: 'one' })])
      await journalDelivery('one', noon)
      expect(await store.forget(noon + 40 * day, 10)).toBe(1)
      const later = { settlementId: 'one', at: noon + 40 * day }
      await store.append([anActivity(later), anActivity({ ...later, settlementId: 'two' })])
      const rows = await store.list({ merchantId: 'weather', limit: 9 })
      expect(rows.map(({ settlementId }) => settlementId)).toEqual(['two'])
      const counts = (await store.sums(all)).map(({ count }) => count)
      expect(counts).toEqual([1, 1])
    })

    it('stops a sum where 64 bits end, rather than lose the answers that come after', async () => {
      const amount = 8n * 10n ** 18n
      await store.append([anActivity({ amount }), anActivity({ amount })])
      await store.append([anActivity({ amount }), anActivity({ amount: 10n ** 30n })])
      const [sum] = await store.sums(all)
      expect(sum).toMatchObject({ count: 4, amount: 9n * 10n ** 18n })
      expect(await store.payers(all)).toMatchObject({ unique: 1, topAmount: 9n * 10n ** 18n })
    })

    it('keeps sums exact beyond what a double holds', async () => {
      const amount = 9_007_199_254_740_993n
      await store.append([anActivity({ amount }), anActivity({ amount })])
      expect((await store.sums(all))[0]?.amount).toBe(2n * amount)
    })

    const shop = anActivity().payTo
    const buyer = anActivity().payer
    /** Money of the shop to a buyer, for a payment of theirs. */
    const givenBack = (over: Partial<NewActivity> & { payments?: 0 | 1 } = {}) => {
      const { payments = 0, ...rest } = over
      const row = anActivity({ state: 'refunded', payer: shop, payTo: buyer, ...rest })
      return { ...row, refund: { amount: row.amount, payments } }
    }

    it('tells how long an answer took of what was valid or settled only', async () => {
      const states = ['settled', 'failed', 'refused', 'pending'] as const
      await store.append(states.map((state) => anActivity({ state, latencyMs: 500 })))
      await store.append([
        anActivity({ kind: 'verify', state: 'invalid', latencyMs: 1 }),
        anActivity({ kind: 'verify', state: 'valid', latencyMs: 20 }),
      ])
      expect(await store.latencies(all, 'settle')).toEqual([{ upToMs: 500, count: 1 }])
      expect(await store.latencies(all, 'verify')).toEqual([{ upToMs: 20, count: 1 }])
    })

    it('keeps the two digits of a latency that people are told', async () => {
      const taken = [0.2, 9.4, 94, 99.6, 1_234, 2_049, 2_050, 61_000, 9_999_999]
      await store.append(taken.map((latencyMs) => anActivity({ latencyMs })))
      const told = (await store.latencies(all, 'settle')).map(({ upToMs, count }) => [
        upToMs,
        count,
      ])
      expect(told).toEqual([
        [1, 1],
        [9, 1],
        [94, 1],
        [100, 1],
        [1_200, 1],
        [2_000, 1],
        [2_100, 1],
        [61_000, 1],
        [3_600_000, 1],
      ])
    })

    describe('the public list of payments', () => {
      const [buyer2, shop2] = [payerOf(2), payerOf(3)]
      const settled = { state: 'settled', limit: 2 } as const
      /** Reads every page and returns the amounts. */
      async function walk(
        filter: Partial<PaymentFilter>,
      ): Promise<{ pages: number; all: bigint[] }> {
        const all: bigint[] = []
        for (let pages = 1, before: PaymentFilter['before']; ; pages++) {
          const { items, next } = await stores.settlements.page({ ...settled, ...filter, before })
          all.push(...items.map(({ amount }) => amount))
          if (next === undefined) return { pages, all }
          before = next
        }
      }

      it('is newest first, by page, and has what is on the chain only', async () => {
        await store.append([
          anActivity({ amount: 1n, at: noon + 5 }),
          anActivity({ amount: 2n, payer: buyer2 }),
          anActivity({ amount: 3n, at: noon + 9, isSelf: true }),
          anActivity({ amount: 4n, payTo: shop2, payer: buyer2 }),
          anActivity({ amount: 5n, state: 'failed', settlementId: null, transaction: null }),
          anActivity({ amount: 6n, kind: 'verify', state: 'valid', settlementId: null }),
          anActivity({ amount: 7n, transaction: null }),
          givenBack({ amount: 8n }),
        ])
        expect((await walk({})).all).toEqual([3n, 1n, 4n, 2n])
        expect((await walk({ state: 'refunded' })).all).toEqual([8n])
        expect((await walk({ payer: buyer2 })).all).toEqual([4n, 2n])
        expect((await walk({ payTo: shop2 })).all).toEqual([4n])
        expect((await walk({ payTo: shop, payer: buyer2 })).all).toEqual([2n])
        expect((await walk({ since: noon + 5, until: noon + 9 })).all).toEqual([1n])
        expect((await walk({ network: 'eip155:1' })).all).toEqual([])
        const { items } = await stores.settlements.page({ ...settled, limit: 1 })
        expect(items).toMatchObject([{ isSelf: true, state: 'settled', payTo: shop }])
        expect(items[0]).not.toHaveProperty('resource')
      })

      it('compares amounts of any length as numbers', async () => {
        const amounts = [9n, 10n, 99n, 100n, 10n ** 30n]
        await store.append(amounts.map((amount) => anActivity({ amount })))
        const { all: some } = await walk({ minAmount: '10', maxAmount: '100' })
        expect(some).toEqual([100n, 99n, 10n])
        expect((await walk({ minAmount: String(10n ** 30n) })).all).toEqual([10n ** 30n])
        const owned = await store.list({ merchantId: 'weather', limit: 9, minAmount: '100' })
        expect(owned.map(({ amount }) => amount)).toEqual([10n ** 30n, 100n])
        const ofPayer = { merchantId: 'weather', limit: 9, payer: buyer2 }
        expect(await store.list(ofPayer)).toEqual([])
      })

      it('looks through a bounded number of rows, and goes on after them', async () => {
        const rows = Array.from({ length: PAGE_LOOKS_AT + 1 }, (_, i) =>
          anActivity({ at: noon + i }),
        )
        await store.append([anActivity({ amount: 7n, at: noon - 1 }), ...rows])
        const first = await stores.settlements.page({ ...settled, maxAmount: '7' })
        expect(first).toMatchObject({ items: [], next: { at: noon + 1 } })
        expect(await walk({ maxAmount: '7' })).toEqual({ pages: 2, all: [7n] })
        expect((await walk({ limit: 100 })).all).toHaveLength(PAGE_LOOKS_AT + 2)
      })
    })

    it('drops old rows in slices, never the sums', async () => {
      await store.append([anActivity(), anActivity({ at: noon + 1 }), anActivity({ at: noon + 2 })])
      expect(await store.forget(noon + 2, 1)).toBe(1)
      expect(await store.forget(noon + 2, 10)).toBe(1)
      expect(await store.list({ merchantId: 'weather', limit: 9 })).toHaveLength(1)
      expect((await store.sums(all))[0]?.count).toBe(3)
    })

    it('drops what is old though a row of a wrong clock came before it', async () => {
      await store.append([anActivity({ at: noon + day }), anActivity(), anActivity()])
      expect(await store.forget(noon + 1, 10)).toBe(2)
      expect(await store.list({ merchantId: 'weather', limit: 9 })).toHaveLength(1)
    })

    it('stops a day where 64 bits end when its hours are added', async () => {
      const amount = 8n * 10n ** 18n
      await store.append([anActivity({ amount }), anActivity({ amount, at: noon + 3_600_000 })])
      expect(await store.sums(all)).toMatchObject([{ count: 2, amount: 9n * 10n ** 18n }])
    })

    it('reads by endpoint and by payer, net of refunds, and nothing outside the hours', async () => {
      const hour = 3_600_000
      await store.append([
        anActivity({ at: noon - 2 * hour, amount: 900n }),
        ...Array.from({ length: 12 }, (_, i) =>
          anActivity({ payer: payerOf(i + 1), endpointId: 2, amount: BigInt(i + 1) }),
        ),
        anActivity({ payer: payerOf(12), endpointId: null, amount: 30n, at: noon + hour }),
        anActivity({ payer: payerOf(11), endpointId: 2, isSelf: true, amount: 500n }),
        anActivity({ amount: 50n }),
        givenBack({ amount: 50n, payments: 1 }),
        anActivity({ endpointId: 2, state: 'failed', reason: 'x' }),
        anActivity({ at: noon + 2 * hour, amount: 900n }),
      ])
      const since = noon / 1000
      for (const span of ['h', 'd'] as const) {
        const scope = { merchantId: 'weather', span, since, until: since + 7_200 }
        const { top, amount, byEndpoint } = await store.payerDetail(scope)
        expect(top).toHaveLength(10)
        expect(top[0]).toEqual({ payer: payerOf(12), count: 2, amount: 42n })
        expect(top[9]).toEqual({ payer: payerOf(3), count: 1, amount: 3n })
        expect(amount).toBe(108n)
        expect(Object.fromEntries(byEndpoint)).toEqual({ 0: 1, 2: 12 })
        const sums = await store.sumsByEndpoint(scope)
        const of = (id: number) =>
          sums.get(id)?.map(({ state, isSelf, count, amount }) => [state, isSelf, count, amount])
        expect([...sums.keys()].sort()).toEqual([0, 1, 2])
        expect(of(0)).toEqual([['settled', false, 1, 30n]])
        expect(of(2)).toHaveLength(3)
        expect(of(2)).toEqual(
          expect.arrayContaining([
            ['settled', false, 12, 78n],
            ['settled', true, 1, 500n],
            ['failed', false, 1, 0n],
          ]),
        )
        const total = (await store.sums(scope)).reduce((sum, { count }) => sum + count, 0)
        expect(total).toBe([...sums.values()].flat().reduce((sum, { count }) => sum + count, 0))
        expect((await store.payers(scope)).amount).toBe(108n)
        expect(await store.latencies(scope, 'settle')).toEqual([{ upToMs: 540, count: 14 }])
      }
      const rows = await store.list({ merchantId: 'weather', limit: 99, until: noon })
      expect(rows.map(({ at }) => at)).toEqual([noon - 2 * hour])
      const none = await store.payerDetail({ ...all, since: since + 86_400 })
      expect(none).toEqual({ top: [], amount: 0n, byEndpoint: new Map() })
    })

    it('finds when each endpoint was paid last within a scope, among the newest rows', async () => {
      const hour = 3_600_000
      await store.append([
        anActivity({ endpointId: 1 }),
        anActivity({ endpointId: 1, at: noon + hour }),
        anActivity({ endpointId: 1, at: noon + 5 * hour }),
        anActivity({ endpointId: 2, at: noon + 1 }),
        anActivity({ endpointId: 3, isSelf: true }),
        anActivity({ endpointId: 4, kind: 'verify', state: 'valid' }),
        anActivity({ endpointId: 5, state: 'failed', reason: 'x' }),
        anActivity({ endpointId: 6, merchantId: 'news' }),
        anActivity({ endpointId: null }),
      ])
      const since = noon / 1000
      const scope = { merchantId: 'weather', span: 'h', since, until: since + 7_200 } as const
      expect([...(await store.lastPaid(scope))].sort()).toEqual([
        [1, noon + hour],
        [2, noon + 1],
      ])
      expect((await store.lastPaid({ ...scope, until: undefined })).get(1)).toBe(noon + 5 * hour)
    })

    it('counts payers over more than one page and one day, each once', async () => {
      const of = (from: number, to: number, at: number) =>
        Array.from({ length: to - from }, (_, i) => anActivity({ payer: payerOf(from + i), at }))
      await store.append([...of(0, 1_100, noon), ...of(1_000, 1_200, noon + day)])
      expect(await store.payers(all)).toMatchObject({ unique: 1_200, repeat: 100 })
      const since = Math.floor((noon + day) / 1000) - 43_200
      expect(await store.payers({ ...all, since })).toMatchObject({ unique: 200, repeat: 0 })
    })

    it('counts payers who also paid a seller that is another one', async () => {
      const [owner, other] = [payerOf(0xa1), payerOf(0xa2)]
      const list = (id: string, key: Address, url: string, over = {}) =>
        save(stores.listings, { id, name: id, owner: key, payTo: key, ...over }, [
          { url, status: 'live' },
        ])
      await list('weather', owner, 'https://a.example.com')
      await list('another', other, 'https://b.example.org')
      await list('same-key', owner, 'https://c.example.net')
      await list('same-payee', other, 'https://d.example.dev', { payTo: owner })
      await list('same-domain', payerOf(0xa3), 'https://elsewhere.example.com')
      await list('hidden', payerOf(0xa4), 'https://e.example.io', { hiddenReason: 'spam' })
      await save(stores.listings, { id: 'dead', owner: payerOf(0xa5), payTo: payerOf(0xa5) }, [
        { url: 'https://f.example.eu', status: 'failing' },
      ])
      const ids = ['weather', 'another', 'same-key', 'same-payee', 'same-domain', 'hidden', 'dead']
      // Each buys here, and one of each kind at one other place as well.
      for (const [i, merchantId] of ids.entries()) {
        const payer = payerOf(i + 1)
        await store.append([anActivity({ payer }), anActivity({ payer, merchantId })])
      }
      expect(await store.payersElsewhere(all)).toBe(1)
      await store.append([anActivity({ payer: payerOf(3), merchantId: 'another' })])
      expect(await store.payersElsewhere(all)).toBe(2)
      // What was given back there was not paid there.
      const refund = { amount: 10_000n, payments: 1 } as const
      const back = { state: 'refunded', payer: other, payTo: payerOf(3), refund } as const
      await store.append([anActivity({ ...back, merchantId: 'another' })])
      expect(await store.payersElsewhere(all)).toBe(1)
    })

    it('finds the few rows a filter is for among thousands, in order and in range', async () => {
      const rows = Array.from({ length: 3_500 }, (_, i) =>
        anActivity({
          at: noon + i,
          state: i % 700 === 0 ? 'failed' : 'settled',
          endpointId: i < 10 ? 2 : 1,
          merchantId: i % 7 === 3 ? 'news' : 'weather',
        }),
      )
      await store.append(rows)
      const find = async (filter: Partial<ActivityFilter>) => {
        const found = await store.list({ merchantId: 'weather', limit: 100, ...filter })
        return found.map(({ at }) => at - noon)
      }
      expect(await find({ state: 'failed' })).toEqual([2_800, 2_100, 1_400, 700, 0])
      expect(await find({ state: 'failed', limit: 2 })).toEqual([2_800, 2_100])
      expect(await find({ state: 'failed', since: noon + 1_400 })).toEqual([2_800, 2_100, 1_400])
      expect(await find({ endpointId: 2, limit: 3 })).toEqual([9, 8, 7])
      expect(await find({ since: noon + 4_000 })).toEqual([])
    })

    it('pages through a filter without gaps or repeats while rows are added', async () => {
      const rows = Array.from({ length: 400 }, (_, i) =>
        anActivity({ at: noon + i, state: i % 3 === 0 ? 'failed' : 'settled' }),
      )
      await store.append(rows)
      const seen: number[] = []
      let before: number | undefined
      for (;;) {
        const [page] = await Promise.all([
          store.list({ merchantId: 'weather', state: 'failed', before, limit: 7 }),
          store.append([anActivity({ state: 'failed', at: noon + 9_999 })]),
        ])
        if (page.length === 0) break
        seen.push(...page.map(({ at }) => at - noon))
        before = page.at(-1)?.id
      }
      const old = seen.filter((at) => at !== 9_999)
      expect(old).toEqual(rows.flatMap((row, i) => (row.state === 'failed' ? [i] : [])).reverse())
    })

    it('sums by hour, by day, by endpoint and over everybody what the rows say', async () => {
      const row = fc.record({
        at: fc.integer({ min: noon, max: noon + 3 * 86_400_000 }),
        amount: fc.bigInt({ min: 0n, max: 10n ** 12n }),
        merchantId: fc.constantFrom('weather', 'news', null),
        endpointId: fc.constantFrom(1, 2, null),
        state: fc.constantFrom('settled', 'failed'),
        isSelf: fc.boolean(),
      }) as fc.Arbitrary<Partial<NewActivity>>
      await fc.assert(
        fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (wishes) => {
          const { activity: fresh } = await engine.empty()
          const rows = wishes.map((wish) => anActivity(wish))
          await fresh.append(rows.slice(0, 10))
          await fresh.append(rows.slice(10))
          const expected = (of: NewActivity[]) => ({
            count: of.length,
            amount: of
              .filter(({ state }) => state === 'settled')
              .reduce((sum, it) => sum + it.amount, 0n),
          })
          for (const span of ['h', 'd'] as const) {
            for (const merchantId of ['weather', undefined] as const) {
              for (const endpointId of merchantId === undefined ? [undefined] : [undefined, 2]) {
                const read = await fresh.sums({ merchantId, endpointId, span, since: 0 })
                const mine = rows.filter(
                  (it) =>
                    (merchantId === undefined || it.merchantId === merchantId) &&
                    (endpointId === undefined || it.endpointId === endpointId),
                )
                expect({
                  count: read.reduce((sum, it) => sum + it.count, 0),
                  amount: read.reduce((sum, it) => sum + it.amount, 0n),
                }).toEqual(expected(mine))
              }
            }
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}
