import { afterEach, describe, expect, it } from 'vitest'
import { type CatalogIndex, createCatalogIndex } from '../../../src/discovery/catalog-index.js'
import { createCatalogSearch } from '../../../src/discovery/catalog-search.js'
import type { CatalogView } from '../../../src/discovery/catalog-view.js'
import { createTurns } from '../../../src/discovery/turns.js'
import { aCatalog, save, whenReady } from './a-catalog.js'

let index: CatalogIndex

afterEach(() => index.stop())

const everything = { filter: {}, q: '', offset: 0, limit: 100 }

describe('the index', () => {
  it('has no view until the catalog is read', async () => {
    const catalog = await aCatalog()
    index = catalog.index
    expect(index.isReady()).toBe(false)
    expect(await index.current()).toBeUndefined()
    await whenReady(index)
    expect(index.isReady()).toBe(true)
  })

  it('keeps the view it gave as it is, whatever changes', async () => {
    const { store, turns, ...catalog } = await aCatalog()
    index = catalog.index
    const search = createCatalogSearch(turns)
    await save(store, { id: 'a' }, [{ title: 'one' }])
    const before = await whenReady(index)
    await save(store, { id: 'a' }, [{ title: 'two' }, { title: 'three' }])
    const after = (await index.current()) as CatalogView
    expect((await search.list(before, everything)).total).toBe(1)
    expect((await search.list(after, everything)).total).toBe(2)
    expect((await search.list(before, { ...everything, q: 'one' })).total).toBe(1)
    expect((await search.list(after, { ...everything, q: 'one' })).total).toBe(0)
  })

  it('is the same view as long as nothing changes', async () => {
    const { store, ...catalog } = await aCatalog()
    index = catalog.index
    await save(store, {}, [{}])
    await whenReady(index)
    expect(await index.current()).toBe(await index.current())
  })

  it('answers with what there is when a change is wanted that the store never had', async () => {
    const { store, ...catalog } = await aCatalog()
    index = catalog.index
    await save(store, { id: 'a' }, [{ title: 'one' }])
    await whenReady(index)
    await save(store, { id: 'a' }, [{ title: 'two' }])
    const { sequence } = (await index.current(1_000)) as CatalogView
    expect(sequence).toBe(await store.lastChange())
  })

  it('builds a new base once too much has changed, and finds the same in it', async () => {
    const { store, turns, ...catalog } = await aCatalog({ maxChanged: 5 })
    index = catalog.index
    const search = createCatalogSearch(turns)
    const first = await whenReady(index)
    for (let i = 0; i < 6; i++) await save(store, { id: `m${i}` }, [{ title: `t${i}` }])
    const overlaid = (await index.current()) as CatalogView
    expect(overlaid.base).toBe(first.base)
    expect(overlaid.changed).toHaveLength(6)
    const before = await search.list(overlaid, everything)
    let view = overlaid
    while (view.base === first.base) {
      await new Promise((resolve) => setImmediate(resolve))
      view = (await index.current()) as CatalogView
    }
    expect(view.changed).toHaveLength(0)
    expect(await search.list(view, everything)).toEqual(before)
  })

  it('does not take up what changed in nothing that is searched', async () => {
    const { store, ...catalog } = await aCatalog()
    index = catalog.index
    const url = 'https://a.example/1'
    await save(store, { id: 'a' }, [{ url, title: 'one' }])
    const before = await whenReady(index)
    await save(store, { id: 'a' }, [{ url, title: 'ONE', output: { type: 'text' } }], 2_000)
    const after = (await index.current()) as CatalogView
    expect(after).not.toBe(before)
    expect(after.changed).toHaveLength(0)
  })

  it('reads the catalog again after a fault, and reports it', async () => {
    const { store, turns } = await aCatalog()
    const faults: unknown[] = []
    let reads = 0
    const source = {
      ...store,
      scanForIndex: (after: number, limit: number) => {
        if (++reads === 1) throw new Error('disk on fire')
        return store.scanForIndex(after, limit)
      },
    }
    index = createCatalogIndex({ source, turns, onFault: (fault) => faults.push(fault) })
    await whenReady(index)
    expect(faults).toEqual([new Error('disk on fire')])
  })

  it('asks a store that answers later for many endpoints and merchants at once', async () => {
    const { store, turns } = await aCatalog()
    for (let i = 0; i < 40; i++) await save(store, { id: `m${i}` }, Array(10).fill({}))
    let questions = 0
    const later =
      <Asked extends unknown[], Found>(read: (...asked: Asked) => Promise<Found>) =>
      async (...asked: Asked): Promise<Found> => {
        questions++
        await new Promise((resolve) => setTimeout(resolve, 2))
        return read(...asked)
      }
    const source = {
      ...store,
      scanForIndex: later(store.scanForIndex),
      scanOutline: later(store.scanOutline),
      findMerchant: later(store.findMerchant),
      findMerchants: later(store.findMerchants),
    }
    index = createCatalogIndex({ source, turns, onFault: () => {} })
    expect((await whenReady(index)).size).toBe(400)
    // Pages of 8, 16, 32 and so on, twice.
    expect(questions).toBeLessThan(60)
  })

  it('reads the catalog anew rather than change by change when it is far behind', async () => {
    const { store, turns } = await aCatalog()
    let jump = 0
    const source = { ...store, lastChange: async () => (await store.lastChange()) + jump }
    index = createCatalogIndex({ source, turns, onFault: () => {} })
    const before = await whenReady(index)
    await save(store, { id: 'a' }, [{ title: 'one' }])
    jump = 10_000
    expect(await index.current()).toBe(before)
    let view: CatalogView | undefined = before
    while (view === before) {
      await new Promise((resolve) => setImmediate(resolve))
      view = await index.current()
    }
    expect(view?.size).toBe(1)
  })

  it('stops in the midst of reading', async () => {
    const { store } = await aCatalog()
    await save(store, { id: 'a' }, [{ title: 'one' }])
    const faults: unknown[] = []
    const onFault = (fault: unknown) => void faults.push(fault)
    index = createCatalogIndex({ source: store, turns: createTurns(), onFault })
    index.start()
    await index.stop()
    expect(index.isReady()).toBe(false)
    expect(faults).toEqual([])
  })
})
