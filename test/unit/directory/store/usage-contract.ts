import type { Usage } from '@arcus/protocol/answers/fields'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import { createUsageRefresh } from '../../../../src/directory/activity/usage-refresh.js'
import type { NewActivity } from '../../../../src/directory/store/activity.js'
import type { UsageChange } from '../../../../src/directory/store/listings.js'
import { anActivity } from '../../../support/an-activity.js'
import { save } from '../../../support/directory/a-catalog.js'
import type { Engine } from '../../app/stores/store-contract.js'

const noon = anActivity().at
const hour = 3_600_000
const day = 24 * hour

const buyer = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as const
const paid = (over: Partial<NewActivity> = {}) => anActivity({ payer: buyer(1), ...over })

/** What every engine must do with the figures of endpoints. */
export function describeUsage(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  let stores: Stores
  let clock: number
  /** Numbers of two endpoints. */
  let first: number
  let second: number

  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    stores = await engine.empty()
    clock = noon + 1_000
    await save(stores.listings, { id: 'weather' }, [{}, {}])
    const found = await stores.listings.scanEntries(0, 2)
    const [one, two] = found.map(({ endpoint }) => endpoint.id)
    first = one as number
    second = two as number
  })

  const refresher = () =>
    createUsageRefresh({
      activity: stores.activity,
      store: stores.usage,
      now: () => clock,
    })
  const always = () => true
  const refresh = () => refresher()(always)
  const append = (...rows: NewActivity[]) => stores.activity.append(rows)

  async function usageOf(endpointId: number): Promise<Usage | null> {
    const [entry] = await stores.listings.entriesById([endpointId])
    return entry?.usage ? JSON.parse(entry.usage) : null
  }

  /** Numbers of the endpoints whose figures have changed. */
  const endpointsIn = (changes: readonly UsageChange[]) =>
    changes.flatMap(({ endpointId }) => endpointId ?? [])

  describe(`usage on ${name}`, () => {
    it('keeps the first payment when later ones come, and begins again where it could not finish', async () => {
      await append(paid({ endpointId: first, at: noon - 3 * day }))
      await refresh()
      await append(paid({ endpointId: first }))
      const store = {
        ...stores.usage,
        async finish() {
          throw new Error('the disk is full')
        },
      }
      const failing = createUsageRefresh({
        activity: stores.activity,
        store,
        now: () => clock,
      })
      await expect(failing(always)).rejects.toThrow('the disk is full')
      expect(await refresh()).toBeGreaterThan(0)
      expect(await usageOf(first)).toMatchObject({
        firstPaid: (noon - 3 * day) / 1000,
        lastPaid: noon / 1000,
      })
    })

    it('counts a merchant as a whole: each payer once, and payments for no endpoint too', async () => {
      const wholeOf = async () => {
        const figures = (await stores.listings.merchantUsageOf(['weather', 'nobody'])).get(
          'weather',
        )
        return figures === undefined ? null : JSON.parse(figures)
      }
      await append(
        paid({ endpointId: first, at: noon - 3 * day }),
        paid({ endpointId: second }),
        paid({ endpointId: null, payer: buyer(2) }),
        paid({ endpointId: null, merchantId: null }),
      )
      expect(await refresh()).toBe(3)
      expect(await wholeOf()).toMatchObject({
        calls: { '24h': 2, '7d': 3, '30d': 3 },
        payers: { '24h': 0, '7d': 0, '30d': 0 },
        onlyHere: { '24h': 2, '7d': 2, '30d': 2 },
        topPayerShare: 0.6667,
        firstPaid: (noon - 3 * day) / 1000,
      })
      const changes = await stores.listings.usageAfter(0, 10)
      const wholes = changes.filter(({ merchantId }) => merchantId !== null)
      expect(wholes).toMatchObject([{ merchantId: 'weather', endpointId: null }])
      clock += day + hour
      await refresh()
      expect(await wholeOf()).toMatchObject({ calls: { '24h': 0, '7d': 3 } })
    })

    it('is followed by version, in which only what changed comes again', async () => {
      await append(paid({ endpointId: first }), paid({ endpointId: second }))
      await refresh()
      const all = await stores.listings.usageAfter(0, 10)
      expect(all.map(({ version }) => version)).toEqual([1, 2, 3])
      expect(endpointsIn(all).sort()).toEqual([first, second])
      expect(await stores.listings.usageAfter(1, 1)).toEqual(all.slice(1, 2))
      const last = Math.max(...all.map(({ version }) => version))
      expect(await stores.listings.usageAfter(last, 10)).toEqual([])
      await append(paid({ endpointId: second, payer: buyer(2) }))
      clock += 10_000
      await refresh()
      const news = await stores.listings.usageAfter(last, 10)
      expect(endpointsIn(news)).toEqual([second])
    })

    it('goes with its endpoint, and its version does not come again', async () => {
      await append(paid({ endpointId: first }), paid({ endpointId: second }))
      await refresh()
      const [before] = (await stores.listings.usageAfter(0, 10)).slice(-1)
      await save(stores.listings, { id: 'weather' }, [{}])
      expect(endpointsIn(await stores.listings.usageAfter(0, 10))).toEqual([])
      const [entry] = await stores.listings.scanEntries(0, 1)
      await append(paid({ endpointId: entry?.endpoint.id ?? 0 }), paid({ endpointId: first }))
      clock += 10_000
      await refresh()
      const left = await stores.listings.usageAfter(0, 10)
      const [after, ...others] = left.filter(({ endpointId }) => endpointId !== null)
      expect(others).toEqual([])
      expect(after?.version).toBeGreaterThan(before?.version as number)
    })
  })
}
