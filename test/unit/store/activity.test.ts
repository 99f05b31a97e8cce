import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ActivityStore, NewActivity } from '../../../src/store/activity.js'
import { createActivityStore } from '../../../src/store/sqlite/activity.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import { anActivity } from '../../support/an-activity.js'

const noon = anActivity().at
const all = { merchantId: 'weather', span: 'd', since: 0 } as const

let store: ActivityStore

function fresh(): ActivityStore {
  const database = openDatabase(':memory:')
  return createActivityStore(database, createGroupCommit(database))
}

beforeEach(() => {
  store = fresh()
})

describe('activity', () => {
  it('gives back a row as it was kept, newest first, a page after another', async () => {
    const rows = Array.from({ length: 25 }, (_, i) =>
      anActivity({ at: noon + i, amount: BigInt(i) }),
    )
    await store.append(rows)
    const seen: bigint[] = []
    let before: number | undefined
    for (;;) {
      const page = await store.list({ merchantId: 'weather', before, limit: 10 })
      if (page.length === 0) break
      seen.push(...page.map(({ amount }) => amount))
      before = page.at(-1)?.id
      // What comes meanwhile does not shift the pages.
      await store.append([anActivity({ amount: 999n })])
    }
    expect(seen).toEqual(rows.map(({ amount }) => amount).reverse())
    const [last] = await store.list({
      merchantId: 'weather',
      limit: 1,
      state: 'settled',
      kind: 'settle',
    })
    expect(last).toMatchObject({ amount: 999n, gasCost: 2_000_000_000_000_000n, latencyMs: 540 })
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

  it('keeps sums exact beyond what a double holds', async () => {
    const amount = 9_007_199_254_740_993n
    await store.append([anActivity({ amount }), anActivity({ amount })])
    expect((await store.sums(all))[0]?.amount).toBe(2n * amount)
  })

  it('knows who came back, and who paid most', async () => {
    const payer = (digit: string) => `0x${digit.repeat(40)}` as const
    await store.append([
      anActivity({ payer: payer('a'), amount: 5n }),
      anActivity({ payer: payer('a'), amount: 5n, at: noon + 90_000_000 }),
      anActivity({ payer: payer('b'), amount: 7n }),
      anActivity({ payer: payer('c'), amount: 100n, isSelf: true }),
    ])
    expect(await store.payers(all)).toEqual({ unique: 2, repeat: 1, topAmount: 10n, amount: 17n })
  })

  it('drops old rows in slices, never the sums', async () => {
    await store.append([anActivity(), anActivity({ at: noon + 1 }), anActivity({ at: noon + 2 })])
    expect(await store.forget(noon + 2, 1)).toBe(1)
    expect(await store.forget(noon + 2, 10)).toBe(1)
    expect(await store.list({ merchantId: 'weather', limit: 9 })).toHaveLength(1)
    expect((await store.sums(all))[0]?.count).toBe(3)
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
        const fresh_ = fresh()
        const rows = wishes.map((wish) => anActivity(wish))
        await fresh_.append(rows.slice(0, 10))
        await fresh_.append(rows.slice(10))
        const expected = (of: NewActivity[]) => ({
          count: of.length,
          amount: of
            .filter(({ state }) => state === 'settled')
            .reduce((sum, it) => sum + it.amount, 0n),
        })
        for (const span of ['h', 'd'] as const) {
          for (const merchantId of ['weather', undefined] as const) {
            for (const endpointId of merchantId === undefined ? [undefined] : [undefined, 2]) {
              const read = await fresh_.sums({ merchantId, endpointId, span, since: 0 })
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
