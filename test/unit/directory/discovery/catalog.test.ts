import { afterEach, describe, expect, it } from 'vitest'
import {
  type CatalogSource,
  createCatalog,
  type MemoryCatalog,
} from '../../../../src/directory/discovery/catalog.js'
import { aCatalog, save, whenRead, whenReady } from '../../../support/directory/a-catalog.js'

let catalog: MemoryCatalog
let faults: unknown[]

afterEach(() => catalog.stop())

/** A catalog of a source that differs from the store in one respect. */
function aCatalogOf(source: CatalogSource): MemoryCatalog {
  faults = []
  const onFault = (fault: unknown) => void faults.push(fault)
  return createCatalog({ source, onFault })
}

describe('the catalog in memory', () => {
  it('is not there until it is read', async () => {
    const made = await aCatalog()
    catalog = made.catalog
    expect(await catalog.current()).toBeUndefined()
    expect(catalog.figures()).toEqual({ endpoints: 0, readSeconds: 0 })
    await save(made.store, {}, [{}, {}])
    await whenReady(catalog)
    expect(catalog.figures().endpoints).toBe(2)
    expect(catalog.figures().readSeconds).toBeGreaterThan(0)
  })

  it('has the public endpoints in order of id, and follows every change', async () => {
    const { store, ...made } = await aCatalog()
    catalog = made.catalog
    const ids = async () => (await catalog.current())?.endpoints.map(({ id }) => id) ?? []
    const idsOf = async (merchant: string) =>
      (await store.endpointsOf(merchant)).map(({ id }) => id).sort((a, b) => a - b)
    await save(store, { id: 'a' }, [{ title: 'one' }, { title: 'two' }])
    await save(store, { id: 'b' }, [{ title: 'three' }])
    await save(store, { id: 'c', hiddenReason: 'spam' }, [{ title: 'four' }])
    await whenReady(catalog)
    const [a, b, c] = [await idsOf('a'), await idsOf('b'), await idsOf('c')]
    expect(await ids()).toEqual([...a, ...b])
    await store.setFlags('c', { hiddenReason: null }, 2_000)
    await store.setFlags('a', { hiddenReason: 'spam' }, 2_000)
    expect(await ids()).toEqual([...b, ...c])
    await store.setFlags('a', { hiddenReason: null }, 2_000)
    expect(await ids()).toEqual([...a, ...b, ...c])
    const kept = (await store.endpointsOf('a'))[1]
    await save(store, { id: 'a' }, [{ title: 'two again', url: String(kept?.url) }, {}])
    const again = await idsOf('a')
    expect(again).toContain(kept?.id)
    expect(await ids()).toEqual([...new Set([...again, ...b, ...c])].sort((x, y) => x - y))
  })

  it('has changes that come during the first reading', async () => {
    const { store } = await aCatalog()
    await save(store, { id: 'a' }, [{ title: 'one' }])
    await save(store, { id: 'b' }, [{ title: 'two' }])
    catalog = aCatalogOf({
      ...store,
      // All changes come after the first page.
      async scanForIndex(after, limit) {
        if (after > 0 && (await store.findMerchant('c')) === undefined) {
          await save(store, { id: 'a' }, [{ title: 'changed' }, { title: 'added' }])
          await store.setFlags('b', { hiddenReason: 'spam' }, 2_000)
          await save(store, { id: 'c' }, [{ title: 'new' }])
        }
        return store.scanForIndex(after, limit)
      },
    })
    catalog.start()
    while (catalog.figures().readSeconds === 0) await new Promise((go) => setImmediate(go))
    expect(catalog.figures().endpoints).toBe(3)
    const list = await whenRead(catalog)
    const titles = list.endpoints.map(({ merchant, titleStart, descriptionStart }) =>
      merchant.text.slice(titleStart, descriptionStart - 1),
    )
    expect(titles).toEqual(['changed', 'added', 'new'])
    expect(list.sequence).toBe(await store.lastChange())
  })

  it('answers as it is if the wanted change was never in the store', async () => {
    const { store, ...made } = await aCatalog()
    catalog = made.catalog
    await save(store, { id: 'a' }, [{ title: 'one' }])
    await whenReady(catalog)
    await save(store, { id: 'a' }, [{ title: 'two' }])
    expect((await catalog.current(1_000))?.sequence).toBe(await store.lastChange())
  })

  it('is read again after a fault, which is reported', async () => {
    const { store } = await aCatalog()
    let reads = 0
    catalog = aCatalogOf({
      ...store,
      scanForIndex: (after, limit) => {
        if (++reads === 1) throw new Error('disk on fire')
        return store.scanForIndex(after, limit)
      },
    })
    await whenReady(catalog)
    expect(faults).toEqual([new Error('disk on fire')])
  })

  it('is read with few questions of many endpoints and merchants each', async () => {
    const { store } = await aCatalog()
    for (let i = 0; i < 60; i++) await save(store, { id: `m${i}` }, Array(10).fill({}))
    let questions = 0
    const counted =
      <Asked extends unknown[], Found>(read: (...asked: Asked) => Promise<Found>) =>
      (...asked: Asked): Promise<Found> => {
        questions++
        return read(...asked)
      }
    catalog = aCatalogOf({
      ...store,
      scanForIndex: counted(store.scanForIndex),
      findMerchants: counted(store.findMerchants),
      findMerchant: counted(store.findMerchant),
      indexedOf: counted(store.indexedOf),
    })
    expect((await whenReady(catalog)).endpoints).toHaveLength(600)
    // Two pages with endpoints, an empty one, and merchants for each of the two.
    expect(questions).toBe(5)
  })

  it('answers during a flood of changes, and follows it all the same', async () => {
    const { store } = await aCatalog()
    let jump = 0
    catalog = aCatalogOf({
      ...store,
      lastChange: async () => (await store.lastChange()) + jump,
      async changesAfter(sequence, limit) {
        await new Promise((resolve) => setImmediate(resolve))
        return store.changesAfter(sequence, limit)
      },
    })
    await whenReady(catalog)
    const changes = 450
    for (let i = 0; i < changes; i++) await save(store, { id: `m${Math.floor(i / 150)}` }, [{}])
    jump = 10_000
    expect((await catalog.current())?.endpoints).toHaveLength(0)
    jump = 0
    while (catalog.figures().endpoints < 3) await new Promise((resolve) => setImmediate(resolve))
    expect((await catalog.current())?.sequence).toBe(await store.lastChange())
    expect(faults).toEqual([])
  })

  it('can be stopped while it reads', async () => {
    const { store } = await aCatalog()
    await save(store, { id: 'a' }, [{ title: 'one' }])
    catalog = aCatalogOf(store)
    catalog.start()
    await catalog.stop()
    expect(await catalog.current()).toBeUndefined()
    expect(faults).toEqual([])
  })
})
