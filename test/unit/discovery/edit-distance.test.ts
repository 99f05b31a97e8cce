import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDistances } from '../../../src/discovery/edit-distance.js'

const distance = (from: string, to: string, max = 9) =>
  createDistances(from, max).toWord(to, 0, to.length)

/** The definition, cell by cell. */
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

it('is what the definition says, up to the bound and one more beyond it, anywhere in a text', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '天'), maxLength: 5 })
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 4 }), fc.nat(3), (from, others, max) => {
      const { toWord, toBeginning } = createDistances(from, max)
      for (const other of others) {
        const expected = Math.min(defined(from, other), max + 1)
        const place = [`bac${other}cab`, 3, 3 + other.length] as const
        expect(toWord(...place)).toBe(expected)
        const beginnings = Array.from({ length: other.length + 1 }, (_, length) => ({
          distance: Math.min(defined(from, other.slice(0, length)), max + 1),
          length,
        }))
        const least = Math.min(...beginnings.map(({ distance }) => distance))
        const nearest = toBeginning(...place)
        expect(nearest.distance).toBe(least)
        if (least <= max) {
          expect(nearest).toEqual(beginnings.findLast(({ distance }) => distance === least))
        }
      }
    }),
    { numRuns: 300 },
  )
})
