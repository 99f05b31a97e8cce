import { describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import { inGroups } from '../../../../src/sql/postgres/groups.js'

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

  it('form the next group while one is under way', async () => {
    const { double, groups } = aDoubling()
    const first = double(1)
    while (groups.length < 1) await turn()
    const next = Promise.all([2, 3, 4].map(double))
    groups[0]?.finish()
    expect(await first).toBe(2)
    while (groups.length < 2) await turn()
    groups[1]?.finish()
    expect(await next).toEqual([4, 6, 8])
    expect(groups.map(({ items }) => items)).toEqual([[1], [2, 3, 4]])
  })

  it('wait for a slow group only for a while, and then go beside it, two at most', async () => {
    const { double, groups } = aDoubling()
    const slow = double(1)
    while (groups.length < 1) await turn()
    const second = double(2)
    while (groups.length < 2) await turn()
    const third = double(3)
    groups[1]?.finish()
    expect(await second).toBe(4)
    while (groups.length < 3) await turn()
    const fourth = double(4)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(groups).toHaveLength(3)
    groups[0]?.finish()
    groups[2]?.finish()
    expect(await Promise.all([slow, third])).toEqual([2, 6])
    while (groups.length < 4) await turn()
    groups[3]?.finish()
    expect(await fourth).toBe(8)
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

  it('with one key go one by one, in groups that everybody else shares', async () => {
    const groups: string[][] = []
    const claim = inGroups<{ name: string; key?: string }, string>(
      async (items) => {
        groups.push(items.map(({ name }) => name))
        const keys = items.flatMap(({ key }) => key ?? [])
        if (new Set(keys).size < keys.length) throw new Error('twice in one statement')
        await turn()
        return items.map(({ name }) => name)
      },
      ({ key }) => (key === undefined ? [] : [key]),
    )
    const shared = Array.from({ length: 199 }, (_, i) => claim({ name: `shared ${i}`, key: 'k' }))
    const honest = ['a', 'b'].map((name) => claim({ name }))
    expect(await Promise.all(honest)).toEqual(['a', 'b'])
    expect(groups).toEqual([['shared 0', 'a', 'b']])
    // What comes later overtakes those that wait for their key.
    expect(await claim({ name: 'c' })).toBe('c')
    expect(groups.length).toBeLessThanOrEqual(3)
    await Promise.all(shared)
    expect(groups).toHaveLength(199)
  })

  it('do not go beside a slow group that has their key', async () => {
    const groups: { items: readonly string[]; finish(): void }[] = []
    const claim = inGroups<string, string>(
      async (items) => {
        await new Promise<void>((finish) => groups.push({ items, finish }))
        return items
      },
      (key) => [key],
    )
    const first = claim('k')
    while (groups.length < 1) await turn()
    const second = claim('k')
    const other = claim('other')
    while (groups.length < 2) await turn()
    expect(groups.map(({ items }) => items)).toEqual([['k'], ['other']])
    groups[1]?.finish()
    expect(await other).toBe('other')
    await new Promise((resolve) => setTimeout(resolve, 250))
    expect(groups).toHaveLength(2)
    groups[0]?.finish()
    expect(await first).toBe('k')
    while (groups.length < 3) await turn()
    groups[2]?.finish()
    expect(await second).toBe('k')
  })
})
