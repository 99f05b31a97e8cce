import type { Bits } from './bits.js'

/** Sets to work with, given back after use: new ones at every search would call for the collector of garbage. */
export interface Scratch {
  /** An empty set for so many documents, or for a few more. */
  take(size: number): Bits
  /** The set must not be used any more. */
  give(bits: Bits): void
}

/** Sizes are rounded up, so that a few documents more do not make all sets of before useless. */
const WORDS_A_STEP = 256
const MAX_KEPT = 16

export function createScratch(): Scratch {
  const kept: Bits[] = []
  return {
    take(size) {
      const words = (size + 31) >>> 5
      const length = Math.ceil(words / WORDS_A_STEP) * WORDS_A_STEP
      const at = kept.findIndex((bits) => bits.length === length)
      if (at === -1) return new Uint32Array(length)
      return (kept.splice(at, 1)[0] as Bits).fill(0)
    },
    give(bits) {
      if (kept.length === MAX_KEPT) kept.shift()
      kept.push(bits)
    },
  }
}
