import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CatalogOptions, createCatalog } from '../../../../src/directory/listings/catalog.js'
import { openListings } from '../listed-merchants.js'

let listings: ReturnType<typeof openListings>
beforeEach(() => {
  listings = openListings()
})
afterEach(() => listings.close())

/** A catalog over a store that counts what it is asked, and can be made to wait or fail. */
function aCatalog(changes: Partial<CatalogOptions['store']> = {}, maxReadyBytes?: number) {
  const { store } = listings
  const built: string[] = []
  const watched: CatalogOptions['store'] = {
    findMerchant: store.findMerchant,
    scanMerchants: store.scanMerchants,
    lastChange: store.lastChange,
    changesAfter: store.changesAfter,
    async endpointsOf(id) {
      built.push(id)
      return store.endpointsOf(id)
    },
    ...changes,
  }
  const checksum: CatalogOptions['checksum'] = (address) => address
  const limit = maxReadyBytes === undefined ? {} : { maxReadyBytes }
  const catalog = createCatalog({ store: watched, checksum, ...limit })
  const ids = async () => (await catalog.read()).blocks.flatMap(({ ids }) => ids)
  return { catalog, ids, built }
}

it('renders only the merchants that changed, each once', async () => {
  for (const id of ['a', 'b', 'c']) await listings.list(id)
  const { catalog, built } = aCatalog()
  await catalog.read()
  expect(built.splice(0)).toEqual(['a', 'b', 'c'])
  await catalog.read()
  expect(built).toEqual([])
  await listings.list('b')
  await listings.list('b')
  await catalog.read()
  expect(built).toEqual(['b'])
})

it('leaves a snapshot as it was', async () => {
  await listings.list('a')
  const { catalog } = aCatalog()
  const before = await catalog.read()
  await listings.list('b')
  const after = await catalog.read()
  expect(before.blocks.flatMap(({ ids }) => ids)).toEqual(['a'])
  expect(after.blocks.flatMap(({ ids }) => ids)).toEqual(['a', 'b'])
  expect(after.sequence).toBeGreaterThan(before.sequence)
})

it('has every change before a call, also when that call meets a running refresh', async () => {
  await listings.list('a')
  let isSlow = false
  let release = () => {}
  const { ids } = aCatalog({
    async findMerchant(id) {
      const merchant = await listings.store.findMerchant(id)
      if (isSlow) {
        isSlow = false
        await new Promise<void>((resolve) => {
          release = resolve
        })
      }
      return merchant
    },
  })
  await ids()
  await listings.list('b')
  isSlow = true
  const first = ids()
  await expect.poll(() => isSlow).toBe(false)
  await listings.list('c')
  const second = ids()
  release()
  expect(await first).toContain('b')
  expect(await second).toEqual(['a', 'b', 'c'])
})

it('has the changes made while it was loaded for the first time', async () => {
  for (const id of ['a', 'b']) await listings.list(id)
  let isFirst = true
  const { ids } = aCatalog({
    async endpointsOf(id) {
      if (isFirst) {
        isFirst = false
        await listings.write('a', { kind: 'delete' })
        await listings.list('c')
      }
      return listings.store.endpointsOf(id)
    },
  })
  await ids()
  expect(await ids()).toEqual(['b', 'c'])
})

it('loads once for simultaneous calls', async () => {
  for (const id of ['a', 'b']) await listings.list(id)
  const { ids, built } = aCatalog()
  expect(await Promise.all([ids(), ids(), ids()])).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(built).toEqual(['a', 'b'])
})

it('is there again after the store failed', async () => {
  await listings.list('a')
  let isBroken = true
  const { ids } = aCatalog({
    async scanMerchants(after, limit) {
      if (isBroken) throw new Error('disk I/O error')
      return listings.store.scanMerchants(after, limit)
    },
  })
  await expect(ids()).rejects.toThrow('disk I/O error')
  isBroken = false
  expect(await ids()).toEqual(['a'])
})

it('keeps little more than its limit, and renders the others for each answer', async () => {
  for (let i = 100; i < 350; i++) await listings.list(`m${i}`)
  const { catalog, ids } = aCatalog({}, 10_000)
  expect(await ids()).toHaveLength(250)
  const { blocks, build } = await catalog.read()
  expect(blocks.filter(({ bytes }) => bytes !== undefined)).toEqual([])
  expect(JSON.parse(String((await build('m349'))?.subarray(1)))).toMatchObject({ id: 'm349' })
  expect(await build('nobody')).toBeUndefined()
  await listings.list('m099')
  await listings.write('m200', { kind: 'delete' })
  expect((await ids())[0]).toBe('m099')
  expect(await ids()).toHaveLength(250)
})

it('follows hundreds of changes at once, in order of id', async () => {
  await listings.list('m500')
  const { ids } = aCatalog()
  await ids()
  const all = Array.from({ length: 350 }, (_, i) => `m${999 - i}`)
  for (const id of all) await listings.list(id)
  expect(await ids()).toEqual([...new Set(['m500', ...all])].sort())
})
