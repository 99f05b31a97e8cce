import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addBits,
  createBits,
  dropBits,
  hasAll,
  hasBit,
  keepBits,
  nextBit,
  pageOfBits,
  setBit,
} from '../../../src/discovery/bits.js'
import { packBits } from '../../../src/discovery/document-set.js'
import { createScratch } from '../../../src/discovery/scratch.js'

const SIZE = 300
const numbers = fc.uniqueArray(fc.nat(SIZE - 1)).map((list) => list.sort((a, b) => a - b))

function bitsOf(list: number[]) {
  const bits = createBits(SIZE)
  for (const number of list) setBit(bits, number)
  return bits
}

const all = (bits: Uint32Array) => pageOfBits(bits, 0, SIZE)

describe('a set of bits', () => {
  it('joins, cuts and takes away like a set of numbers', () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        const [joined, cut, rest] = [bitsOf(a), bitsOf(a), bitsOf(a)]
        addBits(joined, bitsOf(b))
        keepBits(cut, bitsOf(b))
        dropBits(rest, bitsOf(b))
        expect(all(joined)).toEqual([...new Set([...a, ...b])].sort((x, y) => x - y))
        expect(all(cut)).toEqual(a.filter((number) => b.includes(number)))
        expect(all(rest)).toEqual(a.filter((number) => !b.includes(number)))
      }),
    )
  })

  it('gives any page of its numbers, and knows the next one', () => {
    fc.assert(
      fc.property(numbers, fc.nat(SIZE), fc.nat(40), (list, offset, limit) => {
        const bits = bitsOf(list)
        expect(pageOfBits(bits, offset, limit)).toEqual(list.slice(offset, offset + limit))
        expect(nextBit(bits, offset)).toBe(list.find((number) => number >= offset) ?? -1)
        expect(hasBit(bits, offset)).toBe(list.includes(offset))
      }),
    )
  })
})

it('knows when it has all numbers below a size', () => {
  for (const size of [1, 31, 32, 33, 64, 65, 300]) {
    const bits = createBits(400)
    for (let number = 0; number < size; number++) {
      expect(hasAll(bits, size)).toBe(false)
      setBit(bits, number)
    }
    expect(hasAll(bits, size)).toBe(true)
    expect(hasAll(bits, size + 1)).toBe(false)
  }
})

describe('a packed set', () => {
  it('holds the same numbers whether they are few or many', () => {
    fc.assert(
      fc.property(numbers, fc.nat(SIZE), fc.nat(40), (list, offset, limit) => {
        const set = packBits(bitsOf(list), createScratch())
        expect(set.count).toBe(list.length)
        expect(set.page(offset, limit)).toEqual(list.slice(offset, offset + limit))
        expect(set.pageFrom(offset, limit)).toEqual(
          list.filter((number) => number >= offset).slice(0, limit),
        )
        const copy = createBits(SIZE)
        set.addTo(copy)
        expect(all(copy)).toEqual(list)
      }),
    )
  })

  it('takes a list for a few and bits for many', () => {
    expect(packBits(bitsOf([7]), createScratch()).bytes).toBe(4)
    expect(packBits(bitsOf(Array.from({ length: SIZE }, (_, i) => i)), createScratch()).bytes).toBe(
      40,
    )
  })
})
