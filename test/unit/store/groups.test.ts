import { describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../../src/store/errors.js'
import { inGroups } from '../../../src/store/postgres/groups.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Doubles numbers in groups that end when they are told to. */
function aDoubling() {
  const groups: { items: readonly number[]; finish(): void }[] = []
  const double = inGroups(async (items: readonly number[]) => {
    await new Promise<void>((finish) => groups.push({ items, finish }))
    return items.map((item) => 2 * item)
  })
  return { double, groups }
}

/** Refuses every group with a 13 in it. */
function aSuperstition(errorOf: () => Error = () => new Error('not 13')) {
  const sizes: number[] = []
  const keep = inGroups(async (items: readonly number[]) => {
    sizes.push(items.length)
    await turn()
    if (items.includes(13)) throw errorOf()
    return items
  })
  return { keep, sizes }
}

describe('calls that come together', () => {
  it('are one group, and each gets its own result', async () => {
    const { double, groups } = aDoubling()
    const asked = Promise.all([1, 2, 3].map(double))
    while (groups.length === 0) await turn()
    groups[0]?.finish()
    expect(await asked).toEqual([2, 4, 6])
    expect(groups).toHaveLength(1)
  })

  it('form the next group while two are under way', async () => {
    const { double, groups } = aDoubling()
    const asked: Promise<number>[] = []
    for (const number of [1, 2]) {
      asked.push(double(number))
      while (groups.length < number) await turn()
    }
    for (const number of [3, 4, 5]) {
      asked.push(double(number))
      await turn()
    }
    expect(groups.map(({ items }) => items)).toEqual([[1], [2]])
    groups[1]?.finish()
    while (groups.length < 3) await turn()
    expect(groups[2]?.items).toEqual([3, 4, 5])
    for (const { finish } of groups) finish()
    expect(await Promise.all(asked)).toEqual([2, 4, 6, 8, 10])
  })

  it('fail alone where one of them is refused', async () => {
    const { keep, sizes } = aSuperstition()
    const numbers = Array.from({ length: 40 }, (_, i) => i)
    const results = await Promise.allSettled(numbers.map(keep))
    const failed = numbers.filter((i) => results[i]?.status === 'rejected')
    expect(failed).toEqual([13])
    expect(sizes[0]).toBe(40)
    expect(sizes.length).toBeLessThan(14)
  })

  it('all fail at once while the database cannot be reached', async () => {
    const { keep, sizes } = aSuperstition(() => new StoreUnavailableError('gone'))
    const results = await Promise.allSettled([12, 13, 14].map(keep))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(sizes).toEqual([3])
    expect(await keep(15)).toBe(15)
  })
})
