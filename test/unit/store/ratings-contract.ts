import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../src/app/stores/stores.js'
import type { NewRating } from '../../../src/directory/store/ratings.js'
import { save } from '../discovery/a-catalog.js'
import { aRating, payer, payTo, weather } from './a-rating.js'
import type { Engine } from './store-contract.js'

/** What every engine must do with ratings. */
export function describeRatings(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  let stores: Stores

  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    stores = await engine.empty()
  })

  const add = (id: string, over: Partial<NewRating> = {}) =>
    stores.ratings.add(aRating({ id, ...over }))
  const list = async (before?: number, limit = 10) =>
    (await stores.ratings.list(weather, before, limit)).map(({ id }) => id)
  const figures = () => stores.ratings.figuresOf(weather)

  describe(`ratings on ${name}`, () => {
    it('keeps one of two that come at once', async () => {
      const kept = await Promise.all(Array.from({ length: 5 }, () => add('paid-1')))
      expect(kept.filter(Boolean)).toEqual([true])
      expect(await figures()).toMatchObject({ count: 1 })
    })

    it('sums each endpoint for itself: mean, payers and the share of the payer with the most', async () => {
      expect(await figures()).toBeUndefined()
      await add('paid-1', { score: 100 })
      await add('paid-2', { score: 0 })
      await add('paid-3', { score: 33, payer: payer(2) })
      await add('other-1', { score: 1, url: 'https://api.example/tides' })
      await add('other-2', { score: 1, toolName: 'tides' })
      await add('other-3', { score: 1, payTo: payer(0xfd) })
      await add('other-4', { score: 1, network: 'eip155:5042002' })
      expect(await figures()).toEqual({
        average: 44.3,
        count: 3,
        payers: 2,
        topPayerShare: 0.6667,
      })
    })

    it('weighs each score, and counts none that weighs nothing', async () => {
      await add('paid-1', { score: 100, weight: 10_000 })
      await add('paid-2', { score: 0, weight: 30_000, payer: payer(2) })
      await add('circular', { score: 0, weight: 0, payer: payer(3) })
      expect(await figures()).toEqual({ average: 25, count: 2, payers: 2, topPayerShare: 0.5 })
      expect(await stores.listings.ratingsPaidTo(weather.network, payTo)).toEqual({
        average: 25,
        count: 2,
      })
      expect(await list()).toEqual(['circular', 'paid-2', 'paid-1'])
    })

    it('lowers the weights of one payer to what is left, the newest first, once', async () => {
      await add('a', { score: 0 })
      await add('b', { score: 0, url: 'https://api.example/tides' })
      await add('c', { score: 100, payer: payer(2) })
      const weighed = () => stores.ratings.weighed(weather.network, payTo, payer(1))
      expect(await weighed()).toEqual({ paid: 20_000n, weight: 20_000n })
      for (let i = 0; i < 2; i++) {
        await stores.ratings.lighten(weather.network, payTo, payer(1), 5_000n)
        expect(await weighed()).toEqual({ paid: 20_000n, weight: 5_000n })
      }
      expect(await figures()).toMatchObject({ average: 66.7, count: 2 })
      await stores.ratings.lighten(weather.network, payTo, payer(1), 0n)
      expect(await figures()).toEqual({ average: 100, count: 1, payers: 1, topPayerShare: 1 })
      await stores.ratings.setHidden('a', 'spam')
      await stores.ratings.setHidden('a', null)
      expect(await figures()).toMatchObject({ average: 100, count: 1 })
    })

    it('leaves a hidden one out of list and sums, and brings it back', async () => {
      await add('a', { score: 0 })
      await add('b', { score: 100, payer: payer(2) })
      expect(await stores.ratings.setHidden('a', 'spam')).toBe(true)
      expect(await list()).toEqual(['b'])
      expect(await stores.ratings.find('a')).toMatchObject({ hiddenReason: 'spam' })
      expect(await figures()).toEqual({ average: 100, count: 1, payers: 1, topPayerShare: 1 })
      await stores.ratings.setHidden('b', 'spam')
      expect(await figures()).toBeUndefined()
      await stores.ratings.setHidden('a', null)
      await stores.ratings.setHidden('b', null)
      expect(await figures()).toEqual({ average: 50, count: 2, payers: 2, topPayerShare: 0.5 })
      expect(await stores.ratings.setHidden('c', 'spam')).toBe(false)
    })

    it('keeps the first answer', async () => {
      await add('a')
      const answer = { text: 'Sorry, ä.', at: 2_000 }
      expect(await stores.ratings.answer('a', answer)).toBe(true)
      expect(await stores.ratings.answer('a', { text: 'No.', at: 3_000 })).toBe(false)
      expect(await stores.ratings.find('a')).toMatchObject({ answer })
    })

    it('stands beside what the catalog has now, and outlives a listing', async () => {
      await save(stores.listings, { id: 'weather', payTo }, [{ url: weather.url }])
      const ofCatalog = async () => {
        const [entry] = await stores.listings.scanEntries(0, 1)
        const [published] = await stores.listings.publishedById([entry?.endpoint.id ?? 0])
        expect(published?.rating).toEqual(entry?.rating)
        return entry?.rating ? JSON.parse(entry.rating) : null
      }
      expect(await ofCatalog()).toBeNull()
      await add('a')
      expect(await ofCatalog()).toEqual(await figures())
      await save(stores.listings, { id: 'weather', payTo }, [{ url: 'https://api.example/new' }])
      expect(await ofCatalog()).toBeNull()
      const ofAddress = () => stores.listings.ratingsPaidTo(weather.network, payTo)
      expect(await ofAddress()).toEqual({ average: 87, count: 1 })
      await save(stores.listings, { id: 'weather', payTo }, [{ url: weather.url }])
      expect(await ofCatalog()).toEqual(await figures())
      await stores.ratings.setHidden('a', 'spam')
      expect(await ofCatalog()).toBeNull()
      expect(await ofAddress()).toBeUndefined()
    })
  })
}
