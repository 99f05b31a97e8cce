import { addBits, type Bits, countBits, nextBit, pageOfBits, setBit } from './bits.js'
import type { Scratch } from './scratch.js'

/** Numbers of documents that do not change any more: as bits, or as a list when they are few. */
export interface DocumentSet {
  readonly count: number
  readonly bytes: number
  /** Ascending, past the first `offset`. */
  page(offset: number, limit: number): number[]
  /** Ascending, from `first` on. */
  pageFrom(first: number, limit: number): number[]
  addTo(bits: Bits): void
}

/** A list of numbers takes 32 bits each. */
const BITS_A_NUMBER = 32

/** Packs the set; the bits must not be used any more. */
export function packBits(bits: Bits, scratch: Scratch): DocumentSet {
  const count = countBits(bits)
  if (count * BITS_A_NUMBER > bits.length * 32) return bitsSet(bits, count)
  const numbers = new Uint32Array(count)
  for (let i = 0, at = nextBit(bits, 0); at !== -1; at = nextBit(bits, at + 1)) numbers[i++] = at
  scratch.give(bits)
  return listSet(numbers)
}

/** A set of few, in any order. */
export function packNumbers(numbers: readonly number[]): DocumentSet {
  return listSet(Uint32Array.from(numbers).sort())
}

function bitsSet(bits: Bits, count: number): DocumentSet {
  return {
    count,
    bytes: bits.byteLength,
    page: (offset, limit) => pageOfBits(bits, offset, limit),
    pageFrom(first, limit) {
      const page: number[] = []
      for (let at = nextBit(bits, first); at !== -1 && page.length < limit; ) {
        page.push(at)
        at = nextBit(bits, at + 1)
      }
      return page
    },
    addTo: (into) => addBits(into, bits),
  }
}

function listSet(numbers: Uint32Array): DocumentSet {
  return {
    count: numbers.length,
    bytes: numbers.byteLength,
    page: (offset, limit) => [...numbers.subarray(offset, offset + limit)],
    pageFrom(first, limit) {
      const start = lowerBound(numbers.length, (i) => numbers[i] as number, first)
      return [...numbers.subarray(start, start + limit)]
    },
    addTo(into) {
      for (const number of numbers) setBit(into, number)
    },
  }
}

/** Where in ascending numbers the first stands that is not below `value`. */
export function lowerBound(length: number, at: (i: number) => number, value: number): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (at(middle) < value) low = middle + 1
    else high = middle
  }
  return low
}
