import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Block,
  type CatalogOptions,
  changeBlocks,
  createCatalog,
  type Piece,
  packBlocks,
} from '../../../../src/directory/listings/catalog.js'
import { NO_EVIDENCE } from '../../../../src/directory/store/evidence.js'
import { openListings } from '../listed-merchants.js'

let listings: ReturnType<typeof openListings>
beforeEach(() => {
  listings = openListings()
})
afterEach(() => listings.close())

const idsOf = (blocks: readonly Block[]) =>
  blocks.flatMap(({ pieces }) => pieces.map(({ id }) => id))

/** A catalog over a store that counts what it is asked, and can be made to wait or fail. */
function aCatalog(changes: Partial<CatalogOptions['store']> = {}, maxReadyBytes?: number) {
  const { store } = listings
  const built: string[] = []
  const watched: CatalogOptions['store'] = {
    findMerchant: store.findMerchant,
    scanMerchants: store.scanMerchants,
    lastChange: store.lastChange,
    changesAfter: store.changesAfter,
    merchantUsageOf: store.merchantUsageOf,
    merchantUsageAfter: store.merchantUsageAfter,
    async endpointsOf(id) {
      built.push(id)
      return store.endpointsOf(id)
    },
    ...changes,
  }
  const checksum: CatalogOptions['checksum'] = (address) => address
  const limit = maxReadyBytes === undefined ? {} : { maxReadyBytes }
  const catalog = createCatalog({ store: watched, checksum, ...limit })
  const ids = async () => idsOf((await catalog.read()).blocks)
  return { catalog, ids, built }
}

describe('the catalog', () => {
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
    expect(idsOf(before.blocks)).toEqual(['a'])
    expect(idsOf(after.blocks)).toEqual(['a', 'b'])
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
})

const standing = {
  isLast: false,
  evidence: NO_EVIDENCE,
  since: 0,
  price: 0,
  asset: '',
  currency: null,
}
const aPiece = (id: string, bytes = 1_000): Piece => ({
  id,
  bytes: Buffer.alloc(bytes, `,${id}`),
  ...standing,
})
const numbered = (count: number, bytes?: number) =>
  Array.from({ length: count }, (_, i) => aPiece(String(i).padStart(5, '0'), bytes))
const whole = (blocks: readonly Block[]) =>
  Buffer.concat(blocks.map(({ bytes }) => bytes as Buffer))
const joined = (pieces: readonly Piece[]) =>
  Buffer.concat(pieces.map(({ bytes }) => bytes as Buffer))

describe('the blocks of the catalog', () => {
  it('packs into even blocks of about 64 KiB', () => {
    const pieces = numbered(1_000)
    const blocks = packBlocks(pieces)
    expect(whole(blocks).equals(joined(pieces))).toBe(true)
    for (const { bytes } of blocks) {
      expect(bytes?.length).toBeGreaterThan(32_000)
      expect(bytes?.length).toBeLessThan(98_000)
    }
  })

  it('packs nothing into no block, and a merchant larger than a block into one of its own', () => {
    expect(packBlocks([])).toEqual([])
    expect(packBlocks([aPiece('a', 500_000)])).toHaveLength(1)
  })

  it('leaves blocks without a change as they are', () => {
    const blocks = packBlocks(numbered(1_000))
    const after = changeBlocks(blocks, new Map([['00500', aPiece('00500', 5)]]))
    expect(blocks.filter((block) => !after.includes(block))).toHaveLength(1)
  })

  it('does not crumble when merchants come one by one', () => {
    let blocks: Block[] = []
    for (const piece of numbered(2_000)) blocks = changeBlocks(blocks, new Map([[piece.id, piece]]))
    expect(blocks.length).toBeLessThan(65)
  })

  it('loses its blocks with their last merchants, and begins again', () => {
    const pieces = numbered(200)
    const none = changeBlocks(packBlocks(pieces), new Map(pieces.map(({ id }) => [id, undefined])))
    expect(none).toEqual([])
    expect(changeBlocks(none, new Map([['a', aPiece('a')]]))).toHaveLength(1)
  })

  it('always is what a sorted list of all merchants would be', () => {
    const id = fc
      .integer({ min: 0, max: 60 })
      .map((number) => `m${String(number).padStart(2, '0')}`)
    const size = fc.option(fc.integer({ min: 1, max: 30_000 }), { nil: undefined })
    const round = fc.array(fc.tuple(id, size), { maxLength: 20 })
    fc.assert(
      fc.property(fc.array(round, { maxLength: 12 }), (rounds) => {
        let blocks: Block[] = []
        const expected = new Map<string, Piece>()
        for (const changes of rounds) {
          const changed = new Map(
            changes.map(([key, bytes]) => [
              key,
              bytes === undefined ? undefined : aPiece(key, bytes),
            ]),
          )
          for (const [key, piece] of changed) {
            if (piece === undefined) expected.delete(key)
            else expected.set(key, piece)
          }
          blocks = changeBlocks(blocks, changed)
          const sorted = [...expected.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
          expect(idsOf(blocks)).toEqual(sorted.map((piece) => piece.id))
          expect(whole(blocks).equals(joined(sorted))).toBe(true)
        }
      }),
      { numRuns: 60 },
    )
  })
})
