import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  type Block,
  changeBlocks,
  type Piece,
  packBlocks,
} from '../../../../src/directory/listings/catalog.js'

const aPiece = (id: string, bytes = 1_000): Piece => ({ id, bytes: Buffer.alloc(bytes, `,${id}`) })
const numbered = (count: number, bytes?: number) =>
  Array.from({ length: count }, (_, i) => aPiece(String(i).padStart(5, '0'), bytes))
const whole = (blocks: readonly Block[]) =>
  Buffer.concat(blocks.map(({ bytes }) => bytes as Buffer))
const joined = (pieces: readonly Piece[]) =>
  Buffer.concat(pieces.map(({ bytes }) => bytes as Buffer))

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
  const id = fc.integer({ min: 0, max: 60 }).map((number) => `m${String(number).padStart(2, '0')}`)
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
        expect(blocks.flatMap(({ ids }) => ids)).toEqual(sorted.map((piece) => piece.id))
        expect(whole(blocks).equals(joined(sorted))).toBe(true)
      }
    }),
    { numRuns: 60 },
  )
})
