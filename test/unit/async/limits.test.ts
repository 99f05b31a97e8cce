import { describe, expect, it } from 'vitest'
import { createHourlyCounts, createTokenBuckets } from '../../../src/async/limits.js'

describe('a token bucket', () => {
  it('gives its tokens at once, then one at a time, and says when the next comes', () => {
    let now = 0
    const { take } = createTokenBuckets({ capacity: 2, refillMs: 6_000, now: () => now })
    expect([take('a'), take('a'), take('a'), take('b')]).toEqual([0, 0, 6, 0])
    now = 5_999
    expect(take('a')).toBe(1)
    now = 6_000
    expect([take('a'), take('a')]).toEqual([0, 6])
    now = 1e9
    expect([take('a'), take('a'), take('a')]).toEqual([0, 0, 6])
  })

  it('gives several tokens or none', () => {
    let now = 0
    const { take } = createTokenBuckets({ capacity: 10, refillMs: 500, now: () => now })
    expect([take('a', 10), take('a', 1), take('a', 10), take('b', 10)]).toEqual([0, 1, 5, 0])
    now = 2_000
    expect([take('a', 5), take('a', 4)]).toEqual([1, 0])
  })
})

describe('hourly counts', () => {
  it('begin at zero again an hour after the first count', () => {
    let now = 5_000
    const counts = createHourlyCounts(() => now)
    counts.add('a', 2)
    counts.add('a', 3)
    expect([counts.of('a'), counts.of('b'), counts.has('b'), counts.size()]).toEqual([
      5,
      0,
      false,
      1,
    ])
    now += 3_599_000
    expect([counts.of('a'), counts.secondsLeft()]).toEqual([5, 1])
    now += 1_000
    expect([counts.of('a'), counts.size(), counts.secondsLeft()]).toEqual([0, 0, 3_600])
  })

  it('are taken back within their hour only', () => {
    let now = 0
    const counts = createHourlyCounts(() => now)
    const early = counts.add('a', 2)
    counts.add('a', 1)
    early()
    expect(counts.of('a')).toBe(1)
    const late = counts.add('a', 4)
    now = 3_600_000
    counts.add('a', 9)
    late()
    expect(counts.of('a')).toBe(9)
  })
})
