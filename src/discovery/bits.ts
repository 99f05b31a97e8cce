/** A set of small numbers, one bit each; as long as the largest number it can hold asks for. */
export type Bits = Uint32Array

export function createBits(size: number): Bits {
  return new Uint32Array((size + 31) >>> 5)
}

export function setBit(bits: Bits, number: number): void {
  bits[number >>> 5] = (bits[number >>> 5] as number) | (1 << (number & 31))
}

export function hasBit(bits: Bits, number: number): boolean {
  return (((bits[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1
}

/** Adds what is in `other`, which is not longer. */
export function addBits(bits: Bits, other: Bits): void {
  for (let i = 0; i < other.length; i++) bits[i] = (bits[i] as number) | (other[i] as number)
}

/** Keeps what is in `other` too. */
export function keepBits(bits: Bits, other: Bits): void {
  for (let i = 0; i < bits.length; i++) bits[i] = (bits[i] as number) & (other[i] ?? 0)
}

/** Takes out what is in `other`. */
export function dropBits(bits: Bits, other: Bits): void {
  for (let i = 0; i < bits.length; i++) bits[i] = (bits[i] as number) & ~(other[i] ?? 0)
}

export function countBits(bits: Bits): number {
  let count = 0
  for (let i = 0; i < bits.length; i++) count += countOnes(bits[i] as number)
  return count
}

/** Whether every number below `size` is in the set. */
export function hasAll(bits: Bits, size: number): boolean {
  for (let i = 0; i < size >>> 5; i++) if (bits[i] !== 0xffffffff) return false
  return (size & 31) === 0 || ~(bits[size >>> 5] as number) << -size === 0
}

/** Numbers of the set in ascending order, past the first `offset` of them. */
export function pageOfBits(bits: Bits, offset: number, limit: number): number[] {
  const page: number[] = []
  let toSkip = offset
  for (let i = 0; i < bits.length && page.length < limit; i++) {
    let word = bits[i] as number
    if (word === 0) continue
    const count = countOnes(word)
    if (toSkip >= count) {
      toSkip -= count
      continue
    }
    for (; word !== 0 && page.length < limit; word &= word - 1) {
      if (toSkip > 0) toSkip--
      else page.push((i << 5) + lowestBit(word))
    }
  }
  return page
}

/** The first number of the set that is `from` or above; -1 when there is none. */
export function nextBit(bits: Bits, from: number): number {
  let i = from >>> 5
  if (i >= bits.length) return -1
  let word = ((bits[i] as number) >>> (from & 31)) << (from & 31)
  while (word === 0) {
    if (++i >= bits.length) return -1
    word = bits[i] as number
  }
  return (i << 5) + lowestBit(word)
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}

export function countOnes(word: number): number {
  let n = word - ((word >>> 1) & 0x55555555)
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333)
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
