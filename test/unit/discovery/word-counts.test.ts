import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDistances, createWordCounts } from '../../../src/discovery/spelling.js'

const distance = (from: string, to: string, max = 9) => createDistances(from, max).toWord(to)

/** The distance as it is defined. */
function defined(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  const [shortA, shortB] = [a.slice(0, -1), b.slice(0, -1)]
  const isSwap = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1)
  return Math.min(
    defined(shortA, b) + 1,
    defined(a, shortB) + 1,
    defined(shortA, shortB) + (a.at(-1) === b.at(-1) ? 0 : 1),
    isSwap ? defined(a.slice(0, -2), b.slice(0, -2)) + 1 : Number.POSITIVE_INFINITY,
  )
}

describe('the distance', () => {
  it.each([
    ['weather', 'weather', 0],
    ['wether', 'weather', 1],
    ['weaather', 'weather', 1],
    ['weathor', 'weather', 1],
    ['wethear', 'weather', 2],
    ['forecsat', 'forecast', 1],
    ['ofrecast', 'forecast', 1],
    // A pair that was swapped is not touched again.
    ['ca', 'abc', 3],
    ['', 'abc', 3],
  ])('from %s to %s is %i', (from, to, expected) => {
    expect(distance(from, to)).toBe(expected)
    expect(distance(to, from)).toBe(expected)
  })

  it('is what the definition says, up to the maximum and one more beyond it', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '天'), maxLength: 5 })
    fc.assert(
      fc.property(word, fc.array(word, { maxLength: 4 }), fc.nat(3), (from, others, max) => {
        const { toWord, toBeginning } = createDistances(from, max)
        for (const other of others) {
          const expected = Math.min(defined(from, other), max + 1)
          expect(toWord(other)).toBe(expected)
          const beginnings = Array.from({ length: other.length + 1 }, (_, length) => ({
            distance: Math.min(defined(from, other.slice(0, length)), max + 1),
            length,
          }))
          const least = Math.min(...beginnings.map(({ distance }) => distance))
          const nearest = toBeginning(other)
          expect(nearest.distance).toBe(least)
          if (least <= max) {
            expect(nearest).toEqual(beginnings.findLast(({ distance }) => distance === least))
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('the words of the texts', () => {
  it('are counted in all texts, and gone with the last text that has them', () => {
    const words = createWordCounts()
    words.add('weather and\nfeather')
    words.add('the weather')
    const near = () => words.near('xeather', 1).sort((a, b) => b.count - a.count)
    expect(near()).toEqual([
      { word: 'weather', isWhole: true, distance: 1, count: 2 },
      { word: 'feather', isWhole: true, distance: 1, count: 1 },
    ])
    words.remove('weather and\nfeather')
    expect(near()).toEqual([{ word: 'weather', isWhole: true, distance: 1, count: 1 }])
    words.remove('the weather')
    expect(near()).toEqual([])
  })

  it('are never cut within a letter of two UTF-16 units', () => {
    const words = createWordCounts()
    words.add('toke\u{1d4b3}abc')
    expect(words.near('tokem', 1)).toEqual([])
  })

  it('count together for a beginning that several of them have', () => {
    const words = createWordCounts()
    words.add('tokens tokenized')
    expect(words.near('tokne', 1)).toEqual([
      { word: 'token', isWhole: false, distance: 1, count: 2 },
    ])
  })
})
